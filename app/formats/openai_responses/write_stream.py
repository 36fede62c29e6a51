"""Deltas to the stream of a Responses answer: what the scripted upstream sends, and what `ResponsesStreamReader` reads back."""

from dataclasses import dataclass, field
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
from app.formats.framing.sse import frame
from app.formats.openai_responses.blocks import TEXT_KEYS, exact, read_block
from app.formats.openai_responses.rules import INCOMPLETE_REASONS
from app.formats.openai_responses.usage import write_usage
from app.formats.reading import mapping, word

_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_REASONS = {neutral: native for native, neutral in INCOMPLETE_REASONS.items()}


@dataclass(slots=True)
class _Item:
    """One output item in the making. `item` is how it was announced, `block` what is to stand beside its part, `whole` its final form."""

    index: int
    kind: str
    item: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    block: str | None = None
    whole: dict[str, Any] | None = None


class ResponsesStreamWriter:
    """One answer: `created`, `in_progress`, the events of each item, and a terminal event that repeats all of it with the usage.

    Each part is an item of its own, a text a message. An item is closed when the next one begins, a call at the end, since fragments of
    several calls may alternate. A block that came with a part is sent in the final form of its item, ids included, so it has to come
    before the next part. `Finished` and `UsageReport` are held back until `end`. A stream that failed ends with an error event.
    """

    def __init__(self, model: str, stream_id: str, created_epoch_seconds: int) -> None:
        self._id = stream_id
        self._head = {"id": f"resp_{stream_id}", "object": "response", "created_at": created_epoch_seconds, "model": model}
        self._sequence = 0
        self._items: dict[int, _Item] = {}
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self._failed = False

    def write(self, delta: Delta) -> bytes:
        """The frames of one delta; empty for one that is held back or has no place here, and after a failure."""
        if self._failed:
            return b""
        match delta:
            case TextDelta(part, text):
                return self._say(part, "message", text)
            case ReasoningDelta(part, text):
                return self._say(part, "reasoning", text)
            case ToolCallDelta(part, arguments):
                return self._say(part, "function_call", arguments) if part in self._items else b""
            case ToolCallStarted(part, name, provider_id, tool_call_id):
                call = {"call_id": tool_call_id or provider_id, "name": name, "arguments": ""}
                return self._open(part, "function_call", call)[1] if part not in self._items else b""
            case OpaqueBlock(part, _, _, block):
                return self._block(part, exact(block))
            case PartBlock(part, opaque):
                item, opening = self._open(part, "reasoning", {"summary": []})
                item.block = opaque
                return opening
            case UsageReport(usage):
                self._usage = usage
            case Finished():
                self._finished = self._finished or delta
            case StreamFailed(code, detail):
                self._failed = True
                return self._opening() + self._frame("error", {"code": code, "message": detail, "param": None})
        return b""

    def end(self) -> bytes:
        """What closes the items, and the terminal event. Without `Finished` nothing: the stream is cut."""
        if self._failed or self._finished is None:
            return b""
        sent = self._opening() + b"".join(self._close(item) for item in self._items.values())
        stop, native = self._finished.stop_reason, self._finished.native
        whole = stop in ("finished", "tool_calls")
        response = self._response("completed" if whole else "incomplete")
        response["output"] = [item.whole for item in self._items.values()]
        if not whole:
            response["incomplete_details"] = {"reason": _REASONS.get(stop, native or stop)}
        if self._usage is not None:
            response["usage"] = write_usage(self._usage)
        return sent + self._frame(f"response.{response['status']}", {"response": response})

    def _opening(self) -> bytes:
        if self._sequence:
            return b""
        response = self._response("in_progress")
        return self._frame("response.created", {"response": response}) + self._frame("response.in_progress", {"response": response})

    def _response(self, status: str) -> dict[str, Any]:
        nothing: dict[str, Any] = {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "output": []}
        chosen: dict[str, Any] = {"parallel_tool_calls": True, "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None, "usage": None}
        return self._head | {"status": status} | nothing | chosen

    def _open(self, part: int, kind: str, more: dict[str, Any]) -> tuple[_Item, bytes]:
        """The item of a part, and the frames that begin it where it is new and close what came before."""
        if part in self._items:
            return self._items[part], b""
        sent = self._opening() + b"".join(self._close(item) for item in self._items.values() if item.kind != "function_call")
        index = len(self._items)
        named = {"id": f"{_PREFIXES[kind]}_{self._id}_{index}", "type": kind} if kind in _PREFIXES else {}
        status = {} if kind == "reasoning" or kind not in _PREFIXES else {"status": "in_progress"}
        item = self._items[part] = _Item(index, kind, named | status | more)
        sent += self._frame("response.output_item.added", {"output_index": index, "item": item.item})
        if kind == "message":
            sent += self._of(item, "content_part.added", content_index=0, part=_output_text(""))
        elif kind == "reasoning":
            sent += self._of(item, "reasoning_summary_part.added", summary_index=0, part=_summary(""))
        return item, sent

    def _say(self, part: int, kind: str, text: str) -> bytes:
        more: dict[str, Any] = {"role": "assistant", "content": []} if kind == "message" else {"summary": []}
        item, opening = self._open(part, kind, more)
        if item.kind != kind:
            return opening
        item.pieces.append(text)
        if kind == "message":
            return opening + self._of(item, "output_text.delta", content_index=0, delta=text, logprobs=[])
        if kind == "reasoning":
            return opening + self._of(item, "reasoning_summary_text.delta", summary_index=0, delta=text)
        return opening + self._of(item, "function_call_arguments.delta", delta=text)

    def _block(self, part: int, item: Any) -> bytes:
        """An item that we do not model is announced as it is, and closed as it is."""
        kind = word(mapping(item), "type")
        if kind is None or kind in _PREFIXES or part in self._items:
            return b""
        opened, sent = self._open(part, kind, item)
        return sent + self._close(opened)

    def _close(self, item: _Item) -> bytes:
        """The frames that end an item; none for one that has ended."""
        if item.whole is not None:
            return b""
        said, sent = "".join(item.pieces), b""
        item.whole = self._final(item, said)
        if item.kind == "message":
            sent = self._of(item, "output_text.done", content_index=0, text=said, logprobs=[])
            sent += self._of(item, "content_part.done", content_index=0, part=item.whole["content"][0])
        elif item.kind == "reasoning":
            sent = self._of(item, "reasoning_summary_text.done", summary_index=0, text=said)
            sent += self._of(item, "reasoning_summary_part.done", summary_index=0, part=_summary(said))
        elif item.kind == "function_call":
            sent = self._of(item, "function_call_arguments.done", name=item.item["name"], arguments=said)
        return sent + self._frame("response.output_item.done", {"output_index": item.index, "item": item.whole})

    def _final(self, item: _Item, said: str) -> dict[str, Any]:
        """The item as it ended: what the block beside its part says, else as it was announced, with what was said."""
        if item.kind == "reasoning":
            given = None if item.block is None else exact(item.block)
            return given if isinstance(given, dict) else item.item | {"summary": [_summary(said)] if said else []}
        beside = None if item.block is None else read_block(item.block, item.kind)
        base = item.item | {"status": "completed"} if beside is None else beside.item
        if item.kind == "function_call":
            return base | {"arguments": said}
        if item.kind != "message":
            return base
        part = _output_text(said)
        if beside is not None and beside.part is not None:
            key = TEXT_KEYS.get(word(beside.part, "type") or "")
            part = beside.part if key is None else beside.part | {key: said}
        return base | {"content": [part]}

    def _of(self, item: _Item, event: str, **keys: Any) -> bytes:
        return self._frame(f"response.{event}", {"item_id": item.item.get("id", ""), "output_index": item.index, **keys})

    def _frame(self, event: str, value: dict[str, Any]) -> bytes:
        sequence, self._sequence = self._sequence, self._sequence + 1
        return frame(None, event, lossless.dumps({"type": event, "sequence_number": sequence, **value}))


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}
