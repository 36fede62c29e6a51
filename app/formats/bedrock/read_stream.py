"""The stream of a Converse answer to deltas (wire-format notes 6.3; 12: a padding key `p` in every event is ignored)."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries import lossless
from app.entries.deltas import Delta, Finished, ReasoningDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted, UsageReport
from app.formats.answer_reader import AnswerReader, BadAnswer
from app.formats.bedrock.errors import stream_error
from app.formats.bedrock.read_whole import read_whole
from app.formats.bedrock.rules import STOP_REASONS
from app.formats.bedrock.slots import Kind, Slot
from app.formats.bedrock.usage import read_usage
from app.formats.framing.aws import BrokenFrame, Frame, FrameReader, HeaderValue

_SPELLED_DELTAS = (b'"toolResult"', b'"citation"', b'"image"')
"""Deltas that hold a provider's own values, whose numbers have to stay as spelled."""


Take = Callable[[dict[str, Any], Frame, list[Delta]], None]


class ConverseStreamReader(AnswerReader):
    """One answer. Parts are numbered in the order in which something of them is said, a content block each.

    `Finished` comes once both `messageStop` and `metadata` were there, in whichever order, or at the end after the first of them.
    A stream without `messageStop` fails as `stream-truncated`. `producer` names who may get blocks back.
    """

    def __init__(self, producer: str = "") -> None:
        super().__init__()
        self._producer = producer
        self._frames = FrameReader()
        self._slots: dict[int, Slot] = {}
        self._parts_count = 0
        self._calls_count = 0
        self._native: str | None = None
        self._metadata = False
        # What to do with an event, by the headers that tell it; the reader of frames gives the same ones again and again.
        self._takes: dict[int, tuple[Mapping[str, HeaderValue], Take | None]] = {}
        self._events: dict[str, Take] = {
            "contentBlockStart": self._start,
            "contentBlockDelta": self._delta,
            "contentBlockStop": self._stop,
            "messageStop": self._message_stop,
            "metadata": self._usage,
        }

    def _read(self, data: bytes, found: list[Delta]) -> None:
        try:
            for frame in self._frames.feed(data):
                self._frame(frame, found)
                if self._over:
                    return
        except BrokenFrame:
            raise BadAnswer("The stream holds a frame that cannot be read.", retryable=True) from None

    def _whole(self, body: bytes, found: list[Delta]) -> None:
        found += read_whole(body, self._producer)
        self._over = True

    def _cut(self, found: list[Delta]) -> None:
        if self._native is None:
            self._truncated(found, "its stop event")
        else:
            self._finish(found)

    def _frame(self, frame: Frame, found: list[Delta]) -> None:
        headers, payload = frame
        known = self._takes.get(id(headers))
        if known is None or known[0] is not headers:
            take = self._events.get(str(headers.get(":event-type")))
            if headers.get(":message-type", "event") != "event":
                self._fail(stream_error(headers.get(":exception-type") or headers.get(":error-code"), payload), found)
                return
            known = self._takes[id(headers)] = (headers, take)
        if known[1] is None:
            return
        try:
            event = orjson.loads(payload)
        except orjson.JSONDecodeError:  # a lone surrogate, bytes that are no UTF-8, or no JSON at all
            try:
                event = lossless.read(payload.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self._fail(StreamFailed("upstream-error", "The stream holds an event that is no JSON."), found)
                return
        if isinstance(event, dict):
            known[1](event, frame, found)

    def _start(self, event: dict[str, Any], frame: Frame, found: list[Delta]) -> None:
        index, start = event.get("contentBlockIndex"), _object(event.get("start"))
        if not isinstance(index, int):
            return
        if isinstance(call := start.get("toolUse"), dict):
            name, provider_id = call.get("name"), call.get("toolUseId")
            if call.get("type") == "server_tool_use":
                self._open(index, "server", call, found)
            elif isinstance(name, str) and name:
                self._calls_count += 1
                if self._calls_count > TOOL_CALLS_PER_ANSWER_MAX:
                    raise BadAnswer
                slot = self._open(index, "call", call, found)
                found.append(ToolCallStarted(slot.part, name, provider_id if isinstance(provider_id, str) else ""))
        elif isinstance(result := start.get("toolResult"), dict):
            self._open(index, "result", result, found)
        elif isinstance(image := start.get("image"), dict):
            self._open(index, "image", image, found)

    def _open(self, index: int, kind: Kind, start: dict[str, Any], found: list[Delta]) -> Slot:
        slot = self._slot(index, kind, found)
        slot.part, slot.start, slot.left = self._next(), start, False
        return slot

    def _slot(self, index: int, kind: Kind, found: list[Delta]) -> Slot:
        """The block of that index; one of another kind ends where it begins."""
        slot = self._slots.get(index)
        if slot is None or slot.kind != kind or slot.start:
            if slot is not None:
                self._leave(slot, found)
            slot = self._slots[index] = Slot(kind)
        return slot

    def _next(self) -> int:
        self._parts_count += 1
        return self._parts_count - 1

    def _delta(self, event: dict[str, Any], frame: Frame, found: list[Delta]) -> None:
        index, delta = event.get("contentBlockIndex"), event.get("delta")
        if not isinstance(index, int) or not isinstance(delta, dict):
            return
        if isinstance(text := delta.get("text"), str):
            slot = self._slots.get(index)
            if slot is not None and slot.kind == "text" and slot.part >= 0:  # nearly every delta: without a call for each step
                slot.pieces.append(text)
                found.append(TextDelta(slot.part, text))
            elif text:
                found.append(TextDelta(self._said(self._slot(index, "text", found), text), text))
        elif isinstance(call := delta.get("toolUse"), dict):
            slot = self._slots.get(index)
            if slot is not None and isinstance(piece := call.get("input"), str) and piece:
                if slot.kind == "call":
                    found.append(ToolCallDelta(slot.part, piece))
                elif slot.kind == "server":
                    slot.pieces.append(piece)
        elif isinstance(thought := delta.get("reasoningContent"), dict):
            self._thought(self._slot(index, "reasoning", found), thought, found)
        elif any(mark in frame.payload for mark in _SPELLED_DELTAS):
            with suppress(lossless.InvalidJson):  # a key twice, say: then as it was read at first
                delta = _object(lossless.loads(frame.payload).get("delta"))
            self._given(index, delta, found)

    def _said(self, slot: Slot, text: str) -> int:
        if slot.part < 0:
            slot.part = self._next()
        slot.left = False
        slot.pieces.append(text)
        return slot.part

    def _thought(self, slot: Slot, thought: Mapping[str, Any], found: list[Delta]) -> None:
        if isinstance(text := thought.get("text"), str) and text:
            found.append(ReasoningDelta(self._said(slot, text), text))
        for key, kept in (("signature", slot.signature), ("redactedContent", slot.given)):
            if isinstance(value := thought.get(key), str) and value:
                self._said(slot, "")
                kept.append(value)

    def _given(self, index: int, delta: Mapping[str, Any], found: list[Delta]) -> None:
        """What is gathered as it came: citations of a text, and what the provider's own tools and brush bring."""
        slot = self._slots.get(index)
        if isinstance(citation := delta.get("citation"), dict):
            slot = self._slot(index, "text", found)
            slot.given.append(citation)
            slot.left = False
        elif slot is not None and slot.kind == "result" and isinstance(pieces := delta.get("toolResult"), list):
            slot.given.extend(pieces)
        elif slot is not None and slot.kind == "image" and isinstance(image := delta.get("image"), dict):
            slot.start |= image

    def _stop(self, event: dict[str, Any], frame: Frame, found: list[Delta]) -> None:
        index = event.get("contentBlockIndex")
        slot = self._slots.get(index) if isinstance(index, int) else None
        if slot is not None:
            self._leave(slot, found)

    def _leave(self, slot: Slot, found: list[Delta]) -> None:
        if slot.owed:
            if slot.part < 0:
                slot.part = self._next()
            found.append(slot.leave(self._producer))

    def _message_stop(self, event: dict[str, Any], frame: Frame, found: list[Delta]) -> None:
        native = event.get("stopReason")
        if self._native is None:
            self._native = native if isinstance(native, str) else ""
        if self._metadata:
            self._finish(found)

    def _usage(self, event: dict[str, Any], frame: Frame, found: list[Delta]) -> None:
        if isinstance(usage := event.get("usage"), dict):
            found.append(UsageReport(read_usage(usage), frame.payload.decode("utf-8", "replace")))
        self._metadata = True
        if self._native is not None:
            self._finish(found)

    def _finish(self, found: list[Delta]) -> None:
        """The end of the answer; blocks that were not closed by their own event are closed by it."""
        for slot in self._slots.values():
            self._leave(slot, found)
        native = self._native or ""
        reason = STOP_REASONS.get(native, "other")
        found.append(Finished("tool_calls" if reason == "finished" and self._calls_count else reason, native))
        self._over = True


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
