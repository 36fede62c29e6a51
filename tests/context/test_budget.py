"""Vector 8 and its neighbours: the hard limit to the token."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.budget import Budget, budget, prune_to, raw_tail
from app.context.passes.measure import Measured
from app.context.sources import AgentRevision, CompactionPolicy
from app.models.resolve import Limits, ModelChoice
from tests.strategies import agent, resolved


def budgeted(
    total: int,
    window: int = 32_000,
    output: int = 4_096,
    name: str = "gpt-4o",
    revision: AgentRevision | None = None,
    max_input: int | None = None,
    **params: int,
) -> Budget:
    target = resolved(ModelChoice("openai", name, params), Limits(window, output, "explicit", max_input))
    return budget(target, revision or agent(), Measured(0, 0, total, 0))


@pytest.mark.req("S0-31", "S3-07", "X-35", "T-06")
def test_vector_8():
    at_limit = budgeted(26_304)
    assert (at_limit.output_reserve, at_limit.safety, at_limit.input_limit, at_limit.trigger) == (4_096, 1_600, 26_304, 23_674)
    assert at_limit.verdict == "compact"
    assert at_limit.fits
    marks = [(17_097, "fits"), (17_098, "prune"), (23_673, "prune"), (23_674, "compact")]
    assert [budgeted(total).verdict for total, _ in marks] == [verdict for _, verdict in marks], "0.65 and 0.9 of the limit, upwards"
    assert at_limit.remaining == 0
    over = budgeted(26_305)
    assert over.verdict == "over"
    assert not over.fits
    assert over.remaining == -1


def test_the_contracts_example():
    found = budgeted(0, 200_000, 8_192)
    assert (found.output_reserve, found.safety, found.input_limit, found.trigger) == (8_192, 4_096, 187_712, 168_941)


def test_what_the_call_asks_for_is_reserved_else_at_most_a_quarter():
    assert budgeted(0, max_output_tokens=100).output_reserve == 100
    assert budgeted(0, 1_000, 900).output_reserve == 250
    assert budgeted(0, 1_001, 100).safety == 51
    assert budgeted(0, 100, 10, max_output_tokens=500).input_limit == 0


def test_an_estimate_is_compared_by_its_upper_edge():
    exact = budgeted(100)
    assert (exact.method, exact.error_band) == ("tokenizer", 0.0)
    limit = budgeted(0, name="nobody-knows").input_limit
    edge = int(limit / 1.25)
    assert budgeted(edge, name="nobody-knows").verdict == "compact"
    over = budgeted(edge + 1, name="nobody-knows")
    assert (over.verdict, over.method, over.error_band) == ("over", "heuristic", 0.25)


@pytest.mark.req("X-35", "X-43")
def test_a_smaller_limit_for_the_input_alone_is_kept_too():
    """gpt-5: 400,000 together, of which 272,000 input. Without its own limit the input would be let grow to 295,904."""
    assert budgeted(0, 400_000, 128_000).input_limit == 295_904
    assert budgeted(0, 400_000, 128_000, max_input=272_000).input_limit == 272_000 - 4_096
    assert budgeted(0, 400_000, 128_000, max_input=272_000, max_output_tokens=128_000).input_limit == 400_000 - 128_000 - 4_096
    assert budgeted(0, 1_000, 100, max_input=20).input_limit == 0


@pytest.mark.req("X-35", "T-06")
@given(
    window=st.integers(1, 2_000_000),
    output=st.integers(1, 2_000_000),
    max_input=st.none() | st.integers(1, 2_000_000),
    asked=st.none() | st.integers(1, 2_000_000),
    total=st.integers(0, 2_000_000),
)
def test_what_fits_fits_the_window_with_its_answer_and_the_limit_of_the_input(
    window: int, output: int, max_input: int | None, asked: int | None, total: int
):
    output = min(output, window)
    params: dict[str, Any] = {} if asked is None else {"max_output_tokens": asked}
    found = budgeted(total, window, output, max_input=max_input, **params)
    assert found.input_limit >= 0
    assert found.remaining == found.input_limit - total
    assert found.trigger <= found.input_limit
    assert found.input_limit <= budgeted(total, window, output, **params).input_limit, "a further limit never widens"
    if found.fits and total:
        assert total + found.output_reserve + found.safety <= window
        assert max_input is None or total + found.safety <= max_input
    if max_input is None or max_input >= window:
        assert found.input_limit == max(0, window - found.output_reserve - found.safety), "the contract's own arithmetic"


def test_fractions_are_taken_as_written():
    """0.9 of 10 in floats rounds up to 10 in some spellings; of every limit it has to be the exact ceiling."""
    for window in range(100, 3_000, 7):
        found = budgeted(0, window, 10)
        assert found.trigger == -(-found.input_limit * 9 // 10)


def test_an_agents_own_mark_holds_where_it_is_the_lower_one():
    for max_tokens, trigger in ((1_000, 1_000), (10**6, 23_674)):
        revision = replace(agent(), compaction=CompactionPolicy(max_tokens=max_tokens))
        assert budgeted(0, revision=revision).trigger == trigger


@pytest.mark.req("X-58", "T-08")
@pytest.mark.parametrize(("max_tokens", "mark"), [(None, 17_098), (20_000, 17_098), (15_000, 15_000), (1_000, 1_000)])
def test_pruning_begins_no_later_than_compaction(max_tokens: int | None, mark: int):
    """A compaction is due from its own mark on: what pruning gives is given first, from there to its share of that mark."""
    found = budgeted(0, revision=replace(agent(), compaction=CompactionPolicy(max_tokens=max_tokens)))
    assert (found.prune_from, prune_to(found)) == (mark, mark * 4 // 5)


@pytest.mark.req("S1-30", "X-46")
@pytest.mark.parametrize(
    ("window", "asked", "tail"), [(1_000, None, 256), (50_000, None, 10_000), (100_005, None, 20_000), (10**6, None, 20_000), (1_000, 7, 7)]
)
def test_the_tail_is_a_fifth_of_the_window_within_bounds_or_what_the_agent_asks_for(window: int, asked: int | None, tail: int):
    sent_to = resolved(ModelChoice("openai", "gpt-4o", {}), Limits(window, 100, "explicit"))
    assert raw_tail(sent_to, replace(agent(), compaction=CompactionPolicy(keep_recent_tokens=asked))) == tail


def test_its_json_is_the_contracts():
    keys = "context_window output_reserve safety input_limit system tools messages overhead total remaining trigger verdict method error_band"
    assert list(budgeted(5).to_json()) == keys.split()
