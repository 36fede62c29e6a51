"""Content blocks of Claude Code messages to parts. A block that we do not model is kept whole as an opaque part."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.protocols import ImportedSession, Note
from app.formats.reading import mapping, store, store_url

FORMAT = "anthropic-messages"


def answer_part(block: Mapping[str, Any], model: str, source: str, session: ImportedSession) -> Part:
    """A block of an assistant message. Thinking keeps its signature in `opaque`; tool input is spelled as in the file."""
    kind, producer = block.get("type"), f"{FORMAT}/{model}"
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(block["text"])
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        signature = block.get("signature")
        if isinstance(signature, str) and signature and not signature.startswith("[REDACTED"):
            return Reasoning(block["thinking"], lossless.dumps(dict(block)), producer)
        if signature:
            session.changed.append(Note(source, "thinking.signature", "the file holds a placeholder instead of the signature"))
        return Reasoning(block["thinking"])
    if kind == "redacted_thinking":
        return Reasoning("", lossless.dumps(dict(block)), producer)
    if kind == "tool_use" and isinstance(block.get("id"), str) and isinstance(block.get("name"), str):
        beside = {key: value for key, value in block.items() if key not in ("type", "id", "name", "input")}
        return ToolCall(block["id"], block["name"], lossless.dumps(block.get("input", {})), opaque=lossless.dumps(beside) if beside else None)
    return Opaque(FORMAT, producer, lossless.dumps(dict(block)), str(kind)[:64])


def input_part(block: Any, source: str, session: ImportedSession) -> Part:
    """A block of a user message or of a tool result: text, image, document, or opaque."""
    if isinstance(block, str):
        return Text(block)
    found = mapping(block)
    kind = found.get("type")
    if kind == "text" and isinstance(found.get("text"), str):
        return Text(found["text"])
    if kind in ("image", "document"):
        media = _media(found, session)
        if media is not None:
            return media
        session.changed.append(Note(source, str(kind), "its data are no base64 or too large; the block is kept as it is"))
    return Opaque(FORMAT, FORMAT, lossless.dumps(block), str(kind)[:64])


def result_parts(content: Any, source: str, session: ImportedSession) -> tuple[Part, ...]:
    """The content of a `tool_result`: text or blocks; an absent one is empty text."""
    if isinstance(content, list):
        return tuple([input_part(block, source, session) for block in content]) or (Text(""),)
    return (input_part("" if content is None else content, source, session),)


def _media(block: Mapping[str, Any], session: ImportedSession) -> Media | None:
    found = mapping(block.get("source"))
    title = block.get("title")
    name = title if isinstance(title, str) else None
    if block["type"] == "image" and found.get("type") == "url" and isinstance(found.get("url"), str):
        return store_url(session, "image", found["url"], name)
    if found.get("type") != "base64" or not isinstance(found.get("data"), str) or not isinstance(found.get("media_type"), str):
        return None
    return store(session, "image" if block["type"] == "image" else "file", found["media_type"], found["data"], name)
