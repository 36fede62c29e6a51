"""The one way in: long texts and media become blobs, tokens are counted, bodies are encoded, everything is appended at once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from app.config.limits import PAYLOAD_INLINE_BYTES_MAX, TEXT_INLINE_BYTES_MAX, TOKENS_ON_LOOP_CHARS_MAX
from app.entries import lossless
from app.entries.ids import blob_digest
from app.entries.messages import Body, NewEntry, blobs_of, encode, with_parts
from app.entries.parts import Blob, Media, Opaque, Part, Reasoning, Text, ToolCall, part_to_json, with_block
from app.storage.ledger import Ledger
from app.storage.types import Append, Appended, NewBlob

TEXT_MEDIA_TYPE = "text/plain;charset=utf-8"
PART_MEDIA_TYPE = "application/vnd.context-ledger.part+json"
"""Of a blob that holds `[text, opaque]` of a part: the block that a provider put beside it is long too."""
BLOB_NAME_BYTES = 200
"""A text that is no longer than its blob's name in a payload stays where it is."""
THIS_TURN = -1
"""Stands in `Draft.turn` for the turn that the same append opens."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry as a caller means it: `body` is a message body, or the JSON text of any other kind's."""

    kind: str
    body: Body | str
    turn: int | None = None
    hidden: bool = False
    include_in_context: bool = True
    attributes: str | None = None
    at: datetime | None = None
    agent: str | None = None
    invocation: int = 0
    line: str | None = None
    media: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    """Bytes of blobs that the body names and that are not stored yet: digest → (media type, bytes)."""
    blobs: tuple[str, ...] = ()
    """Digests of stored blobs that a body of JSON text names."""


def blob_text(content: bytes) -> str:
    """The text that a text blob holds; lone surrogates come back as they went in."""
    return content.decode("utf-8", "surrogatepass")


class Writer:
    """Turns drafts into entries and appends them. `count` gives the tokens of a text."""

    def __init__(self, ledger: Ledger, count: Callable[[str], int]) -> None:
        self.ledger = ledger
        self.count = count

    async def append(self, tenant: UUID, session: UUID, drafts: Sequence[Draft], append: Append) -> Appended:
        """Appends the drafts with everything else that `append` names, in one statement. Raises what `Ledger.append` raises."""
        entries, blobs = await self.prepare(drafts)
        return await self.ledger.append(tenant, session, replace(append, entries=entries, blobs=(*append.blobs, *blobs)))

    async def prepare(self, drafts: Sequence[Draft]) -> tuple[tuple[NewEntry, ...], tuple[NewBlob, ...]]:
        """The entries and blobs of some drafts. Long texts are counted off the event loop."""
        if sum(_chars(draft) for draft in drafts) > TOKENS_ON_LOOP_CHARS_MAX:
            return await asyncio.to_thread(self._prepare, drafts)
        return self._prepare(drafts)

    def _prepare(self, drafts: Sequence[Draft]) -> tuple[tuple[NewEntry, ...], tuple[NewBlob, ...]]:
        blobs: dict[str, NewBlob] = {}
        return tuple([self._entry(draft, blobs) for draft in drafts]), tuple(blobs.values())

    def _entry(self, draft: Draft, blobs: dict[str, NewBlob]) -> NewEntry:
        if isinstance(draft.body, str):
            payload, tokens, named = draft.body, 0, draft.blobs
        else:
            tokens = sum(self.count(text) for text in spoken(draft.body.parts))
            body, payload = _fitted(draft.body, blobs)
            named = tuple(blob.digest for blob in blobs_of(body))
            for digest, (media_type, content) in draft.media.items():
                blobs[digest] = NewBlob(digest, media_type, content)
        return NewEntry(
            kind=draft.kind,
            payload=payload,
            turn=draft.turn,
            agent=draft.agent,
            invocation=draft.invocation,
            tokens=tokens,
            hidden=draft.hidden,
            include_in_context=draft.include_in_context,
            attributes=draft.attributes,
            at=draft.at,
            line=draft.line,
            blobs=named,
        )


