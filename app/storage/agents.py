"""Agents and their immutable revisions."""

from uuid import UUID

from app.storage import decode
from app.storage.pool import Pool
from app.storage.rows import AgentRow

_AGENTS = "SELECT * FROM ledger.agents_v2($1, $2, $3, $4, $5, $6)"
_PUT = "SELECT * FROM ledger.agent_put_v2($1, $2, $3, $4, $5, $6)"

AgentRows = list[AgentRow]


class Agents:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(
        self, tenant: UUID, name: str, document: str, limits: str, digest: bytes, resolved_tools: str | None = None
    ) -> tuple[AgentRow, bool]:
        """Makes the next revision unless the newest one has that digest (32 bytes, of all that a compile reads of it); says whether it did."""
        rows = await self._pool.fetch(_PUT, tenant, name, document, limits, resolved_tools, digest)
        return decode.agent(rows[0]), rows[0]["created"]

    async def get(self, tenant: UUID, name: str, revision: int | None = None) -> AgentRow | None:
        """A revision, by default the newest; None where there is none."""
        rows = await self._pool.fetch(_AGENTS, tenant, name, revision, None, None, 1)
        return decode.agent(rows[0]) if rows else None

    async def list(self, tenant: UUID, *, after: str | None = None, limit: int) -> AgentRows:
        """The newest revision of each agent, by name."""
        rows = await self._pool.fetch(_AGENTS, tenant, None, None, after or "", None, limit)
        return [decode.agent(row) for row in rows]

    async def revisions(self, tenant: UUID, name: str, *, after: int = 0, limit: int) -> AgentRows:
        """Revisions of one agent with numbers above `after`, ascending."""
        rows = await self._pool.fetch(_AGENTS, tenant, name, None, None, after, limit)
        return [decode.agent(row) for row in rows]
