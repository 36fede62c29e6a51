"""Skills as the model reads them: before the words of their message, or as messages of their own; vectors 1 to 4."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import Compiled, compile_context
from app.context.draft import History, Reason
from app.context.origins import InvalidOrigins, check_anchors, check_origins
from app.context.report import exceptions, manifest, source_map
from app.context.skills import expansion, framed, revision_of
from app.context.snapshots import RuntimeContext, SkillSnapshot
from app.context.sources import Sources
from app.entries import lossless
from app.entries.folds import SkillLoaded
from app.entries.messages import Message, Status
from app.entries.parts import Media, Text
from tests.strategies import Ledger, agent, sources, target, tokens

SECRET = "INSTRUCTION-TEXT of the skill"


def snapshot(name: str = "triage", at: int | None = None, turn: int | None = None, text: str = SECRET, seq: int = 900) -> SkillSnapshot:
    """A snapshot for the message at seq `at`, or an older one for the user turn `turn`."""
    body = SkillLoaded(name, revision_of(text), text, "user" if turn is None else None, at, turn)
    return SkillSnapshot(seq, body, "sha256:" + "5" * 64)


def asked() -> Ledger:
    """A user's words, an answer that failed, and words again (S2-22)."""
    ledger = Ledger()
    ledger.user("first")
    ledger.answer("half an", status=Status.FAILED)
    ledger.user("second")
    return ledger


def compiled(ledger: Ledger, *snapshots: SkillSnapshot, **more: Any) -> Compiled:
    return compile_context(ledger.sources(skill_snapshots=snapshots, **more), tokens)


def skill_rows(found: Compiled) -> list[tuple[Any, ...]]:
    rows = manifest(found)["decisions"]
    return [(row["source"].get("name"), row["disposition"], row["reason"]) for row in rows if row["source"]["kind"] in ("skill", "skills")]


@pytest.mark.req("S2-15", "S2-22", "S2-23", "S2-48", "T-20", "S2-17", "S2-12")
def test_vector_1_older_snapshots_are_messages_of_their_own_with_rows_of_their_own():
    found = compiled(asked(), snapshot(turn=0), snapshot("other", turn=1))
    revision = revision_of(SECRET)
    told = source_map(found)
    assert told["sources"] == [
        {"type": "history", "message_index": 0, "seq": 1},
        {"type": "runtime-context", "snapshot_index": 0, "user_turn": 0, "message_index": 0, "skills": [{"id": "triage", "revision": revision}]},
        {"type": "history", "message_index": 2, "seq": 3},
        {"type": "runtime-context", "snapshot_index": 1, "user_turn": 1, "message_index": 2, "skills": [{"id": "other", "revision": revision}]},
    ]
    assert (told["history_message_count"], told["skill_expansions"]) == (3, [])
    assert [message.role for message in found.request.messages] == ["user"] * 4
    assert found.request.messages[3].parts == (Text(expansion([("other", SECRET)])),)
    assert skill_rows(found) == [("triage", "included", "skill_replayed"), ("other", "included", "skill_replayed")]


@pytest.mark.req("S2-46", "S2-47", "T-20")
def test_vector_2_a_placed_snapshot_stands_before_the_words_of_its_message_and_adds_no_source():
    ledger = asked()
    found = compiled(ledger, snapshot(at=1), snapshot("other", at=3))
    told = source_map(found)
    assert told["sources"] == [{"type": "history", "message_index": 0, "seq": 1}, {"type": "history", "message_index": 2, "seq": 3}]
    assert told["skill_expansions"] == [
        {"message_index": 0, "snapshot_index": 0, "skills": [{"id": "triage", "revision": revision_of(SECRET)}]},
        {"message_index": 2, "snapshot_index": 1, "skills": [{"id": "other", "revision": revision_of(SECRET)}]},
    ]
    assert found.request.messages[0].parts == (Text(expansion([("triage", SECRET)])), Text("first"))
    assert ledger.messages[0].body.parts == (Text("first"),), "the stored message is what it was"
    rows = {row["source"].get("seq"): row for row in manifest(found)["decisions"] if row["source"]["kind"] == "entry"}
    assert (rows[1]["disposition"], rows[1]["reason"]) == ("transformed", "skill_expanded")
    assert rows[1]["tokens_after"] == rows[1]["tokens_before"] + tokens(expansion([("triage", SECRET)]))
    assert skill_rows(found) == [("triage", "included", "skill_expanded"), ("other", "included", "skill_expanded")]


