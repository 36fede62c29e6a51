"""Deltas to the stream of a Converse answer: what the scripted upstream sends, and what `ConverseStreamReader` reads back."""

import re
from typing import Any

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
from app.formats.bedrock.errors import EXCEPTIONS
from app.formats.bedrock.rules import NATIVE_STOPS
from app.formats.bedrock.usage import write_usage
from app.formats.framing.aws import frame

_EXCEPTION = re.compile(r"[A-Za-z]+Exception")


class ConverseStreamWriter:
    """One answer: `messageStart`, a content block a part, `messageStop`, and `metadata` where usage is known.

    A block begins with an event of its own only where the provider sends one: of calls and of results (6.3). It ends where another
    part begins. `Finished` and `UsageReport` are held back until `end`, because the order on the wire is fixed. A stream that failed
    ends with an exception and no stop event.
    """

    def __init__(self, model: str, stream_id: str, created_epoch_seconds: int) -> None:
        self._opened = False
        self._calls: set[int] = set()
        self._block = -1
        self._stopped: set[int] = set()
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self._failed = False

    def write(self, delta: Delta) -> bytes:
        """The frames of one delta; empty for one that is held back or has no place here, and after a failure."""
        if self._failed:
            return b""
        match delta:
            case TextDelta(part, text):
                return self._say(part, {"text": text})
            case ReasoningDelta(part, text):
                return self._say(part, {"reasoningContent": {"text": text}})
            case PartBlock(part, opaque):
                return b"".join(self._say(part, said) for said in _given(opaque))
            case ToolCallStarted(part, name, provider_id, tool_call_id):
                self._calls.add(part)
                return self._start(part, {"toolUse": {"toolUseId": tool_call_id or provider_id, "name": name}})
            case ToolCallDelta(part, arguments):
                return self._say(part, {"toolUse": {"input": arguments}}) if part in self._calls else b""
            case OpaqueBlock(part, block=block):
                return self._whole(part, block)
            case UsageReport(usage):
                self._usage = usage
            case Finished():
                self._finished = self._finished or delta
            case StreamFailed(code, detail):
                self._failed = True
                name = code if _EXCEPTION.fullmatch(code) else EXCEPTIONS.get(code, "internalServerException")
                headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
                return frame(headers, lossless.dumps({"message": "Input is too long." if code == "upstream-overflow" else detail}).encode())
        return b""

    def end(self) -> bytes:
        """The end of the last block, `messageStop`, and usage. Without `Finished` nothing: the stream is cut."""
        if self._failed or self._finished is None:
            return b""
        native = NATIVE_STOPS.get(self._finished.stop_reason, self._finished.native or "end_turn")
        sent = self._begin() + self._stop() + _event("messageStop", {"stopReason": native})
        if self._usage is not None:
            sent += _event("metadata", {"usage": write_usage(self._usage), "metrics": {"latencyMs": 0}})
        return sent

    def _begin(self) -> bytes:
        opened, self._opened = self._opened, True
        return b"" if opened else _event("messageStart", {"role": "assistant"})

    def _stop(self) -> bytes:
        """The end of the block at hand; a part that is spoken of again, out of order, has ended before."""
        if self._block < 0 or self._block in self._stopped:
            return b""
        self._stopped.add(self._block)
        return _event("contentBlockStop", {"contentBlockIndex": self._block})

    def _turn(self, part: int) -> bytes:
        before = b"" if part == self._block else self._stop()
        self._block = part
        return self._begin() + before

    def _say(self, part: int, delta: dict[str, Any]) -> bytes:
        return self._turn(part) + _event("contentBlockDelta", {"contentBlockIndex": part, "delta": delta})

    def _start(self, part: int, start: dict[str, Any]) -> bytes:
        return self._turn(part) + _event("contentBlockStart", {"contentBlockIndex": part, "start": start})

    def _whole(self, part: int, block: str) -> bytes:
        """A call that the provider ran, or the result of one; nothing for a block that streams in another way."""
        try:
            found = lossless.loads(block)
        except lossless.InvalidJson:
            return b""
        call, result = (found.get(key) if isinstance(found, dict) else None for key in ("toolUse", "toolResult"))
        if isinstance(call, dict):
            start = {key: value for key, value in call.items() if key != "input"}
            return self._start(part, {"toolUse": start}) + self._say(part, {"toolUse": {"input": lossless.dumps(call.get("input"))}})
        if isinstance(result, dict):
            start = {key: value for key, value in result.items() if key != "content"}
            return self._start(part, {"toolResult": start}) + self._say(part, {"toolResult": result.get("content")})
        return b""


def _given(opaque: str) -> list[dict[str, Any]]:
    """The deltas that bring what the provider wants back with a part."""
    try:
        found = lossless.loads(opaque)
    except lossless.InvalidJson:
        return []
    thought, cited = (found.get(key) if isinstance(found, dict) else None for key in ("reasoningContent", "citationsContent"))
    if isinstance(cited, dict) and isinstance(cited.get("citations"), list):
        return [{"citation": citation} for citation in cited["citations"]]
    if not isinstance(thought, dict):
        return []
    if "redactedContent" in thought:
        return [{"reasoningContent": {"redactedContent": thought["redactedContent"]}}]
    inner = thought.get("reasoningText")
    signature = inner.get("signature") if isinstance(inner, dict) else None
    return [{"reasoningContent": {"signature": signature}}] if signature else []


def _event(name: str, value: dict[str, Any]) -> bytes:
    return frame({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, lossless.dumps(value).encode())