def spoken(parts: Sequence[Part]) -> list[str]:
    """The texts of a message that a model would read; media and providers' own blocks have none."""
    found: list[str] = []
    for part in parts:
        match part:
            case Text(text) | Reasoning(text):
                found.append(text)
            case ToolCall():
                found += (part.name, part.arguments)
            case _:
                pass
    return found


def _chars(draft: Draft) -> int:
    return 0 if isinstance(draft.body, str) else sum(map(len, spoken(draft.body.parts)))


def _long_text(part: Part) -> str:
    """The text of a part that may be moved to a blob; empty where there is none."""
    match part:
        case Text(text, None) | Reasoning(text=text, blob=None):
            return text
        case ToolCall(blob=None):
            return part.arguments
        case Opaque(blob=None):
            return part.block
        case _:
            return ""


def _content(part: Part) -> tuple[bytes, str]:
    """What a blob of a part would hold, and its media type: the text, and with a long block of the provider's beside it both as JSON."""
    text = _long_text(part)
    opaque = None if isinstance(part, (Media, Opaque)) or part.blob is not None else part.opaque
    if opaque is None or len(opaque) <= BLOB_NAME_BYTES:
        return text.encode("utf-8", "surrogatepass"), TEXT_MEDIA_TYPE
    return lossless.dumps([text, opaque]).encode("utf-8", "surrogatepass"), PART_MEDIA_TYPE


def _in_blob(part: Part, blobs: dict[str, NewBlob]) -> Part:
    content, media_type = _content(part)
    blob = Blob(blob_digest(content), media_type, len(content))
    blobs[blob.digest] = NewBlob(blob.digest, media_type, content)
    if media_type == PART_MEDIA_TYPE:
        part = with_block(part, None, getattr(part, "producer", None))
    return _with_text(part, "", blob)


def _with_text(part: Part, text: str, blob: Blob | None) -> Part:
    match part:
        case Text():
            return part._replace(text=text, blob=blob)
        case Reasoning():
            return replace(part, text=text, blob=blob)
        case ToolCall():
            return replace(part, arguments=text, blob=blob)
        case Opaque():
            return replace(part, block=text, blob=blob)
        case _:
            return part


def _fitted(body: Body, blobs: dict[str, NewBlob]) -> tuple[Body, str]:
    """The body with each long text in a blob, and its largest texts too until the payload is small enough."""
    sizes = [len(_content(part)[0]) for part in body.parts]
    parts = [_in_blob(part, blobs) if size > TEXT_INLINE_BYTES_MAX else part for part, size in zip(body.parts, sizes, strict=True)]
    fitted = with_parts(body, tuple(parts))
    payload = encode(fitted)
    if len(payload) <= PAYLOAD_INLINE_BYTES_MAX // 4 or (left := len(payload.encode())) <= PAYLOAD_INLINE_BYTES_MAX:
        return fitted, payload
    for index in sorted(range(len(parts)), key=lambda at: -sizes[at]):
        if left <= PAYLOAD_INLINE_BYTES_MAX or sizes[index] <= BLOB_NAME_BYTES:
            break
        if getattr(parts[index], "blob", None) is None:
            moved = _in_blob(parts[index], blobs)
            left += _spelled_bytes(moved) - _spelled_bytes(parts[index])
            parts[index] = moved
    fitted = with_parts(body, tuple(parts))
    return fitted, encode(fitted)


def _spelled_bytes(part: Part) -> int:
    return len(lossless.dumps(part_to_json(part)).encode())


def loaded(part: Part, texts: Mapping[str, tuple[str, bytes]]) -> Part:
    """The part with its text put back from the blobs (digest → media type, bytes); media stay references."""
    if isinstance(part, Media) or part.blob is None:
        return part
    text = blob_text(texts[part.blob.digest][1])
    if part.blob.media_type != PART_MEDIA_TYPE:
        return _with_text(part, text, None)
    text, opaque = lossless.loads(text)
    return with_block(_with_text(part, text, None), opaque, getattr(part, "producer", None))
