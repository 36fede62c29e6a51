"""The delta log: what running turns said so far, written and read for many turns at once."""

from collections.abc import Sequence
from uuid import UUID

from app.storage.claim_rows import DeltaCursor, DeltaRow, DeltaWrite
from app.storage.pool import Pool


class Deltas:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, rows: Sequence[DeltaWrite]) -> frozenset[tuple[UUID, int]]:
        """Writes all rows in one statement and transaction, but for those of a stale fence; gives the refused (session, fence).

        A row that is there already (the same turn, n and fence) is left as it is, so a flush may be repeated.
        """
        if not rows:
            return frozenset()
        refused = await self._pool.fetch(
            "SELECT * FROM ledger.deltas_put_v1($1, $2, $3, $4, $5, $6)",
            [row.tenant for row in rows],
            [row.session for row in rows],
            [row.turn for row in rows],
            [row.fence for row in rows],
            [row.n for row in rows],
            [row.body for row in rows],
        )
        return frozenset((row["session_id"], row["fence"]) for row in refused)

    async def read(self, cursors: Sequence[DeltaCursor], limit: int) -> list[DeltaRow]:
        """At most `limit` events of each turn behind its cursor, in the order of the cursors and then of their ids."""
        if not cursors:
            return []
        rows = await self._pool.fetch(
            "SELECT * FROM ledger.deltas_get_v1($1, $2, $3, $4, $5)",
            [cursor.tenant for cursor in cursors],
            [cursor.session for cursor in cursors],
            [cursor.turn for cursor in cursors],
            [cursor.after for cursor in cursors],
            limit,
        )
        return [DeltaRow(row["session_id"], row["turn"], row["n"], row["body"]) for row in rows]

    async def bounds(self, tenant: UUID, session: UUID, turn: int) -> tuple[int, int] | None:
        """The least and the greatest logged event id of a turn; None when nothing is logged (any more)."""
        rows = await self._pool.fetch("SELECT * FROM ledger.deltas_bounds_v1($1, $2, $3)", tenant, session, turn)
        return None if rows[0]["first_n"] is None else (rows[0]["first_n"], rows[0]["last_n"])

    async def purge(self, older_than_seconds: float, limit: int) -> int:
        """Deletes the events of turns that rest and whose last event is older than that, whole turns until `limit` rows are reached.

        Says how many rows; fewer than `limit` when nothing is left to delete.
        """
        rows = await self._pool.fetch("SELECT ledger.deltas_purge_v1($1, $2)", older_than_seconds, limit)
        return int(rows[0][0])
