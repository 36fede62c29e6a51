"""Deltas to the stream of a Messages answer: what the scripted upstream sends, and what `MessagesStreamReader` reads back."""

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
from app.formats.anthropic.blocks import received, received_block
from app.formats.anthropic.rules import DIALECT, NATIVE_REASONS
from app.formats.anthropic.usage import write_usage
from app.formats.framing.sse import frame


class MessagesStreamWriter:
    """One answer: a block for each part, `message_delta` with the reason and the figures, `message_stop`.

    A block of text or thinking ends where another part begins; what comes of the part after that is a block of its own, since a
    block that ended says no more. Calls stay open for one another. `Finished` and usage are held back until `end`. A stream that
    failed ends with an `error` event.
    """

    def __init__(self, model: str, stream_id: str, created_epoch_seconds: int) -> None:
        self._message = {"id": stream_id, "type": "message", "role": "assistant", "model": model, "content": []}
        self._opened = False
        self._count = 0
        self._indexes: dict[int, int] = {}
        self._kinds: dict[int, str] = {}
        self._waiting: tuple[int, dict[str, Any]] | None = None
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self._failed = False

    def write(self, delta: Delta) -> bytes:
        """The frames of one delta; empty for one that is held back or has no place here, and after a failure."""
        if self._failed:
            return b""
        match delta:
            case TextDelta(part, text):
                sent = self._open(part, "text", {"type": "text", "text": ""})
                return sent + self._delta(part, {"type": "text_delta", "text": text})
            case ReasoningDelta(part, text):
                sent = self._open(part, "thinking", {"type": "thinking", "thinking": "", "signature": ""})
                return sent + self._delta(part, {"type": "thinking_delta", "thinking": text})
            case ToolCallStarted(part, name, provider_id, tool_call_id):
                sent = self._release() + self._close("text", "thinking")
                self._waiting = (part, {"type": "tool_use", "id": tool_call_id or provider_id, "name": name, "input": {}})
                return sent
            case ToolCallDelta(part, arguments):
                sent = self._release()
                return sent + self._delta(part, {"type": "input_json_delta", "partial_json": arguments}) if part in self._indexes else sent
            case PartBlock(part, opaque):
                return self._beside(part, opaque)
            case OpaqueBlock(part, format, _, block):
                whole = received_block(block) if format == DIALECT else None
                return b"" if whole is None else self._open(part, "other", whole) + self._close("other")
            case UsageReport(usage):
                self._usage = usage
            case Finished():
                self._finished = self._finished or delta
            case StreamFailed(code, detail):
                sent = self._release()
                self._failed = True
                return sent + self._frame("error", {"error": {"type": code, "message": detail}})
        return b""

    def end(self) -> bytes:
        """The ends of the blocks, the reason with the figures, and the terminal event. Without `Finished` no more: the stream is cut."""
        if self._failed:
            return b""
        sent = self._release()
        if self._finished is None:
            return sent
        sent += self._begin() + self._close("text", "thinking", "tool_use")
        reason = NATIVE_REASONS.get(self._finished.stop_reason, self._finished.native or "end_turn")
        sent += self._frame("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": write_usage(self._usage or Usage())})
        return sent + self._frame("message_stop", {})

    def _beside(self, part: int, opaque: str) -> bytes:
        """What the provider put with a part: the signature of its thinking, the citations of its text, a field beside its call."""
        found = received(opaque)
        if self._waiting is not None and self._waiting[0] == part:
            self._waiting[1].update(found)
            return b""
        kind = self._kinds.get(part)
        if kind == "text" and part not in self._indexes:
            return b""
        if kind == "text":
            citations = found.get("citations")
            told = [{"type": "citations_delta", "citation": each} for each in (citations if isinstance(citations, list) else ())]
            return b"".join(self._delta(part, each) for each in told)
        if found.get("type") == "redacted_thinking":
            return self._open(part, "other", found) + self._close("other")
        signature = found.get("signature")
        if not isinstance(signature, str) or kind not in (None, "thinking"):
            return b""
        sent = self._open(part, "thinking", {"type": "thinking", "thinking": "", "signature": ""})
        return sent + self._delta(part, {"type": "signature_delta", "signature": signature})

    def _open(self, part: int, kind: str, start: dict[str, Any]) -> bytes:
        """The start of a part's block, unless it is open; the end of those that stand before it."""
        if part in self._indexes:
            return b""
        sent = self._release() + self._close("text", "thinking")
        if kind != "tool_use":
            sent += self._close("tool_use")
        sent += self._begin()
        self._indexes[part], self._kinds[part] = self._count, kind
        self._count += 1
        return sent + self._frame("content_block_start", {"index": self._indexes[part], "content_block": start})

    def _release(self) -> bytes:
        """The start of a call, which waits for what stands beside it."""
        if self._waiting is None:
            return b""
        (part, start), self._waiting = self._waiting, None
        return self._open(part, "tool_use", start)

    def _close(self, *kinds: str) -> bytes:
        """The ends of the open blocks of these kinds."""
        ended = [part for part, kind in self._kinds.items() if kind in kinds and part in self._indexes]
        return b"".join(self._frame("content_block_stop", {"index": self._indexes.pop(part)}) for part in ended)

    def _begin(self) -> bytes:
        if self._opened:
            return b""
        self._opened = True
        usage = write_usage(self._usage or Usage())
        return self._frame("message_start", {"message": {**self._message, "stop_reason": None, "stop_sequence": None, "usage": usage}})

    def _delta(self, part: int, delta: dict[str, Any]) -> bytes:
        return self._frame("content_block_delta", {"index": self._indexes[part], "delta": delta})

    def _frame(self, name: str, data: dict[str, Any]) -> bytes:
        return frame(None, name, lossless.dumps({"type": name, **data}))
