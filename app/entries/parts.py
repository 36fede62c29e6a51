"""The parts of a message, in the order in which they were said, and their JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Blob:
    """Content that lies in the session's blob store. `digest` is `sha256:<hex>` of the bytes; sizes are in bytes and pixels."""

    digest: str
    media_type: str
    byte_length: int
    width: int | None = None
    height: int | None = None


class Text(NamedTuple):
    """Plain text. A long one is stored as a blob: `blob` is set, and `text` is empty until it is loaded.

    `opaque` is what the provider put with it and wants back with it (JSON text), `producer` who may get that back.
    A named tuple, because nearly every part of a window is one and a frozen dataclass takes twice as long to make.
    """

    text: str
    blob: Blob | None = None
    opaque: str | None = None
    producer: str | None = None


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a file: `blob` or `url` is set; both where the service fetched what the URL names."""

    kind: Literal["image", "file"]
    blob: Blob | None = None
    url: str | None = None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thought. `opaque` is the provider's block as received (JSON text), `producer` who may get it back."""

    text: str
    opaque: str | None = None
    producer: str | None = None
    blob: Blob | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for. `arguments` is the exact text that it wrote, valid JSON or not.

    `provider_id` is the provider's own id where ours differs; `opaque` what the provider put beside the call and wants back with
    it (JSON text), `producer` who may get that back.
    """

    tool_call_id: str
    name: str
    arguments: str
    provider_id: str | None = None
    opaque: str | None = None
    blob: Blob | None = None
    producer: str | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A provider's block that we do not model: kept as received (`block`, JSON text), sent back only where it came from."""

    format: str
    producer: str
    block: str
    preview: str = ""
    blob: Blob | None = None


Part = Text | Media | Reasoning | ToolCall | Opaque


def _blob(value: Mapping[str, Any] | None) -> Blob | None:
    if value is None:
        return None
    return Blob(value["digest"], value["media_type"], value["byte_length"], value.get("width"), value.get("height"))


def _blob_json(blob: Blob) -> dict[str, Any]:
    found: dict[str, Any] = {"digest": blob.digest, "media_type": blob.media_type, "byte_length": blob.byte_length}
    if blob.width is not None:
        found |= {"width": blob.width, "height": blob.height}
    return found


_text: Callable[[tuple[str, Blob | None, str | None, str | None]], Text] = partial(tuple.__new__, Text)
"""Makes a `Text` from its fields at once: a fifth of the time of the named constructor."""


def parts_from_json(values: list[Any]) -> tuple[Part, ...]:
    """The parts of a body's JSON list, in order. Raises as `part_from_json` does."""
    if len(values) == 1:  # without a loop, since this is what most messages are: one text that is no blob
        first = values[0]
        if first["type"] == "text" and "text" in first:
            return (_text((first["text"], None, first.get("opaque"), first.get("producer"))),)
    return tuple([part_from_json(value) for value in values])


def part_from_json(value: Mapping[str, Any]) -> Part:
    """The part that a stored JSON object spells. Raises `ValueError` for a type that this build does not know."""
    kind = value["type"]
    if kind == "text":
        return Text(value.get("text", ""), _blob(value.get("blob")), value.get("opaque"), value.get("producer"))
    if kind == "tool_call":
        known = (value.get("provider_id"), value.get("opaque"), _blob(value.get("blob")), value.get("producer"))
        return ToolCall(value["tool_call_id"], value["name"], value.get("arguments", ""), *known)
    if kind == "reasoning":
        return Reasoning(value.get("text", ""), value.get("opaque"), value.get("producer"), _blob(value.get("blob")))
    if kind == "image" or kind == "file":
        return Media(kind, _blob(value.get("blob")), value.get("url"), value.get("filename"))
    if kind == "opaque":
        return Opaque(value["format"], value["producer"], value.get("block", ""), value.get("preview", ""), _blob(value.get("blob")))
    raise ValueError("unknown part type")


def part_to_json(part: Part) -> dict[str, Any]:
    """The JSON object of a part; keys without a value are left out, and a text in a blob is spelled by its blob."""
    match part:
        case Text(text, blob, opaque, producer):
            found: dict[str, Any] = {"type": "text", "text": text} if blob is None else {"type": "text", "blob": _blob_json(blob)}
            return found if opaque is None and producer is None else found | _given(opaque=opaque, producer=producer)
        case Media(kind, blob, url, filename):
            found = {"type": kind}
            found |= {} if blob is None else {"blob": _blob_json(blob)}
            found |= {} if url is None and blob is not None else {"url": url}
            return found if filename is None else found | {"filename": filename}
        case Reasoning():
            found = {"type": "reasoning"}
            found |= {"text": part.text} if part.blob is None else {"blob": _blob_json(part.blob)}
            return found | _given(opaque=part.opaque, producer=part.producer)
        case ToolCall():
            found = {"type": "tool_call", "tool_call_id": part.tool_call_id, "name": part.name}
            found |= {"arguments": part.arguments} if part.blob is None else {"blob": _blob_json(part.blob)}
            return found | _given(provider_id=part.provider_id, opaque=part.opaque, producer=part.producer)
        case Opaque():
            found = {"type": "opaque", "format": part.format, "producer": part.producer, "preview": part.preview}
            return found | ({"block": part.block} if part.blob is None else {"blob": _blob_json(part.blob)})


def with_block(part: Part, opaque: str | None, producer: str | None) -> Part:
    """The part with another provider's block beside it, or without one; an image or a file has no place for it and stays as it is."""
    match part:
        case Text():
            return part._replace(opaque=opaque, producer=producer)
        case Reasoning() | ToolCall():
            return replace(part, opaque=opaque, producer=producer)
        case _:
            return part


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
