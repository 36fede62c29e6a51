"""Why an entry was in, changed or out of a call: the next one, one by its id, or one by the answer that it became."""

from typing import Any
from uuid import UUID

from app.context.explanation import explained
from app.entries.errors import Fault, Invalid, NotFound
from app.entries.ids import CALL, format_id, parse_id
from app.entries.messages import Answer, Entry, decode
from app.services.explain import Explain, InputQuery
from app.services.input_views import losses_of
from app.storage.rows import CallRow, EntryFilter, SessionRow
from app.storage.store import Store


class Explanations:
    """Reads and compiles; writes nothing and calls no provider."""

    def __init__(self, store: Store, explain: Explain) -> None:
        self._store = store
        self._explain = explain

    async def explain(self, tenant: UUID, session_id: str, seq: int, call_id: str | None, answer_seq: int | None) -> dict[str, Any]:
        """The explanation resource. `call_id` and `answer_seq` None: of the next call. Raises `NotFound` and `Invalid`."""
        if call_id is not None and answer_seq is not None:
            raise Invalid([Fault("/answer_seq", "exclusive", "Name the call by `call` or by `answer_seq`, not by both.")])
        row = await self._explain.session(tenant, session_id)
        entry = await self._entry(tenant, row, seq)
        call = await self._call(tenant, row, call_id, answer_seq)
        if call is None:
            prepared = await self._explain.next_input(tenant, row, InputQuery())
        else:
            prepared = await self._explain.derived(tenant, row, call)
        return {
            "object": "explanation",
            "session_id": session_id,
            "seq": seq,
            "kind": entry.kind,
            "call_id": None if call is None else format_id(CALL, call.call_id),
            "head_seq": prepared.sources.head_seq,
            **explained(prepared.compiled, prepared.written.pointers, entry, prepared.window.line),
            "losses": [loss for loss in losses_of(prepared) if loss.get("seq") == seq],
        }

    async def _call(self, tenant: UUID, row: SessionRow, call_id: str | None, answer_seq: int | None) -> CallRow | None:
        if answer_seq is not None:
            entry = await self._entry(tenant, row, answer_seq)
            body = decode(entry.kind, entry.payload) if entry.message_index is not None and entry.payload is not None else None
            if not isinstance(body, Answer) or body.call_id is None:
                raise Invalid([Fault("/answer_seq", "no-answer", "This entry is not the answer of a call; name one of kind `assistant_message`.")])
            call_id = body.call_id
        return None if call_id is None else await self._explain.call_row(tenant, row.session_id, parse_id(CALL, call_id))

    async def _entry(self, tenant: UUID, row: SessionRow, seq: int) -> Entry:
        found = await self._store.ledger.entries(tenant, row.session_id, EntryFilter(after_seq=seq - 1, before_seq=seq + 1), 1)
        if not found:
            raise NotFound("There is no such entry in this session.")
        return found[0]
