"""The content blocks of a streamed answer, from `content_block_start` to `content_block_stop` (wire-format notes 4.5)."""

from typing import Any

from app.entries import lossless
from app.entries.deltas import Delta, OpaqueBlock, PartBlock, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStarted
from app.formats.anthropic.rules import DIALECT

_CALL_KEYS = frozenset({"type", "id", "name", "input"})


class Block:
    """One block in the making. `part` is its position in the answer; what it says goes to `found` of each call.

    Text, thinking and calls are said as they come. What the provider wants back with them, and every block of another type, is said
    whole at the end of the block, since only then it is known. `taken` holds what a block of another type was given in pieces.
    """

    __slots__ = ("_citations", "_said", "_signature", "_start", "_taken", "kind", "part", "producer")

    def __init__(self, part: int, start: dict[str, Any], producer: str, found: list[Delta]) -> None:
        self.part = part
        self.producer = producer
        self._start = start
        self._said: list[str] = []
        self._signature = ""
        self._citations: list[Any] = []
        self._taken: dict[str, list[str]] = {}
        self.kind = _kind(start)
        if self.kind == "text":
            self.text(start["text"], found)
        elif self.kind == "thinking":
            self._signature = _text(start, "signature")
            self.think(start["thinking"], found)
        elif self.kind == "tool_use":
            found.append(ToolCallStarted(part, start["name"], _text(start, "id")))
            beside = {key: value for key, value in start.items() if key not in _CALL_KEYS}
            if beside:
                found.append(PartBlock(part, lossless.dumps(beside), producer))
        elif self.kind == "redacted_thinking":
            found.append(PartBlock(part, lossless.dumps(start), producer))

    def text(self, text: str, found: list[Delta]) -> None:
        if text:
            self._said.append(text)
            found.append(TextDelta(self.part, text))

    def think(self, text: str, found: list[Delta]) -> None:
        if text:
            self._said.append(text)
            found.append(ReasoningDelta(self.part, text))

    def take(self, delta: dict[str, Any], found: list[Delta]) -> None:
        """One delta of any type; of a type that does not belong to the block it is skipped, as the provider asks."""
        kind = delta.get("type")
        if self.kind == "other":
            self._gather(delta)
        elif kind == "input_json_delta" and self.kind == "tool_use":
            piece = _text(delta, "partial_json")
            if piece:
                self._said.append(piece)
                found.append(ToolCallDelta(self.part, piece))
        elif kind == "text_delta" and self.kind == "text":
            self.text(_text(delta, "text"), found)
        elif kind == "thinking_delta" and self.kind == "thinking":
            self.think(_text(delta, "thinking"), found)
        elif kind == "signature_delta" and self.kind == "thinking":
            self._signature = _text(delta, "signature") or self._signature
        elif kind == "citations_delta" and self.kind == "text" and "citation" in delta:
            self._citations.append(delta["citation"])

    def _gather(self, delta: dict[str, Any]) -> None:
        """A piece of a block that we do not model: pieces of text under one key are one text, anything else is the value itself."""
        for key, value in delta.items():
            if key == "citation":
                self._citations.append(value)
            elif isinstance(value, str) and key != "type":
                self._taken.setdefault(key, []).append(value)
            elif value is not None and key != "type":
                self._start[key] = value

    def stop(self, found: list[Delta]) -> None:
        """What is said once the block is whole."""
        start = self._start
        if self.kind == "tool_use":
            if not self._said and start.get("input"):  # given at once, as in an answer that is one document
                found.append(ToolCallDelta(self.part, lossless.dumps(start["input"])))
        elif self.kind == "thinking":
            if self._signature:
                whole = {**start, "thinking": "".join(self._said), "signature": self._signature}
                found.append(PartBlock(self.part, lossless.dumps(whole), self.producer))
        elif self.kind == "text":
            given = start.get("citations")
            citations = [*(given if isinstance(given, list) else ()), *self._citations]
            if citations:
                whole = {**start, "text": "".join(self._said), "citations": citations}
                found.append(PartBlock(self.part, lossless.dumps(whole), self.producer))
        elif self.kind == "other":
            found.append(OpaqueBlock(self.part, DIALECT, self.producer, lossless.dumps(self._whole()), str(start.get("type"))[:64]))

    def _whole(self) -> dict[str, Any]:
        whole = dict(self._start)
        for key, pieces in self._taken.items():
            said = "".join(pieces)
            if key == "partial_json":
                whole["input"] = _input(said, whole.get("input"))
            else:
                given = whole.get(key)
                whole[key] = (given if isinstance(given, str) else "") + said
        if self._citations:
            whole["citations"] = self._citations
        return whole


def _kind(start: dict[str, Any]) -> str:
    """The type of a block that has what its type needs; `other` for what is kept as it is."""
    kind = start.get("type")
    if kind == "text" and isinstance(start.get("text"), str):
        return "text"
    if kind == "thinking" and isinstance(start.get("thinking"), str):
        return "thinking"
    if kind == "tool_use" and isinstance(start.get("name"), str) and start["name"]:
        return "tool_use"
    return "redacted_thinking" if kind == "redacted_thinking" else "other"


def _input(said: str, given: Any) -> Any:
    """The input of a call of the provider's own: the object that its pieces spell; broken ones are kept as text."""
    if not said:
        return given
    try:
        return lossless.loads(said)
    except lossless.InvalidJson:
        return {"rawInvalidInput": said}


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
