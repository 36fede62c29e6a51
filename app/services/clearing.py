"""Clearing a session: the line begins anew, without a summary; ledger, id and usage stay (X-12)."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX
from app.entries import lossless
from app.entries.errors import HeadMismatch
from app.entries.folds import Cleared
from app.entries.line import cleared
from app.entries.messages import NewEntry
from app.entries.wire import timestamp
from app.services.replays import remembered
from app.services.session_ids import session_uuid
from app.services.session_views import etag
from app.services.sessions import Opened, Sessions
from app.services.turns.endings import Endings
from app.services.turns.inputs import IdempotencyKey
from app.storage.rows import SessionRow, StoredAnswer
from app.storage.store import Store
from app.storage.types import Append, SessionPatch


class Clearing:
    """One append, while the session is idle."""

    def __init__(self, store: Store, sessions: Sessions, endings: Endings) -> None:
        self._store = store
        self._sessions = sessions
        self._endings = endings

    async def clear(self, tenant: UUID, session_id: str, expected_head: int | None, key: IdempotencyKey | None) -> Opened:
        """The session as it stood right behind the entry that cleared it; under a known key, as it stood then.

        Raises `NotFound`, `SessionBusy`, `PendingAction`, `HeadMismatch`, `KeyReused`.
        """
        session = session_uuid(session_id)
        return await self._endings.after_the_gone(tenant, session, lambda: self._clear(tenant, session, expected_head, key))

    async def _clear(self, tenant: UUID, session: UUID, expected_head: int | None, key: IdempotencyKey | None) -> Opened:
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = await self._sessions.row(tenant, session)
            known = None if key is None else await self._store.idempotency.find(tenant, key.route, key.key, key.digest)
            if known is not None:
                return await self._replayed(tenant, session, known)
            if expected_head is not None and expected_head != row.head_seq:
                raise HeadMismatch(row.head_seq)
            then = replace(row, head_seq=row.head_seq + 1, line=cleared(row.head_seq + 1), last_turn=0)
            told, tag = await self._sessions.views.view(then), etag(then)
            try:
                done = await self._store.ledger.append(tenant, session, _append(row, then, told, tag, key))
            except HeadMismatch:
                if not left:
                    raise
                continue
            if done.stored is not None:
                return await self._replayed(tenant, session, done.stored)
            return Opened(_as_cleared(told, done.head_digest, done.recorded_at), tag, created=False)
        raise AssertionError("the last try returns or raises")

    async def _replayed(self, tenant: UUID, session: UUID, stored: StoredAnswer) -> Opened:
        """The answer that was kept under a key: what only the append could know stands in its entry."""
        kept = lossless.loads(stored.body or "", 80)
        entry = await self._store.ledger.entry(tenant, session, kept["session"]["head_seq"])
        if entry is None:
            raise RuntimeError("an append whose answer was kept left no entry")
        return Opened(_as_cleared(kept["session"], entry.digest, entry.recorded_at), kept["etag"], created=False, replayed=True)


def _append(row: SessionRow, then: SessionRow, told: dict[str, Any], tag: str, key: IdempotencyKey | None) -> Append:
    """Expects the head and the title that the answer tells of, since the answer is kept with it."""
    entry = NewEntry(Cleared.kind, Cleared(row.head_seq).encode(), line=then.line.spelled())
    return Append(
        entries=(entry,),
        expected_head=row.head_seq,
        refuse_pending=True,
        session=SessionPatch(last_turn=0, expected_meta=row.meta_version),
        idempotency=remembered(key, 200, lossless.dumps({"session": told, "etag": tag}), row.session_id),
    )


def _as_cleared(told: dict[str, Any], digest: bytes, at: datetime) -> dict[str, Any]:
    """The Session resource with what its newest entry says of it."""
    return {**told, "head_digest": "sha256:" + digest.hex(), "active_at": timestamp(at)}
