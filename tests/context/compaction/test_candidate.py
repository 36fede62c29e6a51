"""Behind a checkpoint: its summary, the messages after it, and nothing older; measured again before anybody accepts it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compaction.candidate import candidate, floor_tokens
from app.context.compaction.in_force import checkpoint_in_force
from app.context.compaction.plan import plan
from app.context.compile import compile_context
from app.context.draft import CompactionOrigin, History
from app.context.report import source_map
from app.entries.summaries import Fact
from tests.context.compaction.chains import accepted, turns
from tests.features import snapshot
from tests.strategies import Ledger, agent, sources, summaries, target, texts, tokens


@pytest.mark.req("S1-12", "S1-13", "S1-14", "S1-26", "S2-04", "S3-14", "T-15")
def test_a_checkpoint_is_followed_by_the_messages_behind_it_and_nothing_older():
    ledger = Ledger()
    for number in range(1, 9):  # vector 9: raw 1–8, a checkpoint through 5
        ledger.user(f"m{number}")
    found = compile_context(ledger.sources(), tokens)
    keep = sum(message.entry.tokens for message in ledger.messages[5:])
    made = plan(found, keep)
    assert made is not None
    assert made.covers_through_seq == 5
    behind = compile_context(candidate(ledger.sources(), made, accepted(ledger.sources(), made)), tokens)
    assert [message.origin for message in behind.request.messages] == [CompactionOrigin("chk_1", 5), History(6, 5), History(7, 6), History(8, 7)]
    assert [message.role for message in behind.request.messages] == ["user"] * 4
    assert len(ledger.messages) == 8


@pytest.mark.req("S2-14", "S2-39", "T-15", "X-73")
def test_expansions_before_the_first_kept_entry_are_dropped():
    ledger = Ledger()
    ledger.user("first", turn=1)
    ledger.user("second", turn=2)
    before = ledger.sources(skill_snapshots=(snapshot("a", at=1, seq=901), snapshot("b", at=2, seq=902)))
    made = plan(compile_context(before, tokens), 0)
    assert made is not None
    behind = compile_context(candidate(before, made, accepted(before, made)), tokens)
    told = source_map(behind)
    assert told["sources"] == [  # vector 3
        {"type": "compaction", "checkpoint_id": "chk_1", "message_index": 1, "summarized_before": 1},
        {"type": "history", "message_index": 1, "seq": 2},
    ]
    assert [row["message_index"] for row in told["skill_expansions"]] == [1]
    assert [fate.reason for fate in behind.skills] == ["anchor_absent", "skill_expanded"]


@pytest.mark.req("S2-15", "T-20", "T-21")
def test_user_turns_of_older_snapshots_go_on_behind_a_checkpoint():
    ledger = Ledger()
    ledger.user("first", turn=1)
    ledger.user("second", turn=2)
    before = ledger.sources(skill_snapshots=(snapshot("a", turn=0, seq=901), snapshot("b", turn=1, seq=902)))
    made = plan(compile_context(before, tokens), 0)
    assert made is not None
    behind = compile_context(candidate(before, made, accepted(before, made)), tokens)
    replayed = [row for row in source_map(behind)["sources"] if row["type"] == "runtime-context"]
    assert [(row["user_turn"], row["message_index"]) for row in replayed] == [(1, 1)]
    assert [fate.reason for fate in behind.skills] == ["anchor_absent"]


@pytest.mark.req("S1-15", "X-51", "T-15")
def test_of_several_checkpoints_the_latest_stands_alone_and_its_range_is_that_of_both():
    ledger = turns(Ledger(), 1, 2)
    first_sources = ledger.sources()
    first = plan(compile_context(first_sources, tokens), 0)
    assert first is not None
    behind = candidate(first_sources, first, accepted(first_sources, first))
    assert plan(compile_context(behind, tokens), 0) is None, "a checkpoint is not compacted alone"
    more = turns(ledger, 3).sources(messages=tuple(ledger.messages[4:]), checkpoint=behind.checkpoint)
    second = plan(compile_context(more, tokens), 0)
    assert second is not None
    assert (second.from_seq, second.covers_through_seq, second.user_messages, second.turns) == (1, 8, 2, 1)
    chain = compile_context(candidate(more, second, accepted(more, second, checkpoint_id="chk_2")), tokens)
    assert chain.request.messages[0].origin == CompactionOrigin("chk_2", 8)
    assert sum(isinstance(message.origin, CompactionOrigin) for message in chain.request.messages) == 1


@pytest.mark.req("S1-14", "S1-29", "X-47")
@settings(max_examples=400, deadline=None)
@given(sources(), summaries, texts)
def test_covered_and_sent_are_the_window_and_no_summary_weighs_less_than_the_floor(given_sources, told, more):
    found = compile_context(given_sources, tokens)
    made = plan(found, 0)
    if made is None:
        return
    facts = [Fact(f"{fact.text}{more}") for facts in told.values() for fact in facts]
    after = compile_context(candidate(given_sources, made, accepted(given_sources, made, *facts)), tokens)
    seqs = [message.entry.seq for message in after.sources.messages]
    covered = [message.entry.seq for message in given_sources.messages if message.entry.seq not in seqs]
    assert sorted([*covered, *seqs]) == [message.entry.seq for message in given_sources.messages]
    assert all(seq <= made.covers_through_seq for seq in covered)
    assert all(seq >= made.first_kept_seq for seq in seqs)
    sent = [message.origin.seq for message in after.request.messages if isinstance(message.origin, History)]
    assert not set(sent) & set(covered)
    assert floor_tokens(found, made, tokens) <= after.measured.total


@pytest.mark.req("S1-27")
@settings(max_examples=300, deadline=None)
@given(sources(), st.sampled_from([0, 400]))
def test_what_was_sent_of_a_kept_turn_is_sent_behind_the_checkpoint(given_sources, keep):
    found = compile_context(given_sources, tokens)
    made = plan(found, keep)
    if made is None:
        return
    after = compile_context(candidate(given_sources, made, accepted(given_sources, made)), tokens)

    def sent(compiled) -> set[int]:
        origins = [message.origin for message in compiled.request.messages]
        return {origin.seq for origin in origins if isinstance(origin, History) and origin.seq >= made.first_kept_seq}

    assert sent(after) == sent(found)


@pytest.mark.req("S1-13", "X-52")
def test_what_is_in_force_is_read_off_the_entry_and_is_gone_with_its_content():
    ledger = turns(Ledger(), 1, 2)
    made = plan(compile_context(ledger.sources(), tokens), 0)
    assert made is not None
    body = accepted(ledger.sources(), made)
    entry = ledger.messages[-1].entry._replace(seq=9, kind="checkpoint", payload=body.encode(), message_index=None)
    found = checkpoint_in_force(entry)
    assert found is not None
    assert (found.seq, found.body, found.digest) == (9, body, entry.digest)
    assert checkpoint_in_force(entry._replace(payload=None)) is None
    assert checkpoint_in_force(None) is None


@pytest.mark.req("S2-03")
def test_a_list_that_begins_with_a_summary_begins_with_user_input():
    ledger = turns(Ledger(), 1, 2)
    given_sources = ledger.sources(agent(), target("gemini"))
    made = plan(compile_context(given_sources, tokens), 0)
    assert made is not None
    found = compile_context(candidate(given_sources, made, accepted(given_sources, made)), tokens)
    assert not found.inserted
