"""What a client asks of a turn, and the drafts that come of it."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeGuard
from uuid import UUID

from app.config.limits import BLOB_BYTES_MAX, MEDIA_FETCHES_MAX
from app.entries.errors import Fault, Invalid
from app.entries.ids import blob_digest
from app.entries.messages import Message
from app.entries.parts import Blob, Media, Part, Text
from app.entries.pictures import blob_of
from app.models.wire_rules import WireRules
from app.services.media import known_media, named_media, with_media
from app.services.write import Draft
from app.storage.blobs import Blobs

Fetch = Callable[[str], Awaitable[tuple[str, bytes] | None]]
"""From a URL to media type and bytes; None where they cannot be had."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """`route` is the method and path with its ids, `digest` sha256 of the body as it came, and of the query where there is one."""

    route: str
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of one message: stored or not, in later contexts or not, shown or not."""

    persist: bool = True
    include_in_context: bool = True
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ExtraMessage:
    """A message that comes before the input, in order."""

    kind: Literal["user_message", "agent_message"]
    parts: Sequence[Mapping[str, Any]]
    flags: Flags = Flags()


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The body of `POST /sessions/{id}/turns`, validated; `input` is text or a list of part objects as the contract spells them."""

    input: str | Sequence[Mapping[str, Any]]
    follows: str | None = None
    attributes: str | None = None
    flags: Flags = Flags()
    extra_messages: Sequence[ExtraMessage] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    on_disconnect: Literal["continue", "cancel"] = "continue"
    on_busy: Literal["reject", "interrupt"] = "reject"
    on_pending: Literal["reject", "abandon"] = "reject"
    background: bool = False
    expected_head: int | None = None
    skills: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Again:
    """The body of `retry` and `regenerate`, validated. None: the flag of the turn that is run again."""

    overrides: Mapping[str, Any] | None = None
    on_disconnect: Literal["continue", "cancel"] | None = None
    on_busy: Literal["reject", "interrupt"] = "reject"
    on_pending: Literal["reject", "abandon"] = "reject"
    background: bool = False
    expected_head: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """The parts of one message and the bytes that came with it (digest → media type, bytes)."""

    parts: tuple[Part, ...]
    media: Mapping[str, tuple[str, bytes]]
    pointer: str = ""

    def draft(self, kind: str, flags: Flags, turn: int | None, attributes: str | None = None) -> Draft:
        return Draft(kind, Message(self.parts), turn, flags.hidden, flags.include_in_context, attributes, media=self.media)


def read_parts(value: str | Sequence[Mapping[str, Any]], pointer: str) -> Said:
    """The parts that a client wrote. Raises `Invalid` for data that is not base64 or too large."""
    if isinstance(value, str):
        return Said((Text(value),), {}, pointer)
    media: dict[str, tuple[str, bytes]] = {}
    parts = [read_part(item, f"{pointer}/{index}", media) for index, item in enumerate(value)]
    return Said(tuple(parts), media, pointer)


def read_part(item: Mapping[str, Any], pointer: str, media: dict[str, tuple[str, bytes]]) -> Part:
    """A text, image or file; bytes that came with it are put into `media`. Raises `Invalid` for data that is not base64 or too large."""
    return Text(item["text"]) if item["type"] == "text" else _media(item, media, pointer)


async def with_known_media(blobs: Blobs, tenant: UUID, session: UUID, said: Sequence[Said]) -> list[Said]:
    """The messages with type and size of each blob that they only name. Raises `Invalid` for one that the session does not hold."""
    named: dict[str, str] = {}
    for one in said:
        named |= named_media(one.parts, one.media, one.pointer)
    known = await known_media(blobs, tenant, session, named)
    return [replace(one, parts=with_media(one.parts, known)) for one in said] if known else list(said)


async def with_fetched_media(fetch: Fetch, rules: WireRules, said: Sequence[Said]) -> list[Said]:
    """The messages with the bytes of each image and file by URL that the target takes by no URL, as far as they can be had.

    What was asked for by URL keeps it. One that cannot be fetched stays a URL alone, and is a loss of each call that cannot send it.
    """
    wanted = list(dict.fromkeys(part.url for one in said for part in one.parts if _fetchable(part, rules) and part.url))[:MEDIA_FETCHES_MAX]
    if not wanted:
        return list(said)
    found = dict(zip(wanted, await asyncio.gather(*map(fetch, wanted)), strict=True))
    return [_with_bytes(one, {url: content for url, content in found.items() if content is not None}) for one in said]


def _fetchable(part: Part, rules: WireRules) -> TypeGuard[Media]:
    if not isinstance(part, Media) or part.blob is not None:
        return False
    return not (rules.image_urls if part.kind == "image" else rules.file_urls)


def _with_bytes(said: Said, found: Mapping[str, tuple[str, bytes]]) -> Said:
    media, parts = dict(said.media), list[Part]()
    for part in said.parts:
        content = found.get(part.url or "") if isinstance(part, Media) and part.blob is None else None
        if content is not None and isinstance(part, Media):
            digest = blob_digest(content[1])
            media[digest] = content
            part = replace(part, blob=blob_of(digest, *content))
        parts.append(part)
    return replace(said, parts=tuple(parts), media=media)


def _media(item: Mapping[str, Any], media: dict[str, tuple[str, bytes]], pointer: str) -> Media:
    kind, filename = item["type"], item.get("filename")
    if "url" in item:
        return Media(kind, url=item["url"], filename=filename)
    if "blob" in item:
        return Media(kind, Blob(item["blob"], item.get("media_type", ""), 0), filename=filename)
    try:
        content = base64.b64decode(item["data"], validate=True)
    except (binascii.Error, ValueError):
        raise Invalid([Fault(f"{pointer}/data", "invalid-base64", "`data` has to be standard base64.")]) from None
    if len(content) > BLOB_BYTES_MAX:
        raise Invalid([Fault(f"{pointer}/data", "too-large", f"A blob may hold {BLOB_BYTES_MAX} bytes.")])
    digest = blob_digest(content)
    media[digest] = (item["media_type"], content)
    return Media(kind, blob_of(digest, item["media_type"], content), filename=filename)
