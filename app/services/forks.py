"""Forks: a new session that shares the past of another, and goes on by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from app.entries import lossless
from app.entries.errors import Fault, HeadMismatch, Invalid
from app.entries.ids import SESSION, format_id
from app.entries.line import forked
from app.entries.messages import Entry, NewEntry
from app.entries.settings import AgentAdopted, SessionForked, SessionOpened
from app.services.minting import new_uuid
from app.services.replays import remembered
from app.services.session_views import etag
from app.services.sessions import NO_USAGE, Opened, Sessions
from app.services.targets import switched_model
from app.services.turns.inputs import IdempotencyKey
from app.storage.rows import SessionRow, StoredAnswer
from app.storage.store import Store
from app.storage.types import Append, OpenSession


@dataclass(frozen=True, slots=True)
class _InForce:
    """What a fork takes over of the settings at its seq; `model` is the JSON text of one that was switched to, None where none holds."""

    agent: str | None = None
    agent_revision: int | None = None
    agent_follows: bool = True
    model: str | None = None


class Forks:
    """Opens forks, beside whatever the parent does: what lies at a seq never changes, so nobody waits."""

    def __init__(self, store: Store, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    async def fork(
        self, tenant: UUID, session_id: str, at_seq: int | None, key: IdempotencyKey | None = None, expected_head: int | None = None
    ) -> Opened:
        """A session that goes on behind `at_seq` (None: the head) of another. No entry, usage or work under way is copied (X-11).

        Raises `NotFound`, `HeadMismatch`, `KeyReused`, and `Invalid` for a seq that is not there or lies inside a turn.
        """
        parent = await self._sessions.find(tenant, session_id)
        known = None if key is None else await self._store.idempotency.find(tenant, key.route, key.key, key.digest)
        if known is not None:
            return await self._replayed(tenant, known)
        if expected_head is not None and expected_head != parent.head_seq:
            raise HeadMismatch(parent.head_seq)
        seq = parent.head_seq if at_seq is None else at_seq
        if not 1 <= seq <= parent.head_seq:
            raise Invalid([Fault("/at_seq", "out-of-range", "A session's entries are numbered from 1 to its head.")])
        fork = new_uuid()
        done = await self._store.ledger.append(tenant, fork, await self._opening(tenant, parent, seq, fork, key))
        if done.stored is not None:
            return await self._replayed(tenant, done.stored)
        return await self._first_answer(tenant, fork, parent.title)

    async def _opening(self, tenant: UUID, parent: SessionRow, seq: int, fork: UUID, key: IdempotencyKey | None) -> Append:
        line = await self._store.ledger.line_again(tenant, parent.session_id, seq)
        found = _in_force(await self._store.ledger.settings(tenant, parent.session_id, seq))
        body = SessionForked(format_id(SESSION, parent.session_id), seq)
        entry = NewEntry(body.kind, body.encode(), line=forked(line, seq, str(parent.session_id)).encode())
        opening = OpenSession(
            agent=found.agent,
            agent_revision=found.agent_revision,
            agent_follows=found.agent_follows,
            model=found.model,
            title=parent.title,
            user=parent.user,
            parent=parent.session_id,
            parent_seq=seq,
        )
        kept = remembered(key, 201, lossless.dumps({"title": parent.title}), fork)
        return Append(entries=(entry,), open=opening, expected_head=seq, idempotency=kept)

    async def _replayed(self, tenant: UUID, stored: StoredAnswer) -> Opened:
        title = lossless.loads(stored.body or "{}").get("title")
        return replace(await self._first_answer(tenant, stored.session, title), replayed=True)

    async def _first_answer(self, tenant: UUID, fork: UUID | None, title: str | None) -> Opened:
        """The fork as it was right after it was opened, however long ago that is; its title alone leaves no trace in what it shares."""
        ledger, row = self._store.ledger, await self._sessions.row(tenant, fork)
        seq = (row.parent_seq or 0) + 1
        entry, shared = await ledger.entry(tenant, row.session_id, seq), await ledger.shared(tenant, row.session_id)
        found = _in_force(await ledger.settings(tenant, row.session_id, seq))
        fresh = replace(
            row,
            head_seq=seq,
            head_digest=row.head_digest if entry is None else entry.digest,
            agent=found.agent,
            agent_revision=found.agent_revision,
            agent_follows=found.agent_follows,
            model=found.model,
            title=title,
            metadata="{}",
            line=await ledger.line_at(tenant, row.session_id, seq),
            message_count=0 if shared is None else shared.message_count,
            turn_count=0 if shared is None else shared.turn_count,
            meta_version=0,
            dispatched_call=None,
            dispatched_count=0,
            pending_turn=None,
            running_turn=None,
            active_at=row.created_at,
            usage=NO_USAGE,
            compaction_count=0,
        )
        return Opened(await self._sessions.views.view(fresh), etag(fresh))


def _in_force(settings: Mapping[str, Entry]) -> _InForce:
    adopted, opened = settings.get(AgentAdopted.kind), settings.get(SessionOpened.kind)
    switched = switched_model(settings)
    model = None if switched is None else lossless.dumps({"upstream": switched.upstream, "name": switched.name, "params": dict(switched.params)})
    for entry, body_type in ((adopted, AgentAdopted), (opened, SessionOpened)):
        if entry is not None and entry.payload is not None:
            body: AgentAdopted | SessionOpened = body_type.decode(entry.payload)
            return _InForce(body.agent, body.revision, body.follows, model)
    return _InForce(model=model)
