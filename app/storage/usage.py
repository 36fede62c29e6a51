"""What the calls of a session used, summed up as they end."""

from dataclasses import dataclass
from uuid import UUID

from app.entries import lossless
from app.storage.pool import Pool

UsageRows = list["UsageRow"]


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Tokens of the calls of one purpose to one model. `calls`: whose usage is known; `estimated`: of those, what no provider reported.

    `input` includes `cached` and `cache_write`, `output` includes `reasoning`; what was unknown of a call counts as none.
    """

    purpose: str
    upstream: str
    model: str
    calls: int
    estimated: int
    input: int
    cached: int
    cache_write: int
    output: int
    reasoning: int


class UsageTotals:
    """Reads only: an append adds to them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list(self, tenant: UUID, session: UUID) -> UsageRows:
        """The totals by purpose, upstream and model; none for a session without calls."""
        rows = await self._pool.fetch("SELECT * FROM ledger.usage_v1($1, $2)", tenant, session)
        return [UsageRow(row["purpose"], lossless.loads(row["upstream"]), lossless.loads(row["model"]), *row[3:]) for row in rows]
