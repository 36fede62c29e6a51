"""The stream of a Gemini answer to deltas: SSE events, each a whole response with the next pieces (wire-format notes 5.3)."""

from typing import Any

from app.config.limits import SSE_EVENT_BYTES_MAX, TOOL_CALLS_PER_ANSWER_MAX
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
    UsageReport,
)
from app.formats.answer_reader import BadAnswer, SseAnswerReader
from app.formats.framing.sse import SseEvent
from app.formats.gemini.errors import stream_error
from app.formats.gemini.rules import CANDIDATE, DIALECT, STOP_REASONS
from app.formats.gemini.spans import argument_texts, element_texts, exact_part, part_texts
from app.formats.gemini.usage import read_usage

_TEXT_KEYS = frozenset({"text", "thought", "thoughtSignature"})
_CANDIDATE_MODELLED = frozenset({"content", "finishReason", "finishMessage", "index", "safetyRatings", "tokenCount", "avgLogprobs"})

_USAGES_BETWEEN = 16
"""Of the figures that every event has, the first are told, then these many apart, and the last ones. They are cumulative."""

_MARK_CHARS_MAX = 16


class GeminiStreamReader(SseAnswerReader):
    """One answer. Texts that follow one another are one part, and so are thoughts; a signed piece is a part of its own (5.3).

    `Finished` comes at the end, after usage and whatever else followed the finish reason, of which the last one holds: older models
    repeat it on every event. A stream with neither a finish reason nor a blocked prompt fails as `stream-truncated`.
    `producer` names who may get opaque blocks back.
    """

    DOCUMENT_BEGINS = (b"{", b"[")
    """Without `alt=sse` a list of responses comes."""

    def __init__(self, producer: str = "") -> None:
        super().__init__()
        self._producer = producer
        self._behind: list[bytes] = []
        self._behind_bytes = 0
        self._parts_count = 0
        self._calls_count = 0
        self._open = ""
        self._native = ""
        self._finish_message = ""
        self._blocked = ""
        self._extras: dict[str, Any] = {}
        self._figures: dict[str, Any] = {}
        self._told: dict[str, Any] = {}
        self._usages_count = 0

    def _read(self, data: bytes, found: list[Delta]) -> None:
        events = self._sse.feed(data)
        self._remember(data, bool(events))
        for event in events:
            self._event(event, found)
            if self._over:
                return

    def _cut(self, found: list[Delta]) -> None:
        if self._document is None and not self._native:
            self._unframed(found)
        if not self._over:
            self._finish(found)

    def _remember(self, data: bytes, dispatched: bool) -> None:
        """Keeps what came since the last event, in which an error may stand without the frame of one."""
        if dispatched:
            self._behind.clear()
            self._behind_bytes = 0
        if self._behind_bytes < SSE_EVENT_BYTES_MAX:
            self._behind.append(data)
            self._behind_bytes += len(data)

    def _unframed(self, found: list[Delta]) -> None:
        """An error that came as bare JSON behind the events, line by line; Google's own SDK looks for one too."""
        rest = b"".join(self._behind).replace(b"\r\n", b"\n").strip()
        rest = rest[rest.rfind(b"\n\n") + 1 :].strip()
        if rest.startswith((b"{", b"[")):
            self._whole(rest, found)

    def _whole(self, body: bytes, found: list[Delta]) -> None:
        """An answer that came as one document, or as a list of responses. What is no whole document stays a truncated answer."""
        text = body.decode("utf-8", "replace").lstrip("\ufeff")
        try:
            document = lossless.read(text)
        except (ValueError, RecursionError):
            return
        self._take(document, text, found)

    def _event(self, event: SseEvent, found: list[Delta]) -> None:
        data = event.data
        if len(data) < _MARK_CHARS_MAX and data.strip() == "[DONE]":
            self._finish(found)
            return
        try:
            document = lossless.read(data)
        except (ValueError, RecursionError):
            self._no_json(found)
            return
        self._take(document, data, found)

    def _take(self, document: Any, written: str, found: list[Delta]) -> None:
        """A response, or a list of them, which errors come in too."""
        if isinstance(document, dict):
            self._chunk(document, written, found)
        elif isinstance(document, list):
            for value, text in zip(document, element_texts(written), strict=False):
                if isinstance(value, dict) and not self._over:
                    self._chunk(value, text, found)

    def _chunk(self, chunk: dict[str, Any], raw: str, found: list[Delta]) -> None:
        candidates = chunk.get("candidates")
        for number, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
            if isinstance(candidate, dict) and candidate.get("index") in (0, None):  # more than one is never asked for
                self._candidate(candidate, number, raw, found)
                break
        usage = chunk.get("usageMetadata")
        if isinstance(usage, dict):
            self._figures.update(usage if None not in usage.values() else _given(usage))
            if self._usages_count % _USAGES_BETWEEN == 0:
                self._tell_usage(found)
            self._usages_count += 1
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, dict) and isinstance(feedback.get("blockReason"), str):
            self._blocked = feedback["blockReason"] or self._blocked
        if error := chunk.get("error"):
            self._fail(stream_error(error), found)

    def _candidate(self, candidate: dict[str, Any], number: int, raw: str, found: list[Delta]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        if isinstance(parts, list):
            self._parts(parts, number, raw, found)
        if len(candidate) == 2 and "content" in candidate and "index" in candidate:
            return  # and so are nearly all
        reason, message = candidate.get("finishReason"), candidate.get("finishMessage")
        self._native = reason if isinstance(reason, str) and reason else self._native
        self._finish_message = message if isinstance(message, str) else self._finish_message
        self._extras.update((key, value) for key, value in candidate.items() if key not in _CANDIDATE_MODELLED and value)

    def _parts(self, parts: list[Any], number: int, raw: str, found: list[Delta]) -> None:
        arguments: list[str] | None = None
        for position, part in enumerate(parts):
            if not isinstance(part, dict):
                continue
            text = part.get("text")
            thought = part.get("thought") is True
            if isinstance(text, str) and len(part) == 1 + thought:
                if text:
                    found.append(ReasoningDelta(self._flowing("thought"), text) if thought else TextDelta(self._flowing("text"), text))
                continue
            if part.keys() <= _TEXT_KEYS:
                self._text(part, text if isinstance(text, str) else "", thought, found)
                continue
            part = exact_part(part, raw, number, position)
            call = part.get("functionCall")
            if isinstance(call, dict) and isinstance(call.get("name"), str):
                if arguments is None:
                    arguments = argument_texts(raw, [item["functionCall"] for item in parts if _is_call(item)])
                self._call(part, call, arguments.pop(0), found)
                if self._over:
                    return
            elif isinstance(text, str):
                self._text(part, text, thought, found)
            else:
                written = part_texts(raw, number)[position - len(parts)]
                found.append(OpaqueBlock(self._closed(), DIALECT, self._producer, written, ", ".join(part)[:200]))

    def _text(self, part: dict[str, Any], text: str, thought: bool, found: list[Delta]) -> None:
        """A text or a thought with something beside it is a part of its own, empty or not."""
        beside = _given(part, "text", "thought")
        if beside or text:
            index = self._closed() if beside else self._flowing("thought" if thought else "text")
            if text:
                found.append(ReasoningDelta(index, text) if thought else TextDelta(index, text))
            if beside:
                found.append(PartBlock(index, lossless.dumps({"thought": True} | beside if thought else beside), self._producer))

    def _call(self, part: dict[str, Any], call: dict[str, Any], arguments: str, found: list[Delta]) -> None:
        """A call, which arrives whole. Without arguments it has none to be waited for: Gemini leaves an empty object out."""
        if call.get("partialArgs") or call.get("willContinue"):
            self._fail(StreamFailed("upstream-error", "The arguments of a call came in pieces, which was not asked for."), found)
            return
        self._calls_count += 1
        if self._calls_count > TOOL_CALLS_PER_ANSWER_MAX:
            raise BadAnswer
        index, given = self._closed(), call.get("id")
        found.append(ToolCallStarted(index, call["name"], given if isinstance(given, str) else ""))
        found.append(ToolCallDelta(index, arguments))
        inner, beside = _given(call, "name", "args"), _given(part, "functionCall")
        if inner or beside:
            found.append(PartBlock(index, lossless.dumps({"functionCall": inner} | beside if inner else beside), self._producer))

    def _flowing(self, kind: str) -> int:
        """The number of the part that a piece of text belongs to: the last one, or a new one."""
        if self._open != kind:
            self._closed()
            self._open = kind
        return self._parts_count - 1

    def _closed(self) -> int:
        """The number of a new part that nothing is added to."""
        self._open = ""
        self._parts_count += 1
        return self._parts_count - 1

    def _finish(self, found: list[Delta]) -> None:
        native = self._native or self._blocked
        if not native:
            self._truncated(found, "a finish reason")
            return
        reason = STOP_REASONS.get(native, "other") if self._native else "refused"
        if self._finish_message and reason != "finished":
            self._extras["finishMessage"] = self._finish_message
        if reason == "finished" and self._calls_count:
            reason = "tool_calls"
        self._leave(found)
        found.append(Finished(reason, native))
        self._over = True

    def _fail(self, failed: StreamFailed, found: list[Delta]) -> None:
        self._leave(found)
        super()._fail(failed, found)

    def _tell_usage(self, found: list[Delta]) -> None:
        if self._figures != self._told:
            self._told = dict(self._figures)
            found.append(UsageReport(read_usage(self._told), lossless.dumps({"usageMetadata": self._told})))

    def _leave(self, found: list[Delta]) -> None:
        """What stood beside the content: grounding, citations, a token to go on with. It belongs to the answer and to no request."""
        self._tell_usage(found)
        if self._extras:
            found.append(OpaqueBlock(self._parts_count, CANDIDATE, self._producer, lossless.dumps(self._extras), ", ".join(self._extras)[:200]))


def _given(value: dict[str, Any], *but: str) -> dict[str, Any]:
    """The members that say something, without the named ones."""
    return {key: item for key, item in value.items() if key not in but and item not in (None, "")}


def _is_call(part: Any) -> bool:
    call = part.get("functionCall") if isinstance(part, dict) else None
    return isinstance(call, dict) and isinstance(call.get("name"), str)
