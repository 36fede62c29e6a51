"""The Turn resource of the contract, from its row and from what a running process knows."""

from typing import Any
from uuid import UUID

from app.entries import lossless
from app.entries.errors import NotFound
from app.entries.ids import CALL, SESSION, TURN, format_id, parse_id
from app.entries.wire import timestamp
from app.services.session_ids import session_row
from app.storage.rows import SessionRow, TurnRow, TurnView
from app.storage.store import Store


class Views:
    """Reads turns and shows them. Raises `NotFound` for ids that do not parse or are unknown to the tenant."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def session(self, tenant: UUID, session_id: str) -> SessionRow:
        """The session of a TypeID."""
        return await session_row(self._store.sessions, tenant, session_id)

    async def turn(self, tenant: UUID, session: UUID, turn_id: str) -> TurnRow:
        """The turn of a TypeID."""
        row = await self._store.turns.get(tenant, session, turn_uuid(turn_id))
        if row is None:
            raise NotFound("There is no such turn in this session.")
        return row

    async def turn_by_number(self, tenant: UUID, session: UUID, number: int) -> TurnRow:
        """The turn of a number."""
        row = await self._store.turns.get(tenant, session, number)
        if row is None:
            raise NotFound("There is no such turn in this session.")
        return row

    async def id_of(self, tenant: UUID, session: UUID, number: int) -> str:
        """The TypeID of a turn that is known by its number; `start` for 0."""
        if number == 0:
            return "start"
        return format_id(TURN, (await self.turn_by_number(tenant, session, number)).turn_id)

    async def view(self, tenant: UUID, session: UUID, turn: UUID | int) -> dict[str, Any]:
        """The Turn as it stands now, in one read."""
        found = await self._store.turns.view(tenant, session, turn)
        if found is None:
            raise NotFound("There is no such turn in this session.")
        return turn_json(session, found)

    async def views(self, tenant: UUID, session: UUID, after: int, limit: int) -> list[dict[str, Any]]:
        """Turns with numbers above `after`, ascending."""
        return [turn_json(session, found) for found in await self._store.turns.views(tenant, session, after=after, limit=limit)]


def turn_json(session: UUID, found: TurnView) -> dict[str, Any]:
    """The Turn resource. `usage` is null where no call reported any."""
    row = found.row
    return {
        "id": format_id(TURN, row.turn_id),
        "object": "turn",
        "session_id": format_id(SESSION, session),
        "number": row.number,
        "status": row.status,
        "follows": "start" if found.follows_id is None else format_id(TURN, found.follows_id),
        "siblings": [format_id(TURN, sibling) for sibling in found.siblings],
        "retry_of": None if found.retry_of_id is None else format_id(TURN, found.retry_of_id),
        "input_seq": row.input_seq,
        "entry_seqs": list(found.entry_seqs),
        "calls": [format_id(CALL, call) for call in found.calls],
        "pending": [] if row.pending is None or row.status != "requires_action" else lossless.read(row.pending),
        "usage": None if row.usage is None else lossless.read(row.usage),
        "error": None if row.error is None else lossless.read(row.error),
        "created_at": timestamp(row.created_at),
        "settled_at": None if row.settled_at is None else timestamp(row.settled_at),
    }


def turn_uuid(turn_id: str) -> UUID:
    """The UUID of a turn's TypeID. Raises `NotFound`."""
    uuid = parse_id(TURN, turn_id)
    if uuid is None:
        raise NotFound("There is no such turn in this session.")
    return uuid
