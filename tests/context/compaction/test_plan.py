"""What a checkpoint would cover: vector 11, whole turns, and never the one that runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compaction import plan as planning
from app.context.compaction.plan import Plan, covered_messages, narrowed, plan
from app.context.compile import Compiled, compile_context
from app.context.sources import Sources
from app.entries.messages import Message
from app.entries.parts import Blob, Media, ToolCall
from tests.context.compaction.chains import turns
from tests.strategies import SYSTEM, Ledger, agent, call, sources, tokens


def compiled(given_sources: Sources) -> Compiled:
    return compile_context(given_sources, tokens)


def weight(ledger: Ledger, *numbers: int) -> int:
    return sum(entry.tokens for entry, _ in ledger.messages if entry.turn in numbers)


@pytest.mark.req("X-45", "S1-30", "T-07")
def test_the_newest_turns_that_fit_stay_and_exactly_at_the_limit_they_fit():
    ledger = turns(Ledger(), 1, 2, 3)
    found = compiled(ledger.sources())
    all_of_them = weight(ledger, 1, 2, 3)
    assert plan(found, all_of_them) is None, "vector 11: everything fits, exactly at the limit"
    assert plan(found, all_of_them - 1) == Plan(4, 5, 4, weight(ledger, 1), weight(ledger, 2, 3), 1, 1, 1, ("nurse",), 5)
    assert plan(found, weight(ledger, 2, 3)) == plan(found, all_of_them - 1)
    assert plan(found, weight(ledger, 2, 3) - 1) == Plan(8, 9, 8, weight(ledger, 1, 2), weight(ledger, 3), 2, 1, 2, ("nurse",), 9)


@pytest.mark.req("S1-28", "T-06")
def test_the_newest_turn_stays_whatever_it_weighs():
    ledger = turns(Ledger(), 1, 2)
    expected = Plan(4, 5, 4, weight(ledger, 1), weight(ledger, 2), 1, 1, 1, ("nurse",), 5)
    assert plan(compiled(ledger.sources()), 0) == expected
    assert plan(compiled(ledger.sources(running_turn=2)), 0) == expected
    assert plan(compiled(turns(Ledger(), 1).sources()), 0) is None, "one oversized turn is left alone"


@pytest.mark.req("X-48")
def test_at_the_second_attempt_the_newest_turn_alone_stays():
    ledger = turns(Ledger(), 1, 2, 3)
    found = plan(compiled(ledger.sources()), 10**9, newest_only=True)
    assert found is not None
    assert (found.first_kept_seq, found.turns) == (9, 2)


@pytest.mark.req("X-45", "X-51")
def test_there_are_two_turns_or_nothing_to_compact():
    assert plan(compiled(Ledger().sources()), 0) is None
    ledger = Ledger()
    ledger.agent("a job", turn=1)
    ledger.answer("done", turn=1)
    ledger.user("q", turn=2)
    ledger.answer("a", turn=2)
    assert plan(compiled(ledger.sources()), 0) is None, "what an agent posts begins no user turn"
    ledger.user("q", turn=3)
    found = plan(compiled(ledger.sources()), 0)
    assert found is not None
    assert (found.first_kept_seq, found.turns, found.covered_tokens) == (5, 1, weight(ledger, 1, 2)), "it is covered with the turn behind it"


@pytest.mark.req("S1-28", "X-45")
def test_later_input_of_a_turn_begins_none():
    ledger = turns(Ledger(), 1)
    ledger.user("q", turn=2)
    ledger.answer("a", turn=2)
    ledger.user("and this?", turn=2)
    found = plan(compiled(ledger.sources()), 0)
    assert found is not None
    assert found.first_kept_seq == 5
    ledger = turns(Ledger(), 1)
    ledger.agent("a job", turn=2)
    ledger.user("and this?", turn=2)
    assert plan(compiled(ledger.sources(running_turn=2)), 0) is None, "a running turn that an agent's message began is not split"


@pytest.mark.req("S1-28")
def test_nothing_is_cut_behind_input_that_is_answered_again():
    ledger = turns(Ledger(), 1)
    ledger.user("q", turn=3)  # the input of turn 2, which counts as the running turn's
    ledger.answer("stopped", turn=2)
    ledger.user("late word", turn=2)
    found = plan(compiled(ledger.sources(running_turn=3)), 0)
    assert found is not None
    assert (found.first_kept_seq, found.turns) == (5, 1)


@pytest.mark.req("S1-27", "S3-14")
def test_open_calls_are_never_covered():
    ledger = turns(Ledger(), 1)
    ledger.user("q", turn=2)
    ledger.answer(call("open"), turn=2)
    found = plan(compiled(ledger.sources()), 0)
    assert found is not None
    covered = covered_messages(ledger.sources(), found)
    asked = {part.tool_call_id for message in covered for part in message.body.parts if isinstance(part, ToolCall)}
    assert asked == {"c1"}


def test_what_is_not_sent_is_not_worth_a_summary():
    ledger = turns(Ledger(), 1, 2)
    assert plan(compiled(ledger.sources(agent(context=[SYSTEM]))), 0) is None
    newest = agent(context=[{"renderer": "history"}, {"renderer": "select_recent", "n": 1, "unit": "turns"}])
    assert plan(compiled(ledger.sources(newest)), 0) is None


def test_pictures_weigh_as_they_do_in_the_budget():
    ledger = Ledger()
    ledger.add("user_message", Message((Media("image", Blob("sha256:" + "a" * 64, "image/png", 9, 512, 512)),)), turn=1)
    turns(ledger, 2)
    found = compiled(ledger.sources())
    made = plan(found, 0)
    assert made is not None
    assert made.covered_tokens + made.kept_tokens == found.measured.messages
    assert made.covered_tokens > ledger.messages[0].entry.tokens


@pytest.mark.req("S1-14", "S1-27", "S1-28", "X-45")
@settings(max_examples=800, deadline=None)
@given(sources(), st.sampled_from([0, 100, 500, 1_500]), st.booleans())
def test_what_is_kept_is_whole_turns_and_what_is_covered_the_rest(given_sources: Sources, keep: int, newest_only: bool):
    found = compiled(given_sources)
    made = plan(found, keep, newest_only)
    if made is None:
        return
    covered = covered_messages(given_sources, made)
    kept = given_sources.messages[len(covered) :]
    assert (*covered, *kept) == given_sources.messages
    assert covered
    assert kept[0].entry.kind == "user_message"
    assert (kept[0].entry.seq, kept[0].entry.message_index) == (made.first_kept_seq, made.first_kept_index)
    assert made.covers_through_seq == made.first_kept_seq - 1 >= covered[-1].entry.seq
    begun = kept[0].entry
    if begun.turn is not None:
        assert begun.turn not in {entry.turn for entry, _ in covered if entry.kind == "user_message" or entry.turn == given_sources.running_turn}
    assert given_sources.running_turn is None or all(entry.turn != given_sources.running_turn for entry, _ in covered)
    assert made.covered_tokens > 0
    assert made.turns >= 1
    if made.kept_tokens <= keep:
        assert plan(found, made.kept_tokens, newest_only) == made, "exactly at the limit it fits"


@pytest.mark.req("S1-14", "S1-27", "S1-28", "X-49")
@settings(max_examples=400, deadline=None)
@given(sources(), st.sampled_from([0, 500]))
def test_a_plan_is_narrowed_to_the_most_whole_turns_up_to_a_seq(given_sources: Sources, keep: int):
    found = compiled(given_sources)
    made = plan(found, keep)
    if made is None:
        return
    least = narrowed(found, made, 0)
    reached = [narrowed(found, made, seq) for seq in range(made.covers_through_seq + 2)]
    assert reached[made.covers_through_seq] == reached[-1] == made
    for seq, fewer in enumerate(reached):
        assert fewer == least or covered_messages(given_sources, fewer)[-1].entry.seq <= seq
        assert fewer.turns >= reached[max(0, seq - 1)].turns
        assert fewer.covered_tokens + fewer.kept_tokens == made.covered_tokens + made.kept_tokens
        assert fewer.covered_tokens > 0
        kept = next(entry for entry, _ in given_sources.messages if entry.seq > fewer.covers_through_seq)
        assert (kept.kind, kept.seq, kept.message_index) == ("user_message", fewer.first_kept_seq, fewer.first_kept_index)
    ends = {fewer.covers_through_seq for fewer in reached}
    assert all(narrowed(found, made, end).covers_through_seq == end for end in ends), "each is reached where it ends"


def test_narrowing_a_plan_of_many_turns_makes_one(monkeypatch: pytest.MonkeyPatch):
    ledger = turns(Ledger(), *range(1, 300))
    found = compiled(ledger.sources())
    made = plan(found, 0)
    assert made is not None
    cuts: list[int] = []
    real = planning._plan

    def noting(given_sources: Sources, cut: int, turns: int, covered: int, kept: int) -> Plan:
        cuts.append(cut)
        return real(given_sources, cut, turns, covered, kept)

    monkeypatch.setattr(planning, "_plan", noting)
    assert narrowed(found, made, 4).covers_through_seq == 4
    assert cuts == [4]
