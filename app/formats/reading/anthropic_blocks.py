"""Content blocks of the Messages API to parts, as requests and the session files of clients hold them.

A block that we do not model is kept whole as an opaque part. Where the cache breaks is decided anew for each call, so
`cache_control` is not kept.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal

from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.protocols import ImportedSession, Note
from app.formats.reading import mapping, store, store_url
from app.formats.reading.entries import spare

DIALECT = "anthropic-messages"
STOP_REASONS = {
    "end_turn": "finished",
    "stop_sequence": "finished",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "refused",
    "pause_turn": "paused",
    "model_context_window_exceeded": "window_full",
}
"""Wire-format notes 0.5."""

_TEXT = frozenset({"type", "text", "cache_control"})
_CALL = frozenset({"type", "id", "name", "input", "cache_control"})
_MEDIA = frozenset({"type", "source", "title", "cache_control"})


def answer_part(value: Any, producer: str, place: str, session: ImportedSession) -> Part:
    """A block of an assistant message. Thinking with a signature and text with citations keep the block in `opaque`; input is spelled as it is."""
    if isinstance(value, str):
        return Text(value)
    block = mapping(value)
    kind = block.get("type")
    _uncached(block, place, session)
    if kind == "text" and isinstance(block.get("text"), str):
        if not spare(block, _TEXT):
            return Text(block["text"])
        whole = {key: item for key, item in block.items() if key != "cache_control"}
        return Text(block["text"], None, lossless.dumps(whole), producer)
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        signature = block.get("signature")
        if isinstance(signature, str) and signature and not signature.startswith("[REDACTED"):
            return Reasoning(block["thinking"], lossless.dumps(block), producer)
        if signature:
            session.changed.append(Note(place, "thinking.signature", "the file holds a placeholder instead of the signature"))
        return Reasoning(block["thinking"])
    if kind == "redacted_thinking":
        return Reasoning("", lossless.dumps(block), producer)
    if kind == "tool_use" and isinstance(block.get("id"), str) and block["id"] and isinstance(block.get("name"), str):
        beside = spare(block, _CALL)
        kept = (lossless.dumps(beside), producer) if beside else (None, None)
        return ToolCall(block["id"], block["name"], lossless.dumps(block.get("input", {})), opaque=kept[0], producer=kept[1])
    return _opaque(value, producer, place, session)


def input_part(block: Any, producer: str, place: str, session: ImportedSession) -> Part:
    """A block of a user message or of a tool result: text, image, document, or opaque."""
    if isinstance(block, str):
        return Text(block)
    found = mapping(block)
    _uncached(found, place, session)
    if found.get("type") == "text" and isinstance(found.get("text"), str):
        _change_spare(found, _TEXT, place, session)
        return Text(found["text"])
    media = _media(found, session) if found.get("type") in ("image", "document") else None
    if media is not None:
        _change_spare(found, _MEDIA, place, session)
        return media
    return _opaque(block, producer, place, session)


def result_parts(content: Any, producer: str, place: str, session: ImportedSession) -> tuple[Part, ...]:
    """The content of a `tool_result`: text or blocks; an absent one is empty text."""
    if isinstance(content, list):
        return tuple([input_part(block, producer, place, session) for block in content]) or (Text(""),)
    return (input_part("" if content is None else content, producer, place, session),)


def _opaque(block: Any, producer: str, place: str, session: ImportedSession) -> Opaque:
    kind = str(mapping(block).get("type"))[:64]
    session.changed.append(Note(place, kind, "a block that is not modelled; it is kept as it is, for nobody but who made it"))
    return Opaque(DIALECT, producer, lossless.dumps(block), kind)


def _uncached(block: Mapping[str, Any], place: str, session: ImportedSession) -> None:
    if block.get("cache_control") is not None:
        session.changed.append(Note(place, "cache_control", "not kept: where the cache breaks is decided for each call"))


def _change_spare(block: Mapping[str, Any], known: frozenset[str], place: str, session: ImportedSession) -> None:
    session.changed.extend([Note(place, str(key)[:64], "a field of a block that is not kept") for key in spare(block, known)])


def _media(block: Mapping[str, Any], session: ImportedSession) -> Media | None:
    """None for a source that is not in the file, is no base64, or is too large: the block is then kept as it is."""
    found = mapping(block.get("source"))
    title = block.get("title")
    name = title if isinstance(title, str) else None
    kind: Literal["image", "file"] = "image" if block["type"] == "image" else "file"
    if found.get("type") == "url" and isinstance(found.get("url"), str):
        return store_url(session, kind, found["url"], name)
    data, media_type = found.get("data"), found.get("media_type")
    if not isinstance(data, str) or not isinstance(media_type, str):
        return None
    if found.get("type") == "text":
        return store(session, kind, media_type, b64encode(data.encode("utf-8", "surrogatepass")).decode(), name)
    return store(session, kind, media_type, data, name) if found.get("type") == "base64" else None
