"""Turn rows and model call rows; both are written by appends."""

from datetime import datetime
from uuid import UUID

from app.storage import decode
from app.storage.pool import Pool
from app.storage.rows import AccuracyRow, CallRow, TurnRow, TurnView

TurnRows = list[TurnRow]
TurnViews = list[TurnView]
CallRows = list[CallRow]
AccuracyRows = list[AccuracyRow]


class Turns:
    """Turns of a session; a fork has those of its ancestry too."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, tenant: UUID, session: UUID, turn: UUID | int) -> TurnRow | None:
        """A turn by its id or its number; None where there is none."""
        number, turn_id = (turn, None) if isinstance(turn, int) else (None, turn)
        rows = await self._pool.fetch("SELECT * FROM ledger.turns_v2($1, $2, $3, $4, NULL, 0, 1)", tenant, session, number, turn_id)
        return decode.turn(rows[0]) if rows else None

    async def list(self, tenant: UUID, session: UUID, *, after: int = 0, limit: int, follows: int | None = None) -> TurnRows:
        """Turns with numbers above `after`, ascending. `follows`: only the siblings that follow that turn (0: the start)."""
        rows = await self._pool.fetch("SELECT * FROM ledger.turns_v2($1, $2, NULL, NULL, $3, $4, $5)", tenant, session, follows, after, limit)
        return [decode.turn(row) for row in rows]

    async def view(self, tenant: UUID, session: UUID, turn: UUID | int) -> TurnView | None:
        """A turn by its id or its number with all that it names; None where there is none."""
        number, turn_id = (turn, None) if isinstance(turn, int) else (None, turn)
        rows = await self._pool.fetch("SELECT * FROM ledger.turn_views_v2($1, $2, $3, $4, 0, 1)", tenant, session, number, turn_id)
        return decode.turn_view(rows[0]) if rows else None

    async def views(self, tenant: UUID, session: UUID, *, after: int = 0, limit: int) -> TurnViews:
        """Turns with numbers above `after`, ascending, each with all that it names."""
        rows = await self._pool.fetch("SELECT * FROM ledger.turn_views_v2($1, $2, NULL, NULL, $3, $4)", tenant, session, after, limit)
        return [decode.turn_view(row) for row in rows]


class Calls:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, tenant: UUID, session: UUID, call_id: UUID) -> CallRow | None:
        """One call; None where there is none."""
        rows = await self._pool.fetch("SELECT * FROM ledger.calls_v1($1, $2, $3, NULL, NULL, 1)", tenant, session, call_id)
        return decode.call(rows[0]) if rows else None

    async def list(self, tenant: UUID, session: UUID, *, turn: int | None = None, after: UUID | None = None, limit: int) -> CallRows:
        """Calls of a session or of one of its turns, ascending by id (which are v7: by time), behind `after`."""
        rows = await self._pool.fetch("SELECT * FROM ledger.calls_v1($1, $2, NULL, $3, $4, $5)", tenant, session, turn, after, limit)
        return [decode.call(row) for row in rows]

    async def last_dispatched(self, tenant: UUID, session: UUID, head_seq: int) -> CallRow | None:
        """The newest main call that left at that head or before; None where none did."""
        rows = await self._pool.fetch("SELECT * FROM ledger.last_call_v1($1, $2, $3)", tenant, session, head_seq)
        return decode.call(rows[0]) if rows else None

    async def accuracy(self, tenant: UUID, since: datetime) -> AccuracyRows:
        """Estimates of the input against what providers reported, of the tenant's calls since then; a row for each way of counting."""
        rows = await self._pool.fetch("SELECT * FROM ledger.call_accuracy_v1($1, $2)", tenant, since)
        return [AccuracyRow(**dict(row)) for row in rows]