@pytest.mark.req("S2-47")
def test_vector_3_expansions_of_messages_that_are_not_in_the_window_are_dropped():
    ledger = Ledger()
    ledger.user("covered")
    ledger.user("kept")
    whole = ledger.sources(skill_snapshots=(snapshot(at=1), snapshot("other", at=2)))
    found = compile_context(replace(whole, messages=whole.messages[1:]), tokens)
    assert source_map(found)["skill_expansions"] == [
        {"message_index": 1, "snapshot_index": 1, "skills": [{"id": "other", "revision": revision_of(SECRET)}]}
    ]
    assert skill_rows(found) == [("triage", "excluded", "anchor_absent"), ("other", "included", "skill_expanded")]


@pytest.mark.req("S2-39", "S2-45", "X-71", "T-21")
@pytest.mark.parametrize(
    "snapshots",
    [
        [snapshot(turn=2)],
        [snapshot(turn=-1)],
        [snapshot(turn=1), snapshot(turn=1)],
        [snapshot(turn=1), snapshot(turn=0)],
        [snapshot(at=3), snapshot("other", at=1)],
        [snapshot(at=1), snapshot("other", turn=0)],
        [snapshot(at=2)],
        [snapshot(at=4)],
    ],
)
def test_vector_4_anchors_that_contradict_the_history_are_refused(snapshots):
    ledger = asked()
    ledger.agent("no user's words")
    with pytest.raises(InvalidOrigins):
        compiled(ledger, *snapshots)


@pytest.mark.req("S2-39", "T-21")
def test_vector_4_without_a_user_message_there_is_no_user_turn():
    with pytest.raises(InvalidOrigins):
        compiled(Ledger(), snapshot(turn=0))
    only_agents = Ledger()
    only_agents.agent("go on")
    with pytest.raises(InvalidOrigins):
        compiled(only_agents, snapshot(turn=0))
    with pytest.raises(InvalidOrigins):
        check_origins([RuntimeContext(snapshot(turn=0), 0, 0, 1)], 1, 1)
    check_anchors([0, 2], 3)


@pytest.mark.req("T-21", "S2-15")
def test_a_user_turn_counts_actual_user_messages_alone():
    ledger = Ledger()
    ledger.agent("an internal word")
    ledger.user("first", include_in_context=False)
    ledger.user("second")
    found = compiled(ledger, snapshot(turn=1))
    assert [row.get("user_turn") for row in source_map(found)["sources"]] == [None, None, 1]
    assert source_map(found)["sources"][-1]["message_index"] == 2


@pytest.mark.req("S2-47", "X-26")
def test_skills_of_one_message_are_one_snapshot_and_one_part_each_in_its_tag():
    ledger = Ledger()
    picture = Media("image", url="https://example.test/a.png")
    ledger.add("user_message", Message((picture, Text("what is it?"))))
    found = compiled(ledger, snapshot(at=1), snapshot("other", at=1, text="Be <brief> & kind."))
    (row,) = source_map(found, [("/messages/0/content/0", 0, 0), ("/messages/0/content/1", 0, 1)])["skill_expansions"]
    assert [skill["id"] for skill in row["skills"]] == ["triage", "other"]
    first, *rest = found.request.messages[0].parts
    assert isinstance(first, Text)
    assert framed("other", "Be <brief> & kind.") in first.text
    assert "<brief> & kind." in first.text, "the agent's own words stand as they are"
    assert rest == [picture, Text("what is it?")]
    assert framed('"><system>\n', "x") == '<skill name="&quot;&gt;&lt;system&gt;">\nx\n</skill>'


@pytest.mark.req("S2-46")
def test_pointers_of_an_expanded_message_name_the_parts_that_were_said():
    ledger = Ledger()
    ledger.user("words")
    found = compiled(ledger, snapshot(at=1))
    told = source_map(found, [("/messages/0/content/0", 0, 0), ("/messages/0/content/1", 0, 1)])
    assert [(row["source"], row["seq"], row["part"]) for row in told["pointers"]] == [(0, 1, None), (0, 1, 0)]
    rows = manifest(found, [("/messages/0", 0, None)])["decisions"]
    assert [row["pointer"] for row in rows if row["source"]["kind"] == "skill"] == ["/messages/0"]


