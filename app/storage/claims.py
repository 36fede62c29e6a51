"""Claims of running turns, across tenants: renewing, watching for stop requests, finding those whose holder is gone."""

from collections.abc import Collection
from uuid import UUID

from app.storage.claim_rows import ExpiredClaim, Renewal
from app.storage.pool import Pool

Held = Collection[tuple[UUID, int]]
"""Claims as (session, fence)."""


class Claims:
    """A claim is taken, moved and released by appends alone."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def renew(self, holder: UUID, held: Held, lease_seconds: float) -> Renewal:
        """Renews all claims of a holder at once. Those taken over or released are `lost`; an expired one that nobody took is renewed."""
        return await self._ask("SELECT * FROM ledger.renew_v1($1, $2, $3, $4)", holder, held, lease_seconds)

    async def watch(self, holder: UUID, held: Held) -> Renewal:
        """The same answer without renewing anything; cheap enough for a short period."""
        return await self._ask("SELECT * FROM ledger.claims_watch_v1($1, $2, $3)", holder, held)

    async def _ask(self, statement: str, holder: UUID, held: Held, *more: float) -> Renewal:
        if not held:
            return Renewal()
        sessions, fences = [session for session, _ in held], [fence for _, fence in held]
        rows = await self._pool.fetch(statement, holder, sessions, fences, *more)
        found = {(row["session_id"], row["fence"]): row["stopped"] for row in rows}
        return Renewal(frozenset(claim for claim in held if claim not in found), frozenset(claim for claim in held if found.get(claim)))

    async def expired(self, limit: int) -> list[ExpiredClaim]:
        """Claims that may be taken over, the longest expired first: the lease ran out, or a stop request is overdue."""
        rows = await self._pool.fetch("SELECT * FROM ledger.claims_expired_v1($1)", limit)
        return [ExpiredClaim(row["tenant_id"], row["session_id"], row["turn"], row["fence"]) for row in rows]
