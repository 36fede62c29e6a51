"""The state of a session: by scope, checked against the agent's schema, whole in each entry that changes it.

The scope `user` is shared: all sessions of a user hold one copy in a row of its own, which is written together with the entry of the
session that changed it. Another session of the user records what it finds there as an observation, before its next call.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX, STATE_BYTES_MAX, USER_STATE_BYTES_MAX
from app.context.agents.states import USER_SCOPE
from app.context.schemas import escaped
from app.context.sources import AgentRevision
from app.context.state_patch import changed_pointers, merge_patch, same
from app.entries import lossless
from app.entries.errors import Fault, HeadMismatch, Invalid, NotFound
from app.entries.ids import SESSION, format_id
from app.entries.messages import NewEntry
from app.entries.settings import StateChanged
from app.services.bounded_schemas import SchemaChecker
from app.services.revisions import Revisions
from app.services.schema_faults import schema_faults
from app.services.session_ids import UNKNOWN_SESSION, session_row
from app.storage.rows import SessionRow
from app.storage.states import SharedState, StateRow
from app.storage.store import Store
from app.storage.types import Append, UserStateWrite

SCOPE_WITHOUT_SCHEMA = "session"
_STORED_DEPTH_MAX = 80
_NO_USER = "This session has no user: open one with `user` to keep state that its sessions share."


@dataclass(frozen=True, slots=True)
class Held:
    """The state of a session: as it last recorded it, by the entry `seq`, and as it is now with what its user's sessions share."""

    seq: int | None
    recorded: Mapping[str, Any]
    now: Mapping[str, Any]
    user: str | None
    shared_version: int

    @property
    def observation(self) -> StateChanged | None:
        """What the session has to record before it works with the state as it is now; None where that is what it recorded."""
        if self.now is self.recorded:
            return None
        return StateChanged(self.now, "observation", changed_pointers(self.recorded, self.now))


@dataclass(frozen=True, slots=True)
class OpeningState:
    """The first state of a session: its entry, and what it gives to the user's other sessions or has of them; None for none."""

    entry: StateChanged | None = None
    write: UserStateWrite | None = None


class States:
    def __init__(self, store: Store, revisions: Revisions) -> None:
        self._store = store
        self._revisions = revisions

    async def view(self, tenant: UUID, session_id: str, at_seq: int | None = None) -> tuple[dict[str, Any], str]:
        """The State resource and its entity tag, now or as it was recorded when `at_seq` was the head. Raises `NotFound`.

        The tag is the head of now, since an erasure reaches earlier states too; where the user's other sessions moved on since this one recorded
        them, their version stands behind it.
        """
        row = await session_row(self._store.sessions, tenant, session_id)
        agent = await self._agent(tenant, row) if at_seq is None and row.agent is not None else None
        held = await self._held(tenant, row.session_id, agent, row.head_seq if at_seq is None else at_seq)
        head_seq = row.head_seq if at_seq is None else min(at_seq, row.head_seq)
        tag = f'"{row.head_seq}"' if held.now is held.recorded else f'"{row.head_seq}.{held.shared_version}"'
        return state_json(row, head_seq, held.seq, held.now), tag

    async def patch(self, tenant: UUID, session_id: str, patch: Mapping[str, Any], expected_head: int | None) -> dict[str, Any]:
        """Merges a patch (RFC 7396) into the state and appends the whole of it, also beside a running turn.

        Concurrent patches each see the other's result, in this session and in the user's others: the append expects the head and the shared
        version that were merged with, and is tried again where only they moved. A patch that changes nothing appends nothing. Raises
        `NotFound`, `Invalid`, `HeadMismatch`.
        """
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = await session_row(self._store.sessions, tenant, session_id)
            if expected_head is not None and row.head_seq != expected_head:
                raise HeadMismatch(row.head_seq)
            agent = await self._agent(tenant, row)
            held = await self._held(tenant, row.session_id, agent, row.head_seq)
            merged = merge_patch(held.now, patch)
            if patch.get(USER_SCOPE) is not None and held.user is None and shares(agent):
                raise Invalid([Fault(f"/{USER_SCOPE}", "no-user", _NO_USER)])
            await check_state({scope: merged[scope] for scope in patch if scope in merged}, agent, whole=merged)
            if same(merged, held.now):
                return state_json(row, row.head_seq, held.seq, held.now)
            mutation = StateChanged(merged, "mutation", changed_pointers(held.now, merged))
            bodies = [mutation] if held.observation is None else [held.observation, mutation]
            append = Append(
                entries=tuple([NewEntry(body.kind, body.encode()) for body in bodies]),
                beside=True,
                expected_head=row.head_seq,
                user_state=_write(held.now, merged, held.shared_version) if shares(agent) and held.user is not None else None,
            )
            try:
                done = await self._store.ledger.append(tenant, row.session_id, append)
            except HeadMismatch:
                if not left:
                    raise
                continue
            return state_json(row, done.last_seq, done.last_seq, merged)
        raise AssertionError("the last try returns or raises")

    async def observation(self, tenant: UUID, session: UUID, agent: AgentRevision) -> StateChanged | None:
        """What the session has to record before its next call (`Held.observation`); asks the database only where the agent has the scope."""
        return (await self._held(tenant, session, agent)).observation if shares(agent) else None

    async def opening(self, tenant: UUID, user: str | None, given: Mapping[str, Any], agent: AgentRevision) -> OpeningState:
        """The first state of a session of `user`: what is given, key by key over what the user's sessions share already.

        Raises `Invalid` where it does not fit, with pointers below `/state`.
        """
        gives = USER_SCOPE in given
        if gives and user is None and shares(agent):
            raise Invalid([Fault(f"/state/{USER_SCOPE}", "no-user", "Give `user` as well: this scope is shared by the sessions of one user.")])
        shared = await self._store.states.shared(tenant, user) if user is not None and shares(agent) else SharedState()
        known, own = _read(shared), given.get(USER_SCOPE)
        merged = {**known, **own} if isinstance(own, Mapping) else own if gives else known
        state = {**given, USER_SCOPE: merged} if gives or merged else dict(given)
        await check_state({scope: state[scope] for scope in given}, agent, "/state", whole=state)
        if not state:
            return OpeningState()
        entry = StateChanged(state, "direct" if given else "observation", changed_pointers({}, state))
        seen = UserStateWrite(shared.version) if known else None
        return OpeningState(entry, _write({USER_SCOPE: known}, state, shared.version) or seen)

    async def _agent(self, tenant: UUID, row: SessionRow) -> AgentRevision:
        return await self._revisions.get(tenant, row.agent or "", row.agent_revision or 0)

    async def _held(self, tenant: UUID, session: UUID, agent: AgentRevision | None, at_seq: int | None = None) -> Held:
        """The state at a head; `agent` None: as it was recorded."""
        row = await self._store.states.read(tenant, session, StateChanged.kind, at_seq)
        if row is None:
            raise NotFound(UNKNOWN_SESSION)
        return _held(row, agent)


