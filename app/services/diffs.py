"""Two inputs of a session compared: of two calls, of two heads, of two dialects, or any two of these."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.context.diff import diff, to_json
from app.context.report import logical_digest, source_pointers
from app.entries.errors import Fault, Invalid, NotFound
from app.entries.ids import CALL, format_id, parse_id
from app.formats.registry import FORMATS
from app.services.explain import Explain, InputQuery
from app.services.inputs import Prepared
from app.storage.rows import CallRow, SessionRow

_HEAD = re.compile(r"[0-9]{1,19}")


class Diffs:
    """Reads and compiles; writes nothing and calls no provider."""

    def __init__(self, explain: Explain) -> None:
        self._explain = explain

    async def diff(self, tenant: UUID, session_id: str, first: str | None, second: str | None) -> dict[str, Any]:
        """What leads from one input to the other, as changes of sources.

        Each is named by a call's id, a head (the seq that was the head) or a dialect (the next input in it). None: the latest call that
        was dispatched, and the next input. Raises `NotFound`, and `Invalid` with the pointer of the name that is none of these.
        """
        row = await self._explain.session(tenant, session_id)
        before, call = await self._latest(tenant, row) if first is None else await self._named(tenant, row, first, "/from")
        after, other = (await self._next(tenant, row), None) if second is None else await self._named(tenant, row, second, "/to")
        return {
            "object": "model_input_diff",
            "session_id": session_id,
            "from": _input_json(before, call),
            "to": _input_json(after, other),
            **to_json(diff(before.compiled, after.compiled), _pointers(before), _pointers(after)),
        }

    async def _named(self, tenant: UUID, row: SessionRow, name: str, pointer: str) -> tuple[Prepared, CallRow | None]:
        if name.startswith(f"{CALL}_"):
            call = await self._explain.call_row(tenant, row.session_id, parse_id(CALL, name))
            return await self._explain.derived(tenant, row, call), call
        if name in FORMATS:
            return await self._explain.next_input(tenant, row, InputQuery(dialect=name)), None
        if not _HEAD.fullmatch(name):
            known = ", ".join(FORMATS)
            raise Invalid([Fault(pointer, "wrong-form", f"Name a call by its id, a head by its seq, or one of the dialects {known}.")])
        if not 1 <= int(name) <= row.head_seq:
            raise Invalid([Fault(pointer, "out-of-range", "A session's entries are numbered from 1 to its head.")])
        return await self._explain.next_input(tenant, row, InputQuery(at_seq=int(name))), None

    async def _latest(self, tenant: UUID, row: SessionRow) -> tuple[Prepared, CallRow]:
        call = await self._explain.last_dispatched(tenant, row, row.head_seq)
        if call is None:
            raise NotFound("No call was dispatched yet to compare with; name the first input by `from`.", "no-dispatched-call")
        return await self._explain.derived(tenant, row, call), call

    async def _next(self, tenant: UUID, row: SessionRow) -> Prepared:
        return await self._explain.next_input(tenant, row, InputQuery())


def _input_json(prepared: Prepared, call: CallRow | None) -> dict[str, Any]:
    """What an input is of, and what its request says beside its sources."""
    sources, request = prepared.sources, prepared.compiled.request
    return {
        "call_id": None if call is None else format_id(CALL, call.call_id),
        "head_seq": sources.head_seq,
        "agent": {"name": sources.agent.name, "revision": sources.agent.revision},
        "dialect": prepared.target.dialect,
        "model": prepared.target.model.name,
        "target_digest": prepared.target.digest,
        "digest": prepared.digest,
        "logical_digest": logical_digest(request),
        "tool_choice": request.tool_choice,
        "allowed_tools": None if request.allowed_tools is None else list(request.allowed_tools),
    }


def _pointers(prepared: Prepared) -> Mapping[str, str | None]:
    written = prepared.written
    return source_pointers(prepared.compiled, written.pointers, written.sections, written.tools)
