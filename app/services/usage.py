"""What the calls of a session used, by model and by what they were for, and what that costs by the operator's prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.config.upstreams import Upstream
from app.services.session_ids import session_row
from app.storage.store import Store
from app.storage.usage import UsageRow

_PURPOSES = ("main", "compaction")
_FIGURES = ("input", "cached", "cache_write", "output", "reasoning")
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class _Cost:
    """An exact cost: millionths of a millionth of `currency`."""

    currency: str
    exact: int


class Usage:
    """Reads totals that were summed up as calls ended."""

    def __init__(self, store: Store, upstreams: Mapping[str, Upstream]) -> None:
        self._store = store
        self._upstreams = upstreams

    async def view(self, tenant: UUID, session_id: str) -> dict[str, Any]:
        """The SessionUsage resource. Raises `NotFound`."""
        row = await session_row(self._store.sessions, tenant, session_id)
        rows = await self._store.usage.list(tenant, row.session_id)
        priced = [(one, self._cost(one)) for one in rows]
        return {
            "object": "usage",
            "session_id": session_id,
            "models": [
                {"purpose": one.purpose, "upstream": one.upstream, "model": one.model, **_figures([one]), "cost": _shown(cost)}
                for one, cost in priced
            ],
            **{purpose: _sum([(one, cost) for one, cost in priced if one.purpose == purpose]) for purpose in _PURPOSES},
            "total": _sum(priced),
        }

    def _cost(self, row: UsageRow) -> _Cost | None:
        """None where the upstream is not configured any more, or has no price for what was used."""
        upstream = self._upstreams.get(row.upstream)
        prices = None if upstream is None else upstream.prices_of(row.model)
        if prices is None:
            return None
        exact = prices.cost(input_=row.input, cached=row.cached, cache_write=row.cache_write, output=row.output)
        return None if exact is None else _Cost(prices.currency, exact)


def _figures(rows: Sequence[UsageRow]) -> dict[str, int]:
    calls = {"calls": sum(row.calls for row in rows), "estimated_calls": sum(row.estimated for row in rows)}
    return calls | {name: sum(getattr(row, name) for row in rows) for name in _FIGURES}


def _sum(priced: Sequence[tuple[UsageRow, _Cost | None]]) -> dict[str, Any]:
    """Figures and cost of some rows together; no cost where one of theirs is unknown, or where they have no currency in common."""
    costs = [cost for _, cost in priced]
    known = [cost for cost in costs if cost is not None]
    one = len(known) == len(costs) and len({cost.currency for cost in known}) == 1
    cost = _Cost(known[0].currency, sum(cost.exact for cost in known)) if one else None
    return {**_figures([row for row, _ in priced]), "cost": _shown(cost)}


def _shown(cost: _Cost | None) -> dict[str, Any] | None:
    """A cost in whole millionths of its currency, half of one rounded up."""
    return None if cost is None else {"currency": cost.currency, "micros": (cost.exact + _MILLION // 2) // _MILLION}