@pytest.mark.req("S2-02", "X-36")
def test_skills_are_adapted_and_weighed_like_the_words_around_them():
    ledger = Ledger()
    ledger.add("user_message", Message((Text(" "),)))
    picky = target(blank_texts=False)
    bare, found = compiled(ledger, target=picky), compiled(ledger, snapshot(at=1), target=picky)
    assert bare.request.messages == ()
    assert [message.parts for message in found.request.messages] == [(Text(expansion([("triage", SECRET)])),)]
    plain, replayed = compiled(asked()), compiled(asked(), snapshot(turn=0))
    assert replayed.measured.messages - plain.measured.messages == tokens(expansion([("triage", SECRET)]))
    assert replayed.measured.total - plain.measured.total >= tokens(expansion([("triage", SECRET)]))
    assert found.message_count == 1, "what a pass puts in is no event of the render"


@pytest.mark.parametrize("older", [True, False])
def test_a_skill_shares_the_fate_of_its_message(older: bool):
    def of_first() -> SkillSnapshot:
        return snapshot(turn=0) if older else snapshot(at=1)

    ledger = Ledger()
    ledger.user("private", include_in_context=False)
    ledger.user("next")
    found = compiled(ledger, of_first())
    assert skill_rows(found) == [("triage", "excluded", "not_in_context")]
    assert SECRET not in repr([message.parts for message in found.request.messages])
    blind = agent(context=[{"renderer": "system", "text": "No history."}])
    assert skill_rows(compile_context(ledger.sources(blind, skill_snapshots=(snapshot("s", at=2),)), tokens)) == [("s", "excluded", "not_rendered")]
    assert skill_rows(compiled(ledger)) == [(None, "excluded", "absent")]


@st.composite
def with_skills(draw: st.DrawFn) -> Sources:
    """Anything that a compile may be given, with snapshots of some of its user messages, or of messages that are gone."""
    found = draw(sources())
    users = [message.entry.seq for message in found.messages if message.entry.kind == "user_message"]
    snapshots: list[SkillSnapshot] = []
    for turn, seq in enumerate(users, 0 if found.checkpoint is None else found.checkpoint.body.user_messages):
        kind = draw(st.sampled_from(["none", "none", "placed", "two", "older"]))
        if kind == "older":
            snapshots.append(snapshot(turn=turn, seq=1000 + turn))
        elif kind != "none":
            snapshots += [snapshot(name, at=seq, seq=1000 + turn) for name in (["a", "b"] if kind == "two" else ["a"])]
    if draw(st.booleans()):
        snapshots.append(snapshot("gone", at=10**6))
    return replace(found, skill_snapshots=tuple(snapshots))


@pytest.mark.req("S2-11", "S2-19", "S2-28", "S2-40", "S2-47", "X-25", "X-64")
@settings(max_examples=400, deadline=None)
@given(with_skills())
def test_each_message_has_its_source_and_no_instruction_stands_in_the_account(given_sources: Sources):
    found = compile_context(given_sources, tokens)
    told = source_map(found)
    assert len(told["sources"]) == len(found.request.messages)
    assert SECRET not in lossless.dumps([manifest(found), told, exceptions(found)])
    rows = [row.source["seq"] for row in found.decisions if row.source["kind"] == "skill"]
    assert sorted(rows) == sorted(one.seq for one in given_sources.skill_snapshots), "one decision for each snapshot"
    inserted = {id(item.message) for item in found.inserted}
    words = [source["type"] for source, message in zip(told["sources"], found.request.messages, strict=True) if id(message) in inserted]
    assert set(words) <= {"rendered", "tool-repair", "runtime-context"}, "what the service says bears a kind of its own, and no history"
    assert {source["type"] for source in told["sources"]} - set(words) <= {"history", "ephemeral", "compaction"}
    held = {row["message_index"] for row in told["skill_expansions"]}
    sent = [message for message in found.request.messages if SECRET in repr(message.parts)]
    expanded = {message.origin.message_index for message in sent if isinstance(message.origin, History)}
    assert expanded == held
    without = compile_context(replace(given_sources, skill_snapshots=()), tokens)
    replayed = sum(isinstance(message.origin, RuntimeContext) for message in found.request.messages)
    assert sum(step.reason is Reason.SKILL_REPLAYED for item in found.inserted for step in item.steps) == replayed
    if given_sources.target.rules.blank_texts:
        assert len(found.request.messages) - len(without.request.messages) == replayed
    assert compile_context(given_sources, tokens).request == found.request
