"""Session rows: one, by external id, and lists by activity."""

from uuid import UUID

from app.storage import decode
from app.storage.pool import Pool
from app.storage.rows import SessionCursor, SessionFilter, SessionRow

_LIST = "SELECT ledger.sessions_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"

SessionRows = list[SessionRow]


class Sessions:
    """Reads only: a session is opened and changed by an append."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, tenant: UUID, session: UUID) -> SessionRow | None:
        """The row with its claim; None for an unknown session or one of another tenant."""
        rows = await self._pool.fetch("SELECT ledger.session_v1($1, $2)", tenant, session)
        return None if rows[0][0] is None else decode.session(rows[0][0])

    async def find_external(self, tenant: UUID, user: str | None, external_id: str) -> SessionRow | None:
        """The session with that external id of that user (None: of nobody)."""
        rows = await self._pool.fetch("SELECT ledger.session_external_v1($1, $2, $3)", tenant, user, external_id)
        return None if rows[0][0] is None else decode.session(rows[0][0])

    async def list(self, tenant: UUID, chosen: SessionFilter, after: SessionCursor | None, limit: int) -> SessionRows:
        """At most `limit` sessions behind `after`, the one with the newest activity first."""
        rows = await self._pool.fetch(
            _LIST,
            tenant,
            chosen.agent,
            chosen.user,
            chosen.external_id,
            chosen.status,
            [key for key, _ in chosen.metadata],
            [value for _, value in chosen.metadata],
            None if after is None else after.active_at,
            None if after is None else after.session_id,
            limit,
        )
        return [decode.session(row[0]) for row in rows]
