"""The Session resource, made from its row and what the row names."""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.entries.ids import CALL, SESSION, TURN, format_id
from app.entries.wire import timestamp
from app.services.revisions import Revisions
from app.storage.rows import SessionCursor, SessionRow
from app.storage.turns import Turns as TurnRows

_USAGE = ("input", "cached", "cache_write", "output", "reasoning")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SessionViews:
    """Renders rows. A row whose turn runs or waits costs one look at that turn; the agent's revision is kept in memory."""

    def __init__(self, turns: TurnRows, revisions: Revisions) -> None:
        self._turns = turns
        self._revisions = revisions

    async def view(self, row: SessionRow) -> dict[str, Any]:
        """The resource of one row."""
        running = await self._turn_id(row, row.running_turn)
        pending = running if row.pending_turn == row.running_turn else await self._turn_id(row, row.pending_turn)
        return session_json(row, await self._model(row), running, pending)

    async def views(self, rows: Sequence[SessionRow]) -> list[dict[str, Any]]:
        """The resources of a page, in its order."""
        return list(await asyncio.gather(*[self.view(row) for row in rows]))

    async def turn_id(self, tenant: UUID, session: UUID, number: int | None) -> str | None:
        """The id of a turn by its number; None for none."""
        turn = None if number is None else await self._turns.get(tenant, session, number)
        return None if turn is None else format_id(TURN, turn.turn_id)

    async def _turn_id(self, row: SessionRow, number: int | None) -> str | None:
        return await self.turn_id(row.tenant, row.session_id, number)

    async def _model(self, row: SessionRow) -> dict[str, Any] | None:
        if row.model is not None:
            found: dict[str, Any] = lossless.loads(row.model)
            return found
        if row.agent is None or row.agent_revision is None:
            return None
        model = (await self._revisions.get(row.tenant, row.agent, row.agent_revision)).model
        return {"upstream": model.upstream, "name": model.name, "params": dict(model.params)}


def session_json(row: SessionRow, model: dict[str, Any] | None, running: str | None, pending: str | None) -> dict[str, Any]:
    """The Session resource. `model` is the one in force; `running` and `pending` are turn ids."""
    usage = lossless.loads(row.usage)
    return {
        "id": format_id(SESSION, row.session_id),
        "object": "session",
        "head_seq": row.head_seq,
        "head_digest": "sha256:" + row.head_digest.hex(),
        "agent": row.agent,
        "agent_revision": row.agent_revision,
        "follows": row.agent_follows,
        "model": model,
        "title": row.title,
        "metadata": lossless.loads(row.metadata),
        "user": row.user,
        "external_id": row.external_id,
        "status": row.status,
        "line": [{"from_seq": piece.from_seq, "through_seq": piece.through_seq} for piece in row.line.pieces],
        "checkpoint": None if row.line.covered is None else row.line.covered.checkpoint_id,
        "message_count": row.message_count,
        "turn_count": row.turn_count,
        "usage": {name: usage.get(name) for name in _USAGE},
        "running_turn": running,
        "pending_turn": pending,
        "dispatched_call": None if row.dispatched_call is None else format_id(CALL, row.dispatched_call),
        "forked_from": None if row.parent_session is None else {"session_id": format_id(SESSION, row.parent_session), "at_seq": row.parent_seq},
        "created_at": timestamp(row.created_at),
        "active_at": timestamp(row.active_at),
    }


def etag(row: SessionRow) -> str:
    """`"<head_seq>.<meta_version>"`: title and metadata change without an entry."""
    return f'"{row.head_seq}.{row.meta_version}"'


def encode_cursor(row: SessionRow) -> str:
    """Where the list goes on after this session, whatever becomes of it."""
    micros = (row.active_at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(micros.to_bytes(8, "big") + row.session_id.bytes).decode().rstrip("=")


def decode_cursor(text: str) -> SessionCursor:
    """The cursor that `encode_cursor` wrote. Raises `Invalid` for anything else."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        at = _EPOCH + timedelta(microseconds=int.from_bytes(raw[:8], "big"))
        return SessionCursor(at, UUID(bytes=raw[8:]))
    except (ValueError, OverflowError, binascii.Error):
        raise Invalid([Fault("", "wrong-form", "`after` is the `next` of the page before.")]) from None
