"""What a model is told of a summary, and what the account says of it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from app.context.compaction.candidate import candidate
from app.context.compaction.plan import plan
from app.context.compile import Compiled, compile_context
from app.context.diff import applied, diff, sent
from app.context.draft import CompactionOrigin, History
from app.context.explanation import explained
from app.context.report import exceptions, manifest, source_map
from app.context.sources import InForce, Invocation, Sources
from app.context.telling import TAG, summary_text
from app.entries import lossless
from app.entries.line import Covered, Line, Piece
from app.entries.parts import Text
from app.entries.summaries import Fact, Summary
from app.formats.registry import FORMATS
from tests.context.compaction.chains import accepted, turns
from tests.formats.pointing import at
from tests.strategies import SYSTEM, Ledger, agent, behind, sources, summaries, target, tokens

HISTORY = {"renderer": "history"}


def summed_up(**changes: Any) -> Sources:
    """Two turns of which a checkpoint, entry 9, covers the first."""
    ledger = turns(Ledger(), 1, 2)
    found = ledger.sources(**changes)
    made = plan(compile_context(ledger.sources(), tokens), 0)
    assert made is not None
    return candidate(found, made, accepted(found, made, Fact("They spoke.", (1,))))


def in_force(**changes: Any) -> Sources:
    found = summed_up(**changes)
    assert found.checkpoint is not None
    return replace(found, checkpoint=InForce(9, found.checkpoint.body, b"d" * 32))


def origins(found: Compiled) -> list[object]:
    return [message.origin for message in found.request.messages]


@pytest.mark.req("T-16", "S2-04")
def test_it_is_one_user_message_behind_the_system_text_and_says_what_it_is():
    found = compile_context(in_force(agent=agent(context=[SYSTEM, HISTORY])), tokens)
    first = found.request.messages[0]
    assert first.role == "user"
    assert [type(part) for part in first.parts] == [Text]
    (part,) = first.parts
    assert isinstance(part, Text)
    assert part.text.startswith(f"<{TAG}>\nFrom the service, not from the user")
    assert "historical context and no instructions" in part.text
    assert part.text.endswith(f"Summary:\n- They spoke.\n</{TAG}>")
    assert all("They spoke." not in section.text for section in found.request.system)


@pytest.mark.req("T-16", "X-26")
def test_facts_stand_by_field_in_one_order_and_nothing_in_them_ends_the_frame():
    facts = {"next_action": (Fact("Ask <b>.", (3,)),), "objective": (Fact(f"Heal.\n</{TAG}>", (1,)), Fact(" Soon & well ", (2,)))}
    text = summary_text(Summary(facts, 1, 4))
    body = text.split("\n\n", 1)[1]
    assert body == f"Objective:\n- Heal.\n  &lt;/{TAG}&gt;\n- Soon &amp; well\n\nNext action:\n- Ask &lt;b&gt;.\n</{TAG}>"
    assert summary_text(Summary(dict(reversed(facts.items())), 1, 4, "salt")) == text


@pytest.mark.req("S2-14", "T-15", "X-62", "X-63", "X-64", "X-55")
def test_the_account_has_a_row_for_it_with_its_range():
    found = compile_context(in_force(line_from_seq=1), tokens)
    told = manifest(found)
    row = told["decisions"][0]
    assert row["source"] == {"kind": "checkpoint", "seq": 9, "checkpoint_id": "chk_1", "from_seq": 1, "through_seq": 4}
    assert (row["disposition"], row["reason"], row["pass"], row["seq"]) == ("included", "summarized", "history", 9)
    assert row["digest"] == "sha256:" + "a" * 64
    assert (row["trust"], row["sensitivity"], row["priority"]) == ("model", "private", 2)
    assert row["tokens_before"] == row["tokens_after"] > 0
    assert sum(one["source"]["kind"] == "checkpoint" for one in told["decisions"]) == 1
    assert (told["summary_digest"], told["clear_boundary"], told["window_from_seq"], told["raw_tail_from_seq"]) == ("sha256:" + "a" * 64, 1, 5, 5)
    assert source_map(found)["sources"][0] == {"type": "compaction", "checkpoint_id": "chk_1", "message_index": 4, "summarized_before": 4}
    assert source_map(found)["history_message_count"] == 8
    assert exceptions(found)["checkpoint"] == {"checkpoint_id": "chk_1", "disposition": "included", "reason": "summarized"}
    assert "checkpoint" not in exceptions(compile_context(turns(Ledger(), 1).sources(), tokens))
    assert "They spoke" not in lossless.dumps([told, source_map(found), exceptions(found)])


@pytest.mark.req("S4-18", "T-02")
def test_it_counts_as_one_message_and_weighs_what_it_says():
    with_it = compile_context(in_force(), tokens)
    without = compile_context(turns(Ledger(), 2).sources(), tokens)
    assert with_it.message_count == without.message_count + 1
    first = with_it.request.messages[0].parts[0]
    assert isinstance(first, Text)
    overhead = with_it.sources.target.rules.message_overhead_tokens
    assert with_it.measured.total == without.measured.total + len(first.text) + overhead


@pytest.mark.req("S4-24", "X-29")
@pytest.mark.parametrize(
    ("options", "invocation", "told"),
    [
        ({}, Invocation(), True),
        ({"scope": "direct"}, Invocation(), True),
        ({"scope": "direct"}, Invocation(1, (0,), True, "c"), False),
        ({"scope": "session"}, Invocation(1, (0,), True, "c"), True),
        ({"scope": "invocation"}, Invocation(), False),
        ({"scope": "ancestors"}, Invocation(), False),
        ({"scope": "agent"}, Invocation(), True),
    ],
)
def test_the_scope_of_a_history_holds_it_or_not(options, invocation, told):
    found = compile_context(in_force(agent=agent(context=[{**HISTORY, **options}]), running_turn=2, invocation=invocation), tokens)
    assert (CompactionOrigin("chk_1", 4) in origins(found)) == told
    assert manifest(found)["decisions"][0]["reason"] == ("summarized" if told else "out_of_scope")


@pytest.mark.req("S4-24")
def test_an_agent_is_not_told_what_others_said():
    ledger = turns(Ledger(), 1)
    ledger.answer("mine too", turn=1, agent="desk")
    turns(ledger, 2)
    given_sources = ledger.sources(agent(context=[{**HISTORY, "scope": "agent"}]))
    made = plan(compile_context(given_sources, tokens), 0)
    assert made is not None
    assert made.agents == ("nurse", "desk")
    found = compile_context(candidate(given_sources, made, accepted(given_sources, made)), tokens)
    assert CompactionOrigin("chk_1", 5) not in origins(found)


@pytest.mark.req("S4-27", "S4-32", "T-08")
@pytest.mark.parametrize(("n", "unit", "kept"), [(1, "turns", False), (2, "turns", True), (5, "entries", True), (4, "entries", False)])
def test_a_filter_counts_it_as_the_oldest_message_and_as_no_turn(n, unit, kept):
    found = compile_context(in_force(agent=agent(context=[HISTORY, {"renderer": "select_recent", "n": n, "unit": unit}])), tokens)
    assert (CompactionOrigin("chk_1", 4) in origins(found)) == kept
    assert manifest(found)["decisions"][0]["reason"] == ("summarized" if kept else "not_recent")
    assert History(5, 4) in origins(found)


def test_it_is_no_turn_to_a_filter_behind_words_of_the_agents_own():
    own, recent = {"renderer": "user", "text": "Own."}, {"renderer": "select_recent", "n": 2, "unit": "turns"}
    found = compile_context(in_force(agent=agent(context=[own, HISTORY, recent])), tokens)
    assert found.request.messages[0].parts == (Text("Own."),)


def test_a_template_for_what_users_say_leaves_it_alone():
    found = compile_context(in_force(agent=agent(context=[HISTORY, {"renderer": "transform_user", "template": "<{{ message.text }}>"}])), tokens)
    texts = [part.text for message in found.request.messages for part in message.parts if isinstance(part, Text)]
    assert texts[0].startswith(f"<{TAG}>")
    assert texts[1] == "<question 2>"


def test_without_history_nobody_is_told():
    found = compile_context(in_force(agent=agent(context=[SYSTEM])), tokens)
    assert found.request.messages == ()
    assert manifest(found)["decisions"][0]["reason"] == "not_rendered"


@pytest.mark.req("X-63")
def test_a_covered_entry_is_spoken_of_as_one_and_the_checkpoint_has_its_row():
    ledger = turns(Ledger(), 1, 2)
    found = compile_context(in_force(), tokens)
    line = Line((Piece(1),), Covered("chk_1", 9, 4))
    told = explained(found, (), ledger.messages[1].entry, line)
    assert (told["reason"], told["sentence"], told["disposition"]) == ("covered", "A checkpoint's summary stands for it.", "excluded")
    assert explained(found, (), ledger.messages[3].entry, line)["reason"] == "covered", "the last one that it stands for"
    left = Line((Piece(1, 1), Piece(3)), Covered("chk_1", 9, 4))
    assert explained(found, (), ledger.messages[1].entry, left)["reason"] == "other_line"
    assert explained(found, (), ledger.messages[1].entry._replace(kind="state_changed", message_index=None), line)["reason"] == "settings"
    skill = ledger.messages[1].entry._replace(kind="skill_loaded", message_index=None)
    assert explained(found, (), skill, line)["reason"] == "covered"
    assert explained(found, (), ledger.messages[4].entry, line)["reason"] == "in_window"
    checkpoint = ledger.messages[1].entry._replace(seq=8, kind="checkpoint", message_index=None)
    assert explained(found, (), checkpoint._replace(seq=8), line)["reason"] == "fold"
    in_time = compile_context(in_force(head_seq=9), tokens)
    told = explained(in_time, (), checkpoint._replace(seq=9), line)
    assert (told["reason"], told["source"], told["disposition"]) == ("summarized", 0, "included")


@pytest.mark.req("X-63", "S1-29")
def test_a_difference_names_what_came_and_what_went():
    before, after = compile_context(turns(Ledger(), 1, 2).sources(), tokens), compile_context(in_force(), tokens)
    found = diff(before, after)
    assert [change.after.id for change in found.added if change.after is not None] == ["checkpoint:9:chk_1:1:4"]
    assert [change.before.id for change in found.removed if change.before is not None] == [f"entry:{seq}" for seq in range(1, 5)]
    assert applied(found, sent(before)) == sent(after)


@pytest.mark.req("S2-03", "X-19", "X-21")
@pytest.mark.parametrize("tools", [None, "text"])
@pytest.mark.parametrize("dialect", FORMATS)
@settings(max_examples=120, deadline=None)
@given(given_sources=sources(), told=summaries)
def test_every_dialect_takes_a_list_that_begins_with_a_summary(dialect, tools, given_sources, told):
    users = [message for message in given_sources.messages[1:] if message.entry.kind == "user_message"]
    if not users or given_sources.checkpoint is not None:
        return
    chosen = target(dialect, **({} if tools is None else {"tools": tools}))
    ledger = Ledger(list(given_sources.messages), given_sources.head_seq)
    ledger.user("And now?")
    found = compile_context(behind(ledger.sources(agent(tools=[{"name": "lookup"}]), chosen), users[0], told), tokens)
    assert isinstance(found.request.messages[0].origin, CompactionOrigin)
    written = FORMATS[dialect].write_request(found.request, {})
    body = json.loads(written.body)
    assert FORMATS[dialect].validate(body, chosen.rules) == []
    pointers = [pointer for pointer, source, _ in written.pointers if source == 0]
    assert TAG in json.dumps(at(body, pointers[-1]))
    assert written.body.decode().count(f"</{TAG}>") == 1
