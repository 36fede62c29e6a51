"""The Turn resource of the contract, from its row and from what a running process knows."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.entries import lossless
from app.entries.errors import NotFound
from app.entries.ids import CALL, SESSION, TURN, format_id, parse_id
from app.entries.wire import timestamp
from app.storage.rows import SessionRow, TurnRow
from app.storage.store import Store

SIBLINGS_MAX = 100
CALLS_MAX = 100


class Views:
    """Reads turns and shows them. Raises `NotFound` for ids that do not parse or are unknown to the tenant."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def session(self, tenant: UUID, session_id: str) -> SessionRow:
        """The session of a TypeID."""
        uuid = parse_id(SESSION, session_id)
        row = None if uuid is None else await self._store.sessions.get(tenant, uuid)
        if row is None:
            raise NotFound("There is no such session.")
        return row

    async def turn(self, tenant: UUID, session: UUID, turn_id: str) -> TurnRow:
        """The turn of a TypeID."""
        uuid = parse_id(TURN, turn_id)
        row = None if uuid is None else await self._store.turns.get(tenant, session, uuid)
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

    async def view(self, tenant: UUID, session: UUID, row: TurnRow) -> dict[str, Any]:
        """The Turn as it stands now."""
        entries = await self._store.ledger.turn_entries(tenant, session, row.number)
        calls = await self._store.calls.list(tenant, session, turn=row.number, limit=CALLS_MAX)
        siblings = await self._store.turns.list(tenant, session, follows=row.follows, limit=SIBLINGS_MAX)
        retry_of = None if row.retry_of is None else await self.id_of(tenant, session, row.retry_of)
        return turn_json(
            row,
            session_id=format_id(SESSION, session),
            follows=await self.id_of(tenant, session, row.follows),
            siblings=[format_id(TURN, sibling.turn_id) for sibling in siblings if sibling.number != row.number],
            retry_of=retry_of,
            entry_seqs=[entry.seq for entry in entries],
            calls=[format_id(CALL, call.call_id) for call in calls],
        )


def turn_json(
    row: TurnRow,
    *,
    session_id: str,
    follows: str,
    siblings: Sequence[str],
    retry_of: str | None,
    entry_seqs: Sequence[int],
    calls: Sequence[str],
) -> dict[str, Any]:
    """The Turn resource. `usage` is null where no call reported any."""
    return {
        "id": format_id(TURN, row.turn_id),
        "object": "turn",
        "session_id": session_id,
        "number": row.number,
        "status": row.status,
        "follows": follows,
        "siblings": list(siblings),
        "retry_of": retry_of,
        "input_seq": row.input_seq,
        "entry_seqs": list(entry_seqs),
        "calls": list(calls),
        "pending": [] if row.pending is None or row.status != "requires_action" else lossless.read(row.pending),
        "usage": None if row.usage is None else lossless.read(row.usage),
        "error": None if row.error is None else lossless.read(row.error),
        "created_at": timestamp(row.created_at),
        "settled_at": None if row.settled_at is None else timestamp(row.settled_at),
    }
