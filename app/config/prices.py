"""What a model's tokens cost: the operator's price table. Nothing is guessed; a model without prices has none."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.config.parse import integer, text
from app.config.tables import known, take_value

PRICE_MAX = 10**12
"""Of a million tokens, in millionths of the currency."""

_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Prices:
    """Of a million tokens, in whole millionths of `currency` (ISO 4217): 3 dollars are 3,000,000 in USD.

    `input` is for what is neither read from a cache (`cached`) nor written to one (`cache_write`); None: unknown, so that no cost is told of
    calls that have such tokens. `output` holds for reasoning too.
    """

    currency: str
    input: int
    output: int
    cached: int | None = None
    cache_write: int | None = None

    def cost(self, *, input_: int, cached: int, cache_write: int, output: int) -> int | None:
        """What tokens cost, exactly, in millionths of a millionth of `currency`; `input_` includes `cached` and `cache_write`. None: unknown."""
        plain = max(0, input_ - cached - cache_write)
        parts = ((plain, self.input), (cached, self.cached), (cache_write, self.cache_write), (output, self.output))
        costs = [0 if not tokens else None if price is None else tokens * price for tokens, price in parts]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def read_prices(where: str, table: Mapping[str, Any]) -> Prices:
    """The prices of a `prices` table. Raises `ConfigError`."""
    known(where, table, ("currency", "input", "output", "cached", "cache_write"))
    price = integer(0, PRICE_MAX)
    return Prices(
        currency=take_value(where, table, "currency", _currency, ...),
        input=take_value(where, table, "input", price, ...),
        output=take_value(where, table, "output", price, ...),
        cached=take_value(where, table, "cached", price, None),
        cache_write=take_value(where, table, "cache_write", price, None),
    )


def _currency(value: object) -> str:
    found = text(value)
    if not _CURRENCY.fullmatch(found):
        raise ValueError("three capital letters such as USD")
    return found
