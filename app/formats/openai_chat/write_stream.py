"""Deltas to the stream of a Chat Completions answer: what the scripted upstream sends, and what `ChatStreamReader` reads back."""

from typing import Any

from app.entries import lossless
from app.entries.deltas import Delta, Finished, ReasoningDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted, Usage, UsageReport
from app.formats.framing.sse import frame
from app.formats.openai_chat.rules import FINISH_REASONS
from app.formats.openai_chat.usage import write_usage


class ChatStreamWriter:
    """One answer. Role in the first chunk, then a chunk a delta, the finish reason, a usage chunk with empty choices, `[DONE]`.

    `Finished` and `UsageReport` are held back until `end`, because the order on the wire is fixed. Reasoning goes out
    as `reasoning_content`; opaque blocks have no place here. A stream that failed ends with an error object and no mark.
    """

    def __init__(self, model: str, stream_id: str, created_epoch_seconds: int) -> None:
        self._head = {"id": stream_id, "object": "chat.completion.chunk", "created": created_epoch_seconds, "model": model}
        self._opened = False
        self._indexes: dict[int, int] = {}
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self._failed = False

    def write(self, delta: Delta) -> bytes:
        """The frames of one delta; empty for one that is held back or has no place here, and after a failure."""
        if self._failed:
            return b""
        match delta:
            case TextDelta(_, text):
                return self._say({"content": text})
            case ReasoningDelta(_, text):
                return self._say({"reasoning_content": text})
            case ToolCallStarted(part, name, provider_id, tool_call_id):
                index = self._indexes.setdefault(part, len(self._indexes))
                call = {"index": index, "id": tool_call_id or provider_id, "type": "function", "function": {"name": name, "arguments": ""}}
                return self._say({"tool_calls": [call]})
            case ToolCallDelta(part, arguments):
                if part not in self._indexes:
                    return b""
                return self._say({"tool_calls": [{"index": self._indexes[part], "function": {"arguments": arguments}}]})
            case UsageReport(usage):
                self._usage = usage
            case Finished():
                self._finished = self._finished or delta
            case StreamFailed(code, detail):
                self._failed = True
                return self._frame({"error": {"message": detail, "type": "server_error", "param": None, "code": code}})
        return b""

    def end(self) -> bytes:
        """The finish chunk, the usage chunk where usage is known, and `[DONE]`. Without `Finished` nothing: the stream is cut."""
        if self._failed or self._finished is None:
            return b""
        reason = FINISH_REASONS.get(self._finished.stop_reason, self._finished.native or "stop")
        sent = self._say({}, reason)
        if self._usage is not None:
            sent += self._frame({**self._head, "choices": [], "usage": write_usage(self._usage)})
        return sent + frame(None, None, "[DONE]")

    def _say(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        opening: dict[str, Any] = {} if self._opened else {"role": "assistant", "content": ""}
        self._opened = True
        return self._frame({**self._head, "choices": [{"index": 0, "delta": opening | delta, "finish_reason": finish_reason}]})

    def _frame(self, value: dict[str, Any]) -> bytes:
        return frame(None, None, lossless.dumps(value))
