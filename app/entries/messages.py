"""Bodies of message entries and their JSON text, and the entry itself.

Entries, messages and answers are named tuples: a window has hundreds of each, and a frozen dataclass takes two to five times
as long to make.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import orjson

from app.entries import lossless
from app.entries.parts import Blob, Media, Part, part_to_json, parts_from_json


class Status(StrEnum):
    """How an answer ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class Message(NamedTuple):
    """Body of `user_message`, `agent_message` and `system_message`."""

    parts: tuple[Part, ...]


class Answer(NamedTuple):
    """Body of `assistant_message`. `stop_reason` is neutral (`finished`, `tool_calls`, `length`, `refused`, …) or None where it never came."""

    parts: tuple[Part, ...]
    status: Status = Status.COMPLETED
    model: str | None = None
    stop_reason: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Body of `tool_result`."""

    tool_call_id: str
    parts: tuple[Part, ...]
    name: str | None = None
    is_error: bool = False


Body = Message | Answer | ToolResult


class Entry(NamedTuple):
    """One immutable fact of a session's ledger.

    `turn` is the Turn's number or None; `message_index` counts message entries from 0 and is None for others; `payload` is
    the body's JSON text, None once erased; `attributes` JSON text or None; `at` the original time of an import; `blobs`
    the digests that the payload names.
    """

    seq: int
    kind: str
    version: int
    turn: int | None
    message_index: int | None
    agent: str | None
    invocation: int
    tokens: int
    hidden: bool
    include_in_context: bool
    attributes: str | None
    payload: str | None
    payload_digest: bytes
    digest: bytes
    at: datetime | None
    recorded_at: datetime
    blobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry that is about to be appended; the database allots seq, message_index, salt and digests."""

    kind: str
    payload: str
    turn: int | None = None
    agent: str | None = None
    invocation: int = 0
    tokens: int = 0
    hidden: bool = False
    include_in_context: bool = True
    attributes: str | None = None
    at: datetime | None = None
    line: str | None = None
    blobs: tuple[str, ...] = ()


_STATUS: Mapping[str, Status] = MappingProxyType({status.value: status for status in Status})

_message: Callable[[tuple[tuple[Part, ...]]], Message] = partial(tuple.__new__, Message)
_answer: Callable[[tuple[tuple[Part, ...], Status, str | None, str | None, str | None]], Answer] = partial(tuple.__new__, Answer)
"""Make a body from all of its fields at once: a third of the time of the named constructors."""


def decode(kind: str, payload: str) -> Body:
    """The body of a message entry. Raises `ValueError` or `KeyError` for a payload that is not of that kind."""
    try:
        value = orjson.loads(payload)
    except ValueError:  # lone surrogates
        value = lossless.read(payload)
    parts = parts_from_json(value["parts"])
    if kind == "assistant_message":
        get = value.get
        return _answer((parts, _STATUS[value["status"]], get("model"), get("stop_reason"), get("call_id")))
    if kind == "tool_result":
        return ToolResult(value["tool_call_id"], parts, value.get("name"), value.get("is_error", False))
    return _message((parts,))


def encode(body: Body) -> str:
    """The JSON text under which a body is stored."""
    parts = [part_to_json(part) for part in body.parts]
    match body:
        case Answer():
            return lossless.dumps(
                {"parts": parts, "status": str(body.status), "model": body.model, "stop_reason": body.stop_reason, "call_id": body.call_id}
            )
        case ToolResult():
            return lossless.dumps({"tool_call_id": body.tool_call_id, "name": body.name, "parts": parts, "is_error": body.is_error})
        case Message():
            return lossless.dumps({"parts": parts})


def with_parts(body: Body, parts: tuple[Part, ...]) -> Body:
    """The same body with other parts."""
    return replace(body, parts=parts) if isinstance(body, ToolResult) else body._replace(parts=parts)


def blobs_of(body: Body) -> tuple[Blob, ...]:
    """The blobs that a body's parts name, in order."""
    return tuple(blob for part in body.parts if (blob := getattr(part, "blob", None)) is not None)


def text_blobs(body: Body) -> tuple[Blob, ...]:
    """The blobs that hold a body's long texts; those of images and files are not among them."""
    return tuple(blob for part in body.parts if not isinstance(part, Media) and (blob := part.blob) is not None)
