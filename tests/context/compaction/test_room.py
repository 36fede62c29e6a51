"""A summarizer with less room than the conversation takes: what is cut, what is left out, and how far a plan may reach."""

from dataclasses import replace

import pytest

from app.context.budget import budget
from app.context.compaction.plan import Plan, narrowed, plan
from app.context.compaction.request import quotable_through
from app.context.sources import InForce, Sources
from app.entries.messages import Status
from app.entries.summaries import Fact
from tests.context.compaction.chains import accepted, turns
from tests.context.compaction.test_plan import compiled
from tests.context.compaction.test_request import LEAST, OUTPUT, lines, request, small, words
from tests.strategies import Ledger, call, tokens


def plan_of(ledger: Ledger) -> Plan:
    made = plan(compiled(turns(ledger, 99).sources()), 0)
    assert made is not None
    return made


@pytest.mark.req("X-49", "S1-14", "S3-32")
def test_no_more_is_covered_than_can_be_told():
    """A summary of what nobody was told would stand in the place of it."""
    ledger = Ledger()
    for number in range(1, 60):
        ledger.user(f"question {number} " + "word " * 200, turn=number)
        ledger.answer(f"answer {number}", turn=number)
        ledger.answer("broken off", turn=number, status=Status.FAILED)
    given_sources = ledger.sources()
    whole = compiled(given_sources)
    found = plan(whole, 0)
    assert found is not None
    told: list[int] = []
    for window in range(OUTPUT, 24_000, 200):
        chosen = small(window)
        through = quotable_through(given_sources, found, chosen, count=tokens)
        reached = narrowed(whole, found, through)
        made = request(given_sources, reached, chosen)
        if not budget(chosen, made.sources.agent, made.measured).fits:
            assert reached.turns == 1, "not one entry has room"
            continue
        told.append(reached.turns)
        said = [message.entry.seq for message in given_sources.messages if message.entry.seq <= reached.covers_through_seq]
        assert [line.get("seq") for line in lines(made)] in ([seq for seq in said if seq % 3], [None, 2]), "every entry but the failed ones"
        assert reached.first_kept_seq == reached.covers_through_seq + 1 == 3 * reached.turns + 1
    assert told == sorted(told), "a larger window takes what a smaller one does"
    assert (told[0], told[-1]) == (1, 58)


@pytest.mark.req("X-49")
@pytest.mark.parametrize("length", range(38, 78, 3))
def test_texts_that_a_cut_would_make_longer_stay_and_what_fits_whole_is_told_at_once(length: int):
    ledger = Ledger()
    for number in range(40):
        ledger.user("q" * length, turn=number)
        ledger.answer("a" * length, turn=number)
    given_sources = ledger.sources()
    whole = compiled(given_sources)
    found = plan(whole, 0)
    assert found is not None
    uncut = request(given_sources, found, small(128_000))
    chosen = next(one for one in map(small, range(8_000, 64_000, 50)) if budget(one, uncut.sources.agent, uncut.measured).fits)
    assert quotable_through(given_sources, found, chosen, count=tokens) == found.covers_through_seq
    told = [line["content"][0] for line in lines(request(given_sources, found, chosen))]
    assert told == ["q" * length, "a" * length] * 39


@pytest.mark.req("S1-28", "X-49")
def test_a_turn_that_is_too_long_by_itself_is_told_without_its_middle():
    ledger = Ledger()
    ledger.user("question", turn=1)
    for number in range(400):
        ledger.answer(f"step {number} " + "word " * 20, turn=1)
    ledger.user("and now?", turn=2)
    found = plan(compiled(ledger.sources()), 0)
    assert found is not None
    chosen = small(12_000)
    made = request(ledger.sources(), found, chosen)
    assert budget(chosen, made.sources.agent, made.measured).fits
    rows = lines(made)
    (gap,) = [at for at, row in enumerate(rows) if "left_out" in row]
    assert rows[0]["content"] == ["question"]
    assert rows[-1]["seq"] == 401
    assert abs(gap - (len(rows) - gap - 1)) <= 1, "its beginning and its end"
    assert [*[row["seq"] for row in rows[:gap]], *range(rows[gap]["from_seq"], rows[gap]["through_seq"] + 1)] == list(range(1, rows[gap + 1]["seq"]))
    assert rows[gap]["count"] + len(rows) - 1 == 401


