"""The stream of a Messages answer to deltas (wire-format notes 4.5)."""

from typing import Any

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries import lossless
from app.entries.deltas import Delta, Finished, UsageReport
from app.formats.answer_reader import BadAnswer, SseAnswerReader
from app.formats.anthropic.errors import stream_error
from app.formats.anthropic.rules import STOP_REASONS
from app.formats.anthropic.stream_blocks import Block
from app.formats.anthropic.usage import read_usage
from app.formats.framing.sse import SseEvent

_OPENED_BY = {"text_delta": {"type": "text", "text": ""}, "thinking_delta": {"type": "thinking", "thinking": ""}}
"""Blocks of which gateways leave the start out, by what comes first of them."""


class MessagesStreamReader(SseAnswerReader):
    """One answer. Each content block is a part, numbered as they begin.

    Only `message_stop` ends it: a stream without one fails as `stream-truncated`, and so does one that begins a second answer in
    the middle of the first, as gateways do that try again. Unknown events and deltas are skipped. `producer` names who may get
    opaque blocks back.
    """

    def __init__(self, producer: str = "") -> None:
        super().__init__()
        self._producer = producer
        self._blocks: dict[int, Block] = {}
        self._parts = 0
        self._calls = 0
        self._message_id: Any = None
        self._native: str | None = None
        self._figures: dict[str, Any] = {}

    def _whole(self, body: bytes, found: list[Delta]) -> None:
        try:
            document = lossless.loads(body)
        except lossless.InvalidJson:
            return
        if document.get("type") == "error" or "error" in document:
            self._fail(stream_error(document.get("error")), found)
        elif isinstance(document.get("content"), list):
            for index, block in enumerate(document["content"]):
                self._start(index, block, found)
            self._use(document.get("usage"), body.decode(), found)
            self._reason(document)
            self._finish(found)

    def _cut(self, found: list[Delta]) -> None:
        """An event whose blank line did not come any more is whole if its JSON is."""
        for event in self._sse.feed(b"\n\n"):
            self._event(event, found, last=True)
        if not self._over:
            self._truncated(found)

    def _event(self, framed: SseEvent, found: list[Delta], last: bool = False) -> None:
        data = framed.data
        try:
            event = lossless.read(data)
        except (ValueError, RecursionError):
            if data.strip() != "[DONE]" and not last:
                self._no_json(found)
            return
        if not isinstance(event, dict):
            return
        kind = event.get("type")
        if kind == "content_block_delta":
            self._delta(event, data, found)
        elif kind == "content_block_start":
            if not _plain(event.get("content_block")):
                event = _exact(data, event)
            self._start(event.get("index"), event.get("content_block"), found)
        elif kind == "content_block_stop":
            self._stop(event.get("index"), found)
        elif kind == "message_start":
            self._begin(event, data, found)
        elif kind == "message_delta":
            self._use(event.get("usage"), data, found)
            self._reason(event.get("delta"))
        elif kind == "message_stop":
            self._finish(found)
        elif kind == "error":
            self._fail(stream_error(event.get("error")), found)

    def _delta(self, event: dict[str, Any], data: str, found: list[Delta]) -> None:
        index, delta = event.get("index"), event.get("delta")
        if type(index) is not int or type(delta) is not dict:
            return
        kind, block = delta.get("type"), self._blocks.get(index)
        if block is None:
            opened = _OPENED_BY.get(kind) if isinstance(kind, str) else None
            if opened is None:
                return
            block = self._open(index, dict(opened), found)
        if kind == "text_delta" and block.kind == "text":  # nearly all of them
            text = delta.get("text")
            if type(text) is str:
                block.text(text, found)
        elif kind == "input_json_delta" or _plain(delta):
            block.take(delta, found)
        else:
            block.take(_exact(data, event)["delta"], found)

    def _begin(self, event: dict[str, Any], data: str, found: list[Delta]) -> None:
        message = event.get("message")
        message = message if isinstance(message, dict) else {}
        if self._parts and message.get("id") != self._message_id:
            self._truncated(found)
            return
        self._message_id = message.get("id")
        self._use(message.get("usage"), data, found)

    def _start(self, index: Any, start: Any, found: list[Delta]) -> None:
        if isinstance(index, int) and isinstance(start, dict):
            self._stop(index, found)
            self._open(index, start, found)

    def _open(self, index: int, start: dict[str, Any], found: list[Delta]) -> Block:
        block = self._blocks[index] = Block(self._parts, start, self._producer, found)
        self._parts += 1
        self._calls += block.kind == "tool_use"
        if self._calls > TOOL_CALLS_PER_ANSWER_MAX:
            raise BadAnswer
        return block

    def _stop(self, index: Any, found: list[Delta]) -> None:
        block = self._blocks.pop(index, None) if isinstance(index, int) else None
        if block is not None:
            block.stop(found)

    def _use(self, usage: Any, raw: str, found: list[Delta]) -> None:
        """Figures are cumulative: each that is given replaces an earlier one, and one that is not given stays."""
        if not isinstance(usage, dict):
            return
        known = self._figures | {key: value for key, value in usage.items() if value is not None}
        if known != self._figures:
            self._figures = known
            found.append(UsageReport(read_usage(known), raw))

    def _reason(self, holder: Any) -> None:
        native = holder.get("stop_reason") if isinstance(holder, dict) else None
        if isinstance(native, str) and native:
            self._native = native

    def _finish(self, found: list[Delta]) -> None:
        """Blocks whose end did not come are closed too: a cap may cut a call in the middle."""
        for index in list(self._blocks):
            self._stop(index, found)
        reason = STOP_REASONS.get(self._native or "", "other")
        if reason == "finished" and self._calls:
            reason = "tool_calls"
        found.append(Finished(reason, self._native or ""))
        self._over = True


def _plain(value: Any) -> bool:
    """Whether an object holds strings alone, whose spelling needs no second reading; `input` of a call begins empty."""
    return isinstance(value, dict) and all(type(item) is str or item == {} for item in value.values())


def _exact(data: str, event: dict[str, Any]) -> dict[str, Any]:
    """The event with its numbers as they were spelled, for what is kept as received."""
    try:
        exact = lossless.loads(data)
    except lossless.InvalidJson:
        return event
    return exact if isinstance(exact, dict) else event
