"""Export: a session as bytes, page by page, as of its head when the export began."""

from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from app.config.limits import WINDOW_PAGE_ENTRIES
from app.context.draft import History, NeutralMessage, NeutralRequest
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.entries.kinds import KINDS
from app.entries.messages import Answer, Entry, ToolResult, decode, with_parts
from app.entries.parts import Media
from app.formats.registry import FORMATS
from app.models.resolve import Limits, ModelChoice, Target, resolve
from app.services.session_ids import session_row
from app.services.transfers.archive import archived
from app.services.write import loaded
from app.storage.rows import EntryFilter, SessionRow
from app.storage.store import Store

PAGE_ENTRIES = min(100, WINDOW_PAGE_ENTRIES)
"""Entries in memory at once, with their blobs."""

OPENAI_CHAT = "openai-chat"
_ROLES: Mapping[str, Any] = MappingProxyType(
    {"user_message": "user", "agent_message": "agent", "assistant_message": "assistant", "tool_result": "tool"}
)


class Exports:
    """Writes sessions. Holds no connection between two pages."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def export(self, tenant: UUID, session_id: str, format: str) -> AsyncIterator[bytes]:
        """The session in that format. Raises `NotFound` and `Invalid` before the first piece.

        `jsonl`: everything, to be imported again. `openai-chat`: one document `{"messages": […]}` with the messages that a person
        saw on the current line; what the format has no place for (reasoning, for one) is left out.
        """
        writer = _WRITERS.get(format)
        if writer is None:
            raise Invalid([Fault("/format", "not-allowed", f"Export formats are {', '.join(EXPORT_FORMATS)}.")])
        row = await session_row(self._store.sessions, tenant, session_id)
        async for piece in writer(self._store, row):
            yield piece


async def _openai_chat(store: Store, row: SessionRow) -> AsyncIterator[bytes]:
    """The messages as the dialect's own writer spells them, a page at a time."""
    target = resolve(ModelChoice("export", "export", {}), Limits(1, 1, "explicit"), OPENAI_CHAT, FORMATS[OPENAI_CHAT].rules_for("export"))
    chosen = EntryFilter(line=row.line, families=("m",), hidden=False, at_seq=row.head_seq)
    yield b'{"messages":['
    comma = b""
    async for page in store.ledger.pages(row.tenant, row.session_id, chosen, PAGE_ENTRIES):
        for message in await _messages(store, row, page, target):
            yield comma + lossless.dumps(message).encode()
            comma = b","
    yield b"]}\n"


async def _messages(store: Store, row: SessionRow, page: list[Entry], target: Target) -> list[dict[str, Any]]:
    entries = [entry for entry in page if entry.kind in _ROLES and KINDS[entry.kind].shown and entry.payload is not None]
    blobs = await store.blobs.load(row.tenant, row.session_id, [digest for entry in entries for digest in entry.blobs])
    neutral = tuple([_neutral(entry, blobs) for entry in entries])
    media = {digest: content for digest, (_, content) in blobs.items()}
    body = FORMATS[OPENAI_CHAT].write_request(NeutralRequest((), neutral, (), None, None, target), media).body
    found: list[dict[str, Any]] = lossless.read(body.decode())["messages"]
    return found


def _neutral(entry: Entry, blobs: Mapping[str, tuple[str, bytes]]) -> NeutralMessage:
    body = decode(entry.kind, entry.payload or "")
    parts = tuple([part if isinstance(part, Media) else loaded(part, blobs) for part in with_parts(body, body.parts).parts])
    origin = History(entry.seq, entry.message_index or 0)
    if isinstance(body, ToolResult):
        return NeutralMessage("tool", parts, origin, body.tool_call_id, body.name, body.is_error)
    return NeutralMessage("assistant" if isinstance(body, Answer) else _ROLES[entry.kind], parts, origin)


Writer = Callable[[Store, SessionRow], AsyncIterator[bytes]]
_WRITERS: Mapping[str, Writer] = MappingProxyType({"jsonl": archived, OPENAI_CHAT: _openai_chat})
EXPORT_FORMATS: tuple[str, ...] = tuple(_WRITERS)