def shares(agent: AgentRevision) -> bool:
    """Whether the agent's state has the scope that all sessions of a user share."""
    return USER_SCOPE in (agent.state_schema or {})


def _held(row: StateRow, agent: AgentRevision | None) -> Held:
    """Nobody wrote a shared state, as after an import: what the session recorded stands."""
    recorded = {} if row.payload is None else dict(StateChanged.decode(row.payload).state)
    now = recorded
    if agent is not None and shares(agent) and row.shared.version:
        shared = _read(row.shared)
        if not same(recorded.get(USER_SCOPE, {}), shared):
            now = {scope: value for scope, value in recorded.items() if scope != USER_SCOPE} | ({USER_SCOPE: shared} if shared else {})
    return Held(row.seq, recorded, now, row.user, row.shared.version)


def _read(shared: SharedState) -> dict[str, Any]:
    return {} if shared.state is None else dict(lossless.loads(shared.state, _STORED_DEPTH_MAX))


def _write(before: Mapping[str, Any], after: Mapping[str, Any], version: int) -> UserStateWrite | None:
    """The change of the shared scope; None where it stays as it is. A scope that was taken away is shared as an empty one."""
    shared = after.get(USER_SCOPE, {})
    return None if same(before.get(USER_SCOPE, {}), shared) else UserStateWrite(version, lossless.dumps(shared))


def state_json(row: SessionRow, head_seq: int, seq: int | None, state: Mapping[str, Any]) -> dict[str, Any]:
    """The State resource; `seq` is the session's entry that last recorded it."""
    session_id = format_id(SESSION, row.session_id)
    return {"object": "state", "session_id": session_id, "seq": seq, "head_seq": head_seq, "state": dict(state)}


async def check_state(state: Mapping[str, Any], agent: AgentRevision, at: str = "", whole: Mapping[str, Any] | None = None) -> None:
    """Raises `Invalid` unless the scopes of `state` fit the agent's schemas, and `whole`, the state with them, is small enough.

    `at` is where it stood in the body. A schema is somebody's own, and is checked beside the event loop and within a time.
    """
    if agent.state_schema is None:
        _check_state(state, agent, at, state if whole is None else whole)
    else:
        await asyncio.to_thread(_check_state, state, agent, at, state if whole is None else whole)


def _check_state(state: Mapping[str, Any], agent: AgentRevision, at: str, whole: Mapping[str, Any]) -> None:
    schemas: Mapping[str, Any] = agent.state_schema or {SCOPE_WITHOUT_SCHEMA: {}}
    faults: list[Fault] = []
    for scope, value in state.items():
        place = f"{at}/{escaped(scope)}"
        if scope not in schemas:
            faults.append(Fault(place, "unknown-scope", f"The agent's state has {', '.join(schemas)}."))
        elif not isinstance(value, Mapping):
            faults.append(Fault(place, "wrong-type", "A scope of the state is an object."))
        elif scope == USER_SCOPE and _bytes(value) > USER_STATE_BYTES_MAX:
            faults.append(Fault(place, "too-large", f"The state that a user's sessions share may have {USER_STATE_BYTES_MAX} bytes."))
        else:
            found = schema_faults(SchemaChecker(schemas[scope]), value)
            faults += [Fault(place + fault.pointer, fault.code, fault.detail) for fault in found]
    if not faults and _bytes(whole) > STATE_BYTES_MAX:
        faults.append(Fault(at, "too-large", f"The state may have {STATE_BYTES_MAX} bytes."))
    if faults:
        raise Invalid(faults)


def _bytes(value: Mapping[str, Any]) -> int:
    return len(lossless.dumps(value).encode())
