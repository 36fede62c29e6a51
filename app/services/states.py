"""The state of a session: by scope, checked against the agent's schema, whole in each entry that changes it."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX, STATE_BYTES_MAX
from app.context.schemas import escaped
from app.context.sources import AgentRevision
from app.entries import lossless
from app.entries.errors import Fault, HeadMismatch, Invalid, NotFound
from app.entries.ids import SESSION, format_id, parse_id
from app.entries.messages import NewEntry
from app.entries.settings import StateChanged
from app.services.bounded_schemas import SchemaChecker
from app.services.revisions import Revisions
from app.services.schema_faults import schema_faults
from app.storage.rows import EntryFilter, SessionRow
from app.storage.store import Store
from app.storage.types import Append

SCOPE_WITHOUT_SCHEMA = "session"


class States:
    def __init__(self, store: Store, revisions: Revisions) -> None:
        self._store = store
        self._revisions = revisions

    async def view(self, tenant: UUID, session_id: str, at_seq: int | None = None) -> dict[str, Any]:
        """The State resource, now or as it was when `at_seq` was the head. Raises `NotFound`."""
        row = await self._row(tenant, session_id)
        seq, state = await self._current(tenant, row.session_id, at_seq)
        return state_json(row, row.head_seq if at_seq is None else min(at_seq, row.head_seq), seq, state)

    async def patch(self, tenant: UUID, session_id: str, patch: Mapping[str, Any], expected_head: int | None) -> dict[str, Any]:
        """Merges a patch (RFC 7396) into the state and appends the whole of it, also beside a running turn.

        Concurrent patches each see the other's result: the append expects the head that was merged with, and is tried again
        where only the head moved. A patch that changes nothing appends nothing. Raises `NotFound`, `Invalid`, `HeadMismatch`.
        """
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = await self._row(tenant, session_id)
            if expected_head is not None and row.head_seq != expected_head:
                raise HeadMismatch(row.head_seq)
            seq, state = await self._current(tenant, row.session_id, row.head_seq)
            merged = merge_patch(state, patch)
            await check_state(merged, await self._revisions.get(tenant, row.agent or "", row.agent_revision or 0))
            if lossless.dumps(merged) == lossless.dumps(state):
                return state_json(row, row.head_seq, seq, state)
            entry = NewEntry(StateChanged.kind, StateChanged(merged).encode())
            try:
                done = await self._store.ledger.append(tenant, row.session_id, Append(entries=(entry,), beside=True, expected_head=row.head_seq))
            except HeadMismatch:
                if expected_head is not None or not left:
                    raise
                continue
            return state_json(row, done.last_seq, done.last_seq, merged)
        raise AssertionError("the last try returns or raises")

    async def _row(self, tenant: UUID, session_id: str) -> SessionRow:
        session = parse_id(SESSION, session_id)
        row = None if session is None else await self._store.sessions.get(tenant, session)
        if row is None:
            raise NotFound("There is no such session.")
        return row

    async def _current(self, tenant: UUID, session: UUID, at_seq: int | None) -> tuple[int | None, dict[str, Any]]:
        chosen = EntryFilter(line=None, kinds=(StateChanged.kind,), at_seq=at_seq, descending=True)
        found = await self._store.ledger.entries(tenant, session, chosen, 1)
        if not found or found[0].payload is None:
            return None, {}
        return found[0].seq, dict(StateChanged.decode(found[0].payload).state)


def state_json(row: SessionRow, head_seq: int, seq: int | None, state: Mapping[str, Any]) -> dict[str, Any]:
    """The State resource; `seq` is the entry that holds it."""
    session_id = format_id(SESSION, row.session_id)
    return {"object": "state", "session_id": session_id, "seq": seq, "head_seq": head_seq, "state": dict(state)}


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396: objects merge, null removes, anything else replaces. Keys that stay keep their place."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


async def check_state(state: Mapping[str, Any], agent: AgentRevision, at: str = "") -> None:
    """Raises `Invalid` unless the state fits the agent's schema, scope by scope, and is small enough. `at` is where it stood in the body.

    A schema is somebody's own, and is checked beside the event loop and within a time.
    """
    if agent.state_schema is None:
        _check_state(state, agent, at)
    else:
        await asyncio.to_thread(_check_state, state, agent, at)


def _check_state(state: Mapping[str, Any], agent: AgentRevision, at: str) -> None:
    schemas: Mapping[str, Any] = agent.state_schema or {SCOPE_WITHOUT_SCHEMA: {}}
    faults: list[Fault] = []
    for scope, value in state.items():
        place = f"{at}/{escaped(scope)}"
        if scope not in schemas:
            faults.append(Fault(place, "unknown-scope", f"The agent's state has {', '.join(schemas)}."))
        elif not isinstance(value, Mapping):
            faults.append(Fault(place, "wrong-type", "A scope of the state is an object."))
        else:
            found = schema_faults(SchemaChecker(schemas[scope]), value)
            faults += [Fault(place + fault.pointer, fault.code, fault.detail) for fault in found]
    if not faults and len(lossless.dumps(state).encode()) > STATE_BYTES_MAX:
        faults.append(Fault(at, "too-large", f"The state may have {STATE_BYTES_MAX} bytes."))
    if faults:
        raise Invalid(faults)
