"""A summary without a model: deterministic, newest first, each message cut, within the bounds of any summary."""

from contextlib import suppress

import pytest
from hypothesis import given, settings

from app.context.compaction.excerpt import EXCERPT_CHARS_MAX, excerpt
from app.context.compaction.plan import plan
from app.context.compaction.reading import SummaryRefused, check_summary
from app.context.sources import InForce, Sources
from app.entries.parts import Reasoning
from app.entries.summaries import FACT_CHARS_MAX, FACTS_PER_FIELD_MAX, Fact
from tests.context.compaction.chains import accepted, turns
from tests.context.compaction.test_plan import compiled
from tests.strategies import Ledger, sources

pytestmark = [pytest.mark.req("X-56", "T-17")]


def test_the_newest_words_come_first_each_with_its_entry():
    ledger = turns(Ledger(), 1, 2)
    made = plan(compiled(ledger.sources()), 0)
    assert made is not None
    found = excerpt(ledger.sources(), made)
    assert found.facts == {
        "summary": (
            Fact("nurse: answer 1", (4,)),
            Fact("Result of lookup: found 1", (3,)),
            Fact("nurse: calls lookup({})", (2,)),
            Fact("User: question 1", (1,)),
        )
    }
    assert (found.from_seq, found.through_seq) == (1, 4)


def test_each_message_is_cut_and_the_newest_of_many_stay():
    ledger = Ledger()
    for number in range(1, 100):
        ledger.user(f"q{number} " + "x" * 5_000, turn=number)
    made = plan(compiled(ledger.sources()), 0)
    assert made is not None
    found = excerpt(ledger.sources(), made)
    told = found.facts["summary"]
    assert len(told) == FACTS_PER_FIELD_MAX
    assert [fact.cites for fact in told] == [(seq,) for seq in range(98, 98 - FACTS_PER_FIELD_MAX, -1)]
    assert all(len(fact.text) < EXCERPT_CHARS_MAX + 60 for fact in told)


@pytest.mark.req("X-51")
def test_the_facts_of_an_earlier_summary_stay():
    ledger = turns(Ledger(), 1, 2)
    first = plan(compiled(ledger.sources()), 0)
    assert first is not None
    prose = accepted(ledger.sources(), first, Fact("They spoke. " * 200))
    later = turns(ledger, 3).sources(messages=tuple(ledger.messages[4:]), checkpoint=InForce(8, prose))
    second = plan(compiled(later), 0)
    assert second is not None
    found = excerpt(later, second)
    assert found.facts["summary"][-1] == Fact(("They spoke. " * 200)[:FACT_CHARS_MAX], (1, 4))
    assert check_summary(found) == found


def test_without_words_there_is_none():
    ledger = Ledger()
    ledger.answer(Reasoning("thought"), turn=1)
    ledger.user(" ", turn=1)
    turns(ledger, 2)
    made = plan(compiled(ledger.sources()), 0)
    assert made is not None
    with pytest.raises(SummaryRefused) as refused:
        excerpt(ledger.sources(), made)
    assert refused.value.reason == "blank"


@settings(max_examples=400, deadline=None)
@given(sources())
def test_any_ledger_gives_a_summary_within_bounds_or_none(given_sources: Sources):
    made = plan(compiled(given_sources), 0)
    if made is None:
        return
    found = None
    with suppress(SummaryRefused):
        found = excerpt(given_sources, made)
    if found is not None:
        assert check_summary(found) == found == excerpt(given_sources, made)
