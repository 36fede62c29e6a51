"""Content of pi messages to parts. Blocks keep what the provider wants back in the provider's own form, as far as pi kept it."""

from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.entries.producers import imported_producer
from app.formats.protocols import ImportedSession, Note
from app.formats.reading import UNKNOWN_MEDIA_TYPE, mapping, native, store, word
from app.formats.reading.entries import spare

_DIALECTS = {
    "anthropic-messages": "anthropic-messages",
    "openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "mistral-conversations": "openai-chat",
    "google-generative-ai": "gemini",
    "google-gemini-cli": "gemini",
    "google-vertex": "gemini",
    "bedrock-converse-stream": "bedrock-converse",
}
"""What pi calls the APIs that it speaks → dialect. Another one is named as it is."""
_REASONING_FIELDS = frozenset({"reasoning", "reasoning_content", "reasoning_text"})
"""Of Chat Completions pi keeps the name of the field as a thought's signature: that is no block of anybody's."""

_SAID = frozenset({"type", "text"})
_TEXT = _SAID | {"textSignature"}
_THINKING = frozenset({"type", "thinking", "thinkingSignature", "redacted"})
_CALL = frozenset({"type", "id", "name", "arguments", "thoughtSignature", "partialJson"})


class Speaker:
    """Who gave an answer, for the parts of it."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.model = word(message, "model")
        api = word(message, "api") or "unknown"
        self.dialect = _DIALECTS.get(api, api)
        self.producer = imported_producer(self.dialect, self.model)

    def part(self, block: Any, place: str, session: ImportedSession) -> Part:
        """A block of an assistant's message."""
        found = mapping(block)
        kind = found.get("type")
        if isinstance(block, str):
            return Text(block)
        if kind == "text" and isinstance(found.get("text"), str):
            _change_spare(found, _TEXT, place, session)
            mark = word(found, "textSignature")
            if mark is None:
                return Text(found["text"])
            return Text(found["text"], None, native.said(self.dialect, mark) or lossless.dumps(found), self.producer)
        if kind == "thinking" and isinstance(found.get("thinking"), str):
            _change_spare(found, _THINKING, place, session)
            return self._thought(found)
        tool_call_id = word(found, "id")
        if kind == "toolCall" and tool_call_id is not None and isinstance(found.get("name"), str):
            _change_spare(found, _CALL, place, session)
            return self._call(found, tool_call_id)
        session.changed.append(Note(place, str(kind)[:64], "a block that is not modelled; it is kept as it is, for nobody but who made it"))
        return Opaque(self.dialect, self.producer, lossless.dumps(block), str(kind)[:64])

    def _thought(self, block: Mapping[str, Any]) -> Reasoning:
        text, signature = block["thinking"], word(block, "thinkingSignature")
        if signature is None or (self.dialect == "openai-chat" and signature in _REASONING_FIELDS):
            return Reasoning(text)
        if block.get("redacted") is True:
            return Reasoning("", native.redacted(self.dialect, signature) or lossless.dumps(block), self.producer)
        return Reasoning(text, native.thinking(self.dialect, text, signature) or lossless.dumps(block), self.producer)

    def _call(self, block: Mapping[str, Any], tool_call_id: str) -> ToolCall:
        """What the model wrote, where pi still has the text of a call that was cut short; else the object as it is spelled."""
        written = block.get("partialJson")
        arguments = written if isinstance(written, str) else lossless.dumps(block.get("arguments", {}))
        mark = word(block, "thoughtSignature")
        if mark is None:
            return ToolCall(tool_call_id, block["name"], arguments)
        return ToolCall(tool_call_id, block["name"], arguments, opaque=lossless.dumps({"thoughtSignature": mark}), producer=self.producer)


def input_parts(content: Any, place: str, session: ImportedSession) -> tuple[Part, ...]:
    """The content of what was said to the model: text or blocks; an absent one is empty text."""
    if not isinstance(content, list):
        return (Text(content if isinstance(content, str) else "" if content is None else lossless.dumps(content)),)
    return tuple([_input_part(block, place, session) for block in content]) or (Text(""),)


def _input_part(block: Any, place: str, session: ImportedSession) -> Part:
    if isinstance(block, str):
        return Text(block)
    found = mapping(block)
    if found.get("type") == "text" and isinstance(found.get("text"), str):
        _change_spare(found, _SAID, place, session)
        return Text(found["text"])
    if found.get("type") == "image" and isinstance(found.get("data"), str):
        media = store(session, "image", word(found, "mimeType") or UNKNOWN_MEDIA_TYPE, found["data"])
        if media is not None:
            return media
    kind = str(found.get("type"))[:64]
    session.changed.append(Note(place, kind, "a block that is not modelled; it is kept as it is and never sent"))
    return Opaque("pi", imported_producer("pi", None), lossless.dumps(block), kind)


def _change_spare(block: Mapping[str, Any], known: frozenset[str], place: str, session: ImportedSession) -> None:
    session.changed.extend([Note(place, str(key)[:64], "a field of a block that is not kept") for key in spare(block, known)])
