"""Costs are exact, and unknown where a price is."""

from hypothesis import given
from hypothesis import strategies as st

from app.config.prices import PRICE_MAX, Prices

COUNTS = st.integers(0, 10**12)
PRICES = st.builds(Prices, st.just("USD"), *[st.integers(0, PRICE_MAX)] * 4)


@given(PRICES, COUNTS, COUNTS, COUNTS, COUNTS)
def test_each_token_costs_its_own_price(prices: Prices, plain: int, cached: int, cache_write: int, output: int) -> None:
    found = prices.cost(input_=plain + cached + cache_write, cached=cached, cache_write=cache_write, output=output)
    assert prices.cached is not None
    assert prices.cache_write is not None
    assert found == plain * prices.input + cached * prices.cached + cache_write * prices.cache_write + output * prices.output


def test_tokens_without_a_price_have_no_cost() -> None:
    prices = Prices("USD", input=3, output=5)
    assert prices.cost(input_=10, cached=0, cache_write=0, output=2) == 40
    assert prices.cost(input_=10, cached=1, cache_write=0, output=2) is None
    assert prices.cost(input_=10, cached=0, cache_write=1, output=2) is None
    assert prices.cost(input_=0, cached=0, cache_write=0, output=0) == 0
    assert prices.cost(input_=5, cached=0, cache_write=0, output=0) == 15, "never what another token costs"
    assert Prices("USD", 3, 5, 1, 1).cost(input_=5, cached=4, cache_write=4, output=0) == 8, "a provider whose figures do not add up"
