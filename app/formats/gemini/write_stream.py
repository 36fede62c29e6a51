"""Deltas to the stream of a Gemini answer: what the scripted upstream sends, and what `GeminiStreamReader` reads back."""

from dataclasses import dataclass, field
from typing import Any

from app.config.limits import JSON_DEPTH_MAX
from app.entries import lossless
from app.entries.deltas import (
    Delta,
    Finished,
    OpaqueBlock,
    PartBlock,
    ReasoningDelta,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from app.formats.framing.sse import frame
from app.formats.gemini.errors import write_stream_error
from app.formats.gemini.rules import CANDIDATE, DIALECT, FINISH_REASONS, RAW_ARGUMENTS_KEY, STOP_REASONS
from app.formats.gemini.usage import write_usage


@dataclass(slots=True)
class _Call:
    name: str
    id: str
    arguments: list[str] = field(default_factory=list)
    opaque: str = ""


class GeminiStreamWriter:
    """One answer, an event a piece of text; a call goes out whole, once something else follows it.

    The first piece of a text or a thought is held back until the next delta, since a signature stands in the event of what it signs;
    one that comes later goes out as Gemini sends it then, beside an empty text. `Finished` and `UsageReport` are held back until
    `end`: the last event has both. A stream that failed ends with an error object.
    """

    def __init__(self, model: str, stream_id: str, created_epoch_seconds: int) -> None:
        self._tail = lossless.dumps({"modelVersion": model, "responseId": stream_id})[1:]
        self._held: TextDelta | ReasoningDelta | None = None
        self._flowing = -1
        self._calls: dict[int, _Call] = {}
        self._candidate: dict[str, Any] = {}
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self._failed = False

    def write(self, delta: Delta) -> bytes:
        """The frames of one delta and of what it ends; empty for one that is held back, and after a failure."""
        if self._failed:
            return b""
        match delta:
            case TextDelta() | ReasoningDelta():
                return self._piece(delta)
            case PartBlock(part, opaque):
                return self._beside(part, opaque)
            case ToolCallStarted(part, name, provider_id, tool_call_id):
                self._calls.setdefault(part, _Call(name, tool_call_id or provider_id))
                return self._text_over()
            case ToolCallDelta(part, arguments):
                if part in self._calls:
                    self._calls[part].arguments.append(arguments)
            case OpaqueBlock(_, format, _, block):
                return self._opaque(format, block)
            case UsageReport(usage):
                self._usage = usage
            case Finished():
                self._finished = self._finished or delta
            case StreamFailed(code):
                said = self._flush()
                self._failed = True
                return said + frame(None, None, write_stream_error(code))
        return b""

    def end(self) -> bytes:
        """What was held back, and the last event with finish reason and usage. Without `Finished` there is none: the stream is cut."""
        if self._failed:
            return b""
        said = self._flush()
        if self._finished is None:
            return said
        reason = self._finished.stop_reason
        native = self._finished.native
        if STOP_REASONS.get(native, "other") != reason or not native:
            native = FINISH_REASONS.get(reason, "OTHER")
        candidate = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": native, "index": 0} | self._candidate
        usage = {} if self._usage is None else {"usageMetadata": write_usage(self._usage)}
        return said + frame(None, None, lossless.dumps({"candidates": [candidate], **usage})[:-1] + "," + self._tail)

    def _piece(self, delta: TextDelta | ReasoningDelta) -> bytes:
        said = self._calls_over()
        if delta.part == self._flowing:
            return said + self._text_over() + self._say_text(delta)
        said += self._text_over()
        self._held, self._flowing = delta, delta.part
        return said

    def _beside(self, part: int, opaque: str) -> bytes:
        if part in self._calls:
            self._calls[part].opaque = opaque
            return b""
        held, self._held = self._held, None
        if held is not None and held.part == part:
            return self._say_text(held, opaque)
        said = b"" if held is None else self._say_text(held)
        return self._calls_over() + said + self._say_text(TextDelta(part, ""), opaque)

    def _opaque(self, format: str, block: str) -> bytes:
        """A block that is a part goes out as it is; one of a candidate waits for the last event. Others have no place here."""
        value = _object(block)
        if value is not None and format == CANDIDATE:
            self._candidate |= value
        if value is None or format != DIALECT:
            return b""
        return self._flush() + self._say(block)

    def _flush(self) -> bytes:
        return self._text_over() + self._calls_over()

    def _text_over(self) -> bytes:
        held, self._held = self._held, None
        return b"" if held is None else self._say_text(held)

    def _calls_over(self) -> bytes:
        calls, self._calls = self._calls, {}
        return b"".join(self._say(_call(call)) for _, call in sorted(calls.items()))

    def _say_text(self, delta: TextDelta | ReasoningDelta, opaque: str = "") -> bytes:
        part: dict[str, Any] = {"text": delta.text}
        if isinstance(delta, ReasoningDelta):
            part["thought"] = True
        return self._say(lossless.dumps(part | ((opaque and _object(opaque)) or {})))

    def _say(self, part: str) -> bytes:
        return frame(None, None, f'{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}},"index":0}}],{self._tail}')


def _call(call: _Call) -> str:
    """The part of a call, with the very text of its arguments; text that is no object cannot be said and goes under one key."""
    arguments = "".join(call.arguments)
    if not arguments or arguments.isspace():
        arguments = "{}"
    elif _object(arguments) is None:
        arguments = lossless.dumps({RAW_ARGUMENTS_KEY: arguments})
    rest = (call.opaque and _object(call.opaque)) or {}
    inner = rest.pop("functionCall", None)
    inner = inner if isinstance(inner, dict) else {}
    head = {"name": call.name} | ({"id": call.id} if call.id else {}) | inner
    said = lossless.dumps({"functionCall": head})[:-2] + f',"args":{arguments}}}'
    return said + ("," + lossless.dumps(rest)[1:] if rest else "}")


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = lossless.loads(text, JSON_DEPTH_MAX)
    except lossless.InvalidJson:
        return None
    return found if isinstance(found, dict) else None
