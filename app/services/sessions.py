"""Sessions: opened by an append, read by their row, listed by activity. What changes one is in `session_changes`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX, METADATA_BYTES_MAX
from app.context.sources import AgentRevision
from app.entries import lossless
from app.entries.errors import Conflict, Fault, HeadMismatch, Invalid, KeyReused, NotFound
from app.entries.line import PLAIN
from app.entries.messages import Entry, NewEntry
from app.entries.settings import SessionOpened, StateChanged
from app.services.minting import new_uuid
from app.services.pages import Page
from app.services.replays import remembered
from app.services.revisions import Revisions
from app.services.session_ids import UNKNOWN_SESSION, session_row
from app.services.session_views import SessionViews, decode_cursor, encode_cursor, etag, session_json
from app.services.states import OpeningState, States
from app.services.turns.inputs import IdempotencyKey
from app.storage.rows import EntryFilter, SessionFilter, SessionRow, StoredAnswer
from app.storage.store import Store
from app.storage.types import Append, Appended, IdempotencyWrite, OpenSession

NO_USAGE = '{"input":0,"cached":0,"cache_write":0,"output":0,"reasoning":0,"calls":0}'


@dataclass(frozen=True, slots=True)
class SessionInput:
    """The body of `POST /sessions`, validated."""

    agent: str
    agent_revision: int | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None
    external_id: str | None = None
    if_exists: Literal["conflict", "return"] = "conflict"


@dataclass(frozen=True, slots=True)
class Opened:
    """A session as it was answered first; `created` False: it was there under its external id; `replayed`: the key was known."""

    session: dict[str, Any]
    etag: str
    created: bool = True
    replayed: bool = False


def check_metadata(metadata: Mapping[str, Any]) -> str:
    """The JSON text of a session's metadata. Raises `Invalid` where it is too large."""
    text = lossless.dumps(dict(metadata))
    if len(text.encode()) > METADATA_BYTES_MAX:
        raise Invalid([Fault("/metadata", "too-large", f"Metadata may have {METADATA_BYTES_MAX} bytes.")])
    return text


class Sessions:
    def __init__(self, store: Store, revisions: Revisions, states: States) -> None:
        self._store = store
        self._revisions = revisions
        self._states = states
        self.views = SessionViews(store.turns, revisions)

    async def create(self, tenant: UUID, given: SessionInput, key: IdempotencyKey | None) -> Opened:
        """Opens a session with its first entries, in one statement. Under a known key the first answer is given, whatever became of its parts.

        Raises `Invalid` for an unknown agent or a state that does not fit, `Conflict("exists")` for an external id that is taken, `KeyReused`.
        """
        known = None if key is None else await self._store.idempotency.find(tenant, key.route, key.key)
        if known is not None and key is not None:
            if not known.answers(key.digest):
                raise KeyReused
            return await self._replayed(tenant, given, known)
        session = new_uuid()
        try:
            done = await self._append(tenant, session, given, key)
        except Conflict:
            if given.if_exists == "return" and given.external_id is not None:
                row = await self._store.sessions.find_external(tenant, given.user, given.external_id)
                if row is not None:
                    return await self._existing(tenant, given, row, key)
            raise
        if done.stored is not None:
            return await self._replayed(tenant, given, done.stored)
        return await self._first_answer(tenant, session, given)

    async def _append(self, tenant: UUID, session: UUID, given: SessionInput, key: IdempotencyKey | None) -> Appended:
        """Opens it with the state that its user's sessions share, and tries again where that moved meanwhile."""
        agent = await self._agent(tenant, given)
        for left in reversed(range(APPEND_TRIES_MAX)):
            state = await self._states.opening(tenant, given.user, given.state, agent)
            try:
                return await self._store.ledger.append(tenant, session, _opening(session, given, agent, state, key))
            except HeadMismatch:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _existing(self, tenant: UUID, given: SessionInput, row: SessionRow, key: IdempotencyKey | None) -> Opened:
        """The session that is there already; under a key this is the answer to keep, as it stands."""
        found = Opened(await self.views.view(row), etag(row), created=False)
        if key is None:
            return found
        body = lossless.dumps({"session": found.session, "etag": found.etag})
        kept = await self._store.idempotency.remember(tenant, IdempotencyWrite(key.route, key.key, key.digest, 200, body, session=row.session_id))
        return found if kept is None else await self._replayed(tenant, given, kept)

    async def _replayed(self, tenant: UUID, given: SessionInput, stored: StoredAnswer) -> Opened:
        """The answer that was kept under a key: a session that was there as it stood, a new one as it was opened."""
        if stored.body is not None:
            kept = lossless.loads(stored.body, 80)
            return Opened(kept["session"], kept["etag"], created=False, replayed=True)
        return replace(await self._first_answer(tenant, stored.session, given), replayed=True)

    async def _agent(self, tenant: UUID, given: SessionInput) -> AgentRevision:
        try:
            if given.agent_revision is None:
                return await self._revisions.latest(tenant, given.agent)
            return await self._revisions.get(tenant, given.agent, given.agent_revision)
        except NotFound:
            pointer = "/agent" if given.agent_revision is None else "/agent_revision"
            raise Invalid([Fault(pointer, "unknown-agent", "There is no such agent or revision.")], code="unknown-agent") from None

    async def _first_answer(self, tenant: UUID, session: UUID | None, given: SessionInput) -> Opened:
        """The session as it was right after it was opened, however long ago that is: its first entries and its request say all of it."""
        row = await self.row(tenant, session)
        first = await self._store.ledger.entries(tenant, row.session_id, EntryFilter(line=None, at_seq=2), 2)
        entry_count = 2 if given.state or _observed_at_once(first) else 1
        first = first[:entry_count]
        opened = SessionOpened.decode(first[0].payload or "")
        fresh = _as_opened(row, given, opened, entry_count, first[-1].digest)
        model = (await self._revisions.get(tenant, opened.agent, opened.revision)).model
        shown = {"upstream": model.upstream, "name": model.name, "params": dict(model.params)}
        return Opened(session_json(fresh, shown, None, None), etag(fresh))

    async def row(self, tenant: UUID, session: UUID | None) -> SessionRow:
        """The row of a session. Raises `NotFound`, also for None: an id that did not parse."""
        row = None if session is None else await self._store.sessions.get(tenant, session)
        if row is None:
            raise NotFound(UNKNOWN_SESSION)
        return row

    async def find(self, tenant: UUID, session_id: str) -> SessionRow:
        """The row of a session by its id's text. Raises `NotFound`."""
        return await session_row(self._store.sessions, tenant, session_id)

    async def list(self, tenant: UUID, chosen: SessionFilter, after: str | None, limit: int) -> Page:
        """Sessions by activity, the newest first."""
        cursor = None if after is None else decode_cursor(after)
        rows = await self._store.sessions.list(tenant, chosen, cursor, limit + 1)
        data = await self.views.views(rows[:limit])
        return Page(data, encode_cursor(rows[limit - 1]) if len(rows) > limit else None)


