"""Messages that a client appends without a model call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX, ATTRIBUTES_BYTES_MAX
from app.entries import lossless
from app.entries.errors import Fault, HeadMismatch, Invalid
from app.entries.messages import Answer, Body, Message, Status, ToolResult, encode, with_parts
from app.entries.parts import Blob, Part, Reasoning, ToolCall
from app.entries.wire import entry_json
from app.services.media import known_media, named_media, with_media
from app.services.replays import remembered
from app.services.session_ids import session_uuid
from app.services.transcripts import Transcripts
from app.services.turns.endings import Endings
from app.services.turns.inputs import IdempotencyKey, Said, read_part
from app.services.write import Draft, Writer
from app.storage.rows import EntryFilter
from app.storage.store import Store
from app.storage.types import Append, Appended, committed


@dataclass(frozen=True, slots=True)
class AppendedEntries:
    """JSON texts of the entries as the ledger holds them, their head, and whether the key was known."""

    entries: list[str]
    head_seq: int
    replayed: bool


def attributes_text(attributes: Mapping[str, Any] | None, pointer: str) -> str | None:
    """The JSON text of an entry's attributes. Raises `Invalid` where it is too large."""
    if not attributes:
        return None
    text = lossless.dumps(attributes)
    if len(text.encode()) > ATTRIBUTES_BYTES_MAX:
        raise Invalid([Fault(pointer, "too-large", f"Attributes may have {ATTRIBUTES_BYTES_MAX} bytes.")])
    return text


class Entries:
    def __init__(self, store: Store, writer: Writer, transcripts: Transcripts, endings: Endings) -> None:
        self._store = store
        self._endings = endings
        self._writer = writer
        self._transcripts = transcripts

    async def append(
        self, tenant: UUID, session_id: str, posted: Sequence[Mapping[str, Any]], expected_head: int | None, key: IdempotencyKey | None
    ) -> AppendedEntries:
        """Appends messages in order, all or none. `posted` fits the contract's schema.

        Raises `NotFound`, `Invalid`, `SessionBusy`, `PendingAction`, `HeadMismatch`, `KeyReused`.
        """
        session = session_uuid(session_id)
        drafts = [read_draft(item, f"/entries/{at}") for at, item in enumerate(posted)]
        drafts = await self._known_media(tenant, session, drafts)
        entries, blobs = await self._writer.prepare(drafts)
        append = Append(entries=entries, blobs=blobs, expected_head=expected_head, refuse_pending=True)
        done = await self._endings.after_the_gone(tenant, session, lambda: self._append(tenant, session, append, key))
        if done.stored is not None:
            first, last = lossless.read(done.stored.body or "[1, 0]")
            kept = await self._store.ledger.entries(tenant, session, EntryFilter(line=None, after_seq=first - 1, at_seq=last), len(entries))
            return AppendedEntries(await self._transcripts.rendered(tenant, session, kept), last, True)
        whole = [None if isinstance(draft.body, str) or not entry.blobs else encode(draft.body) for draft, entry in zip(drafts, entries, strict=True)]
        texts = [entry_json(entry, body) for entry, body in zip(committed(entries, done), whole, strict=True)]
        return AppendedEntries(texts, done.last_seq, False)

    async def _append(self, tenant: UUID, session: UUID, append: Append, key: IdempotencyKey | None) -> Appended:
        """The append. Under a key the seqs are part of the kept answer, so the head that they follow from is read and expected."""
        if key is None:
            return await self._store.ledger.append(tenant, session, append)
        asked = append.expected_head
        for left in reversed(range(APPEND_TRIES_MAX)):
            row = None if asked is not None else await self._store.sessions.get(tenant, session)
            head = asked if asked is not None else (0 if row is None else row.head_seq)
            body = lossless.dumps([head + 1, head + len(append.entries)])
            kept = remembered(key, 201, body, session)
            try:
                return await self._store.ledger.append(tenant, session, replace(append, expected_head=head, idempotency=kept))
            except HeadMismatch:
                if asked is not None or not left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _known_media(self, tenant: UUID, session: UUID, drafts: list[Draft]) -> list[Draft]:
        """The drafts with type and size of each blob that they only name. Raises `Invalid` for one that the session does not hold."""
        named: dict[str, str] = {}
        for at, draft in enumerate(drafts):
            if not isinstance(draft.body, str):
                named |= named_media(draft.body.parts, draft.media, f"/entries/{at}/parts")
        known = await known_media(self._store.blobs, tenant, session, named)
        return [_with_media(draft, known) for draft in drafts] if known else drafts


def _with_media(draft: Draft, known: Mapping[str, Blob]) -> Draft:
    return draft if isinstance(draft.body, str) else replace(draft, body=with_parts(draft.body, with_media(draft.body.parts, known)))


def read_draft(item: Mapping[str, Any], pointer: str) -> Draft:
    """The draft of one posted entry. Raises `Invalid` for attributes that are too large and media that are no base64."""
    kind = item["kind"]
    said = _said(item["parts"], f"{pointer}/parts")
    body: Body
    if kind == "assistant_message":
        body = Answer(said.parts, Status(item.get("status", "completed")), item.get("model"), item.get("stop_reason"))
    elif kind == "tool_result":
        body = ToolResult(item["tool_call_id"], said.parts, item.get("name"), item.get("is_error", False))
    else:
        body = Message(said.parts)
    return Draft(
        kind,
        body,
        hidden=item.get("hidden", False),
        include_in_context=item.get("include_in_context", True),
        attributes=attributes_text(item.get("attributes"), f"{pointer}/attributes"),
        media=said.media,
    )


def _said(values: Sequence[Mapping[str, Any]], pointer: str) -> Said:
    """The parts in order: what a person may send, and what only an answer has."""
    media: dict[str, tuple[str, bytes]] = {}
    parts: list[Part] = []
    for at, value in enumerate(values):
        if value["type"] == "reasoning":
            parts.append(Reasoning(value["text"]))
        elif value["type"] == "tool_call":
            parts.append(ToolCall(value["tool_call_id"], value["name"], value["arguments"]))
        else:
            parts.append(read_part(value, f"{pointer}/{at}", media))
    return Said(tuple(parts), media)