@pytest.mark.req("S1-28", "X-49", "X-51")
@pytest.mark.parametrize("facts", [0, 5, 30, 60])
def test_such_a_turn_has_what_room_the_facts_of_an_earlier_summary_leave(facts: int):
    ledger = turns(Ledger(), 1, 2)
    first = plan(compiled(ledger.sources()), 0)
    assert first is not None
    body = accepted(ledger.sources(), first, *[Fact(f"fact {number} " + "word " * 10, (1,)) for number in range(facts)])
    for number in range(800):
        ledger.answer(f"step {number} " + "word " * 20, turn=2)
    later = turns(ledger, 3).sources(messages=tuple(ledger.messages[4:]), checkpoint=InForce(8, body))
    found = plan(compiled(later), 0)
    assert found is not None
    few = request(later, replace(found, covers_through_seq=first.covers_through_seq + 8), small(128_000))
    chosen = next(one for one in map(small, range(LEAST, 64_000, 100)) if budget(one, few.sources.agent, few.measured).fits)
    made = request(later, found, chosen)
    assert budget(chosen, made.sources.agent, made.measured).fits
    assert sum("seq" in row for row in lines(made)) >= 8


@pytest.mark.req("X-49")
def test_without_a_word_to_tell_or_room_for_one_the_request_does_not_fit():
    ledger = Ledger()
    ledger.user("left out", turn=1, include_in_context=False)
    turns(ledger, 2)
    found = replace(plan_of(ledger), covers_through_seq=1, first_kept_seq=2)
    for window in (OUTPUT, OUTPUT + 500):
        chosen = small(window)
        made = request(ledger.sources(), found, chosen)
        assert not budget(chosen, made.sources.agent, made.measured).fits
        assert quotable_through(ledger.sources(), plan_of(turns(Ledger(), 1, 2)), chosen, count=tokens) == 0


@pytest.mark.req("X-49")
def test_short_entries_before_long_ones_are_quotable():
    ledger = turns(Ledger(), 1, 2, 3)
    ledger.user("q", turn=4)
    ledger.answer(*[call(f"long_{number}") for number in range(100)], turn=4)
    found = plan_of(ledger)
    assert found.turns == 4
    fewer = request(ledger.sources(), narrowed(compiled(ledger.sources()), found, 12), small(128_000))
    chosen = next(one for one in map(small, range(LEAST, 64_000, 100)) if budget(one, fewer.sources.agent, fewer.measured).remaining > 400)
    assert quotable_through(ledger.sources(), found, chosen, count=tokens) == 13


def summed_up(ledger: Ledger, *facts: Fact) -> Sources:
    """Turns behind a checkpoint of these facts, of several times a small window."""
    turns(ledger, 1, 2)
    first = plan(compiled(ledger.sources()), 0)
    assert first is not None
    body = accepted(ledger.sources(), first, *facts)
    for number in range(3, 60):
        ledger.user(f"question {number} " + "word " * 200, turn=number)
        ledger.answer(f"answer {number} " + "word " * 200, turn=number)
    return ledger.sources(messages=tuple(ledger.messages[4:]), checkpoint=InForce(8, body))


@pytest.mark.req("X-49", "X-51")
def test_the_facts_of_an_earlier_summary_are_told_whole_from_piece_to_piece():
    """They would be lost bit by bit: each summary takes the place of the one before."""
    facts = [Fact(f"fact {number}: " + "word " * 30, (1,)) for number in range(8)]
    given_sources = summed_up(Ledger(), *facts)
    whole = compiled(given_sources)
    found = plan(whole, 0)
    assert found is not None
    for window in range(12_000, 30_000, 1_500):
        chosen = small(window)
        reached = narrowed(whole, found, quotable_through(given_sources, found, chosen, count=tokens))
        rows = lines(request(given_sources, reached, chosen))
        assert [row["content"][0] for row in rows if "field" in row] == [fact.text for fact in facts]
        assert [row["seq"] for row in rows if "seq" in row] == [
            entry.seq for entry, _ in given_sources.messages if entry.seq <= reached.covers_through_seq
        ]


@pytest.mark.req("X-49", "X-51")
def test_facts_that_take_more_than_half_of_the_room_are_cut_to_that():
    facts = [Fact(f"begin{number} " + "word " * 180 + f" end{number}", (1,)) for number in range(60)]
    given_sources = summed_up(Ledger(), *facts)
    found = plan(compiled(given_sources), 0)
    assert found is not None
    assert [row["content"][0] for row in lines(request(given_sources, found, small(256_000)))][:60] == [fact.text for fact in facts], "they fit"
    for window in (18_000, 30_000, 60_000):
        chosen = small(window)
        reached = narrowed(compiled(given_sources), found, quotable_through(given_sources, found, chosen, count=tokens))
        made = request(given_sources, reached, chosen)
        assert budget(chosen, made.sources.agent, made.measured).fits
        told = [row["content"][0] for row in lines(made) if "field" in row]
        assert all(text.startswith(f"begin{number} ") and text.endswith(f" end{number}") for number, text in enumerate(told))
        assert len(told) == 60
        said = [row for row in lines(made) if "seq" in row]
        taken, left = sum(map(len, told)), len(words(made)) - sum(map(len, told))
        assert said
        assert taken < left * 1.2, "half of it is for what was said since"