def _opening(session: UUID, given: SessionInput, agent: AgentRevision, state: OpeningState, key: IdempotencyKey | None) -> Append:
    follows = given.agent_revision is None
    entries = [NewEntry(SessionOpened.kind, SessionOpened(agent.name, agent.revision, follows).encode())]
    if state.entry is not None:
        entries.append(NewEntry(StateChanged.kind, state.entry.encode()))
    opening = OpenSession(
        agent=agent.name,
        agent_revision=agent.revision,
        agent_follows=follows,
        title=given.title,
        metadata=check_metadata(given.metadata),
        user=given.user,
        external_id=given.external_id,
    )
    idempotency = remembered(key, 201, session=session)
    return Append(entries=tuple(entries), open=opening, user_state=state.write, idempotency=idempotency)


def _observed_at_once(first: Sequence[Entry]) -> bool:
    """Whether a session was opened with what its user's sessions shared: two entries of one append have one time."""
    if len(first) < 2 or first[1].kind != StateChanged.kind or first[1].payload is None:
        return False
    return first[1].recorded_at == first[0].recorded_at and StateChanged.decode(first[1].payload).source == "observation"


def _as_opened(row: SessionRow, given: SessionInput, opened: SessionOpened, head_seq: int, head_digest: bytes) -> SessionRow:
    """The row as it stood when the session was opened; title and metadata leave no entry, so they are the request's."""
    return SessionRow(
        tenant=row.tenant,
        session_id=row.session_id,
        head_seq=head_seq,
        head_digest=head_digest,
        agent=opened.agent,
        agent_revision=opened.revision,
        agent_follows=opened.follows,
        model=None,
        title=given.title,
        metadata=check_metadata(given.metadata),
        user=row.user,
        external_id=row.external_id,
        line=PLAIN,
        message_count=0,
        turn_count=0,
        last_turn=0,
        meta_version=0,
        dispatched_call=None,
        dispatched_count=0,
        pending_turn=None,
        running_turn=None,
        fence=0,
        lease_until=None,
        stop_requested_at=None,
        created_at=row.created_at,
        active_at=row.created_at,
        usage=NO_USAGE,
    )
