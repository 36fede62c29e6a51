"""One answer of a model as an assistant message: text, calls with their exact argument text, and what its provider wants back with them.

Blocks of the neutral request are the target's own (the pass `reasoning` sees to that) and go back as received, each in the form that
`read_stream` keeps it in: a list is `reasoning_details`, an object of type `thinking` is a content chunk, an object beside a call or a
text has the keys that stood there.
"""

import re
from typing import Any

from app.config.limits import JSON_DEPTH_MAX
from app.context.passes.fitting import stand_in
from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.openai_chat.rules import DIALECT, EMPTY_ARGUMENTS, GIVEN_BACK
from app.formats.protocols import WireLoss
from app.formats.writing import Writing
from app.models.wire_rules import WireRules

_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")

CONTENT = "content"
"""The `reasoning_key` of servers that take reasoning as a chunk of the content."""


class AnswerWriter:
    """Writes the assistant messages of one request. `thinks`: whether the model may think in this call."""

    __slots__ = ("_always", "_listed", "_named", "_reasoning_key", "_writing")

    def __init__(self, writing: Writing, rules: WireRules, *, thinks: bool) -> None:
        self._writing = writing
        self._named = re.compile(rules.name_pattern).fullmatch
        self._listed = rules.content_lists
        self._always = rules.reasoning_always and thinks
        self._reasoning_key = rules.reasoning_key if thinks else ""

    def write(self, source: int, parts: tuple[Part, ...], shape: list[tuple[str, int]]) -> dict[str, Any]:
        """The message. `shape` gets where each part stands in it."""
        one = _Answer(source)
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                one.say(index, {"type": "text", "text": self._writing.text(part.text, source, index)})
                self._beside(one, index, part.opaque)
            elif isinstance(part, ToolCall):
                shape.append((f"/tool_calls/{len(one.calls)}", index))
                one.calls.append(self._call(source, index, part))
            elif isinstance(part, Reasoning):
                self._reasoning(one, index, part, shape)
            elif isinstance(part, Media):
                self._lose(part.kind, "not_in_answers", source, index)
                one.say(index, {"type": "text", "text": self._writing.text(stand_in(part), source, index)})
            else:
                self._opaque(one, index, part)
        listed = len(one.chunks) > 1 or one.structured
        listed = listed and self._listed
        shape += [(f"/content/{number}" if listed else "/content", index) for number, index in enumerate(one.said)]
        sent: dict[str, Any] = {"role": "assistant", "content": one.chunks if listed else one.text()}
        if one.thoughts or self._always:
            sent[self._reasoning_key or "reasoning_content"] = "".join(one.thoughts)
            if not one.thoughts:
                self._writing.losses.append(WireLoss("reasoning", "empty_value_required", source))
        if one.details:
            sent["reasoning_details"] = one.details
        if one.calls:
            sent["tool_calls"] = one.calls
        return sent | one.beside

    def _reasoning(self, one: "_Answer", index: int, part: Reasoning, shape: list[tuple[str, int]]) -> None:
        block = None if part.opaque is None else _read(part.opaque)
        if isinstance(block, list) and block:
            shape.append(("/reasoning_details", index))
            one.details += self._writing.value(block, one.source, index)
        elif isinstance(block, dict) and block.get("type") == "thinking" and self._listed:
            one.say(index, self._writing.value(block, one.source, index), structured=True)
        elif self._reasoning_key == CONTENT and self._listed:
            text = {"type": "text", "text": self._writing.text(part.text, one.source, index)}
            one.say(index, {"type": "thinking", "thinking": [text], "closed": True}, structured=True)
        elif self._reasoning_key and self._reasoning_key != CONTENT:
            shape.append((f"/{self._reasoning_key}", index))
            one.thoughts.append(self._writing.text(part.text, one.source, index))
        else:
            self._lose("reasoning", "not_in_format", one.source, index)

    def _opaque(self, one: "_Answer", index: int, part: Opaque) -> None:
        """A chunk of the content that we do not model goes back into it; what stood elsewhere has no place in a request."""
        block = _read(part.block) if part.format == DIALECT else None
        if self._listed and isinstance(block, dict) and isinstance(block.get("type"), str):
            one.say(index, self._writing.value(block, one.source, index), structured=True)
        else:
            self._lose("opaque", "not_in_format", one.source, index)

    def _beside(self, one: "_Answer", index: int, opaque: str | None) -> None:
        if opaque is None:
            return
        block = _read(opaque)
        if isinstance(block, dict) and block.keys() <= GIVEN_BACK:
            one.beside |= self._writing.value(block, one.source, index)
        else:
            self._lose("block", "not_in_format", one.source, index)

    def _call(self, source: int, index: int, call: ToolCall) -> dict[str, Any]:
        arguments = call.arguments
        if not arguments or arguments.isspace():
            arguments = EMPTY_ARGUMENTS
            self._lose("arguments", "empty_arguments", source, index)
        name = call.name
        if not self._named(name):  # from an import, or made up by a model
            name = _UNNAMEABLE.sub("_", name)[:64] or "unnamed"
            self._lose("tool_name", "not_taken", source, index)
        sent: dict[str, Any] = {
            "id": self._writing.text(call.tool_call_id, source, index),
            "type": "function",
            "function": {"name": name, "arguments": self._writing.text(arguments, source, index)},
        }
        if call.opaque is None:
            return sent
        block = _read(call.opaque)
        if not isinstance(block, dict):
            self._lose("block", "not_in_format", source, index)
            return sent
        return sent | {key: value for key, value in self._writing.value(block, source, index).items() if key not in sent}

    def _lose(self, what: str, why: str, source: int, index: int) -> None:
        self._writing.losses.append(WireLoss(what, why, source, index))


class _Answer:
    """One message in the making. `said`: which part each chunk of the content is of; `structured`: whether one is more than text."""

    __slots__ = ("beside", "calls", "chunks", "details", "said", "source", "structured", "thoughts")

    def __init__(self, source: int) -> None:
        self.source = source
        self.chunks: list[Any] = []
        self.said: list[int] = []
        self.calls: list[dict[str, Any]] = []
        self.thoughts: list[str] = []
        self.details: list[Any] = []
        self.beside: dict[str, Any] = {}
        self.structured = False

    def say(self, index: int, chunk: dict[str, Any], *, structured: bool = False) -> None:
        self.chunks.append(chunk)
        self.said.append(index)
        self.structured = self.structured or structured

    def text(self) -> str | None:
        """The content as one text; null where calls alone were made."""
        if not self.chunks:
            return None if self.calls else ""
        return "\n\n".join(chunk["text"] for chunk in self.chunks)


def _read(block: str) -> Any:
    """The JSON of a block, numbers as they were spelled; None for what is none."""
    try:
        return lossless.loads(block, JSON_DEPTH_MAX)
    except lossless.InvalidJson:
        return None
