"""The stream of a Responses answer to deltas, as servers really send it (wire-format notes 3.3 and 12.5)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from app.entries import lossless
from app.entries.deltas import Delta, Finished, StreamFailed, UsageReport
from app.formats.answer_reader import SseAnswerReader
from app.formats.framing.sse import SseEvent
from app.formats.openai_refusals import stream_error
from app.formats.openai_responses.outputs import Outputs
from app.formats.openai_responses.rules import INCOMPLETE_REASONS
from app.formats.openai_responses.usage import read_usage
from app.formats.reading import mapping, word

_SAID: Final[dict[str, Callable[[Outputs, Mapping[str, Any], list[Delta]], None]]] = {
    "response.output_text.delta": Outputs.text,
    "response.refusal.delta": Outputs.refusal,
    "response.reasoning_summary_text.delta": Outputs.reasoning,
    "response.reasoning_text.delta": Outputs.reasoning,
    "response.function_call_arguments.delta": Outputs.arguments,
    "response.function_call_arguments.done": Outputs.arguments_done,
    "response.output_item.added": Outputs.added,
}
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_KEPT_OF_END = ("id", "object", "status", "model", "service_tier", "incomplete_details", "usage")
"""What is kept of a terminal event beside its figures: the rest of it repeats the request and the answer."""


class ResponsesStreamReader(SseAnswerReader):
    """One answer. Each reasoning item, call, text of a message and unmodelled item is a part, numbered as its item first appears.

    `Finished` comes with the terminal event, and nothing after it; without one the stream fails as `stream-truncated`, and so it does where
    the terminal event says that all is well while a call has not come whole. Events that are not known are skipped. `producer` names who
    may get blocks back.
    """

    def __init__(self, producer: str = "") -> None:
        super().__init__()
        self._outputs = Outputs(producer)

    def _whole(self, body: bytes, found: list[Delta]) -> None:
        """An answer that came as one document, or an error that did."""
        try:
            document = lossless.loads(body)
        except lossless.InvalidJson:
            return
        if isinstance(document.get("output"), list):
            self._end(f"response.{word(document, 'status')}", document, lambda: document, found)
        elif document.get("error"):
            self._fail(stream_error(document), found)

    def _event(self, event: SseEvent, found: list[Delta]) -> None:
        try:
            value = lossless.read(event.data)
        except (ValueError, RecursionError):
            if event.data.strip() == "[DONE]":
                return
            self._no_json(found)
            return
        if not isinstance(value, dict):
            return
        kind = value.get("type")
        if type(kind) is not str:
            kind = event.name
        say = _SAID.get(kind)
        if say is not None:
            say(self._outputs, value, found)
        elif kind == "response.output_item.done":
            self._outputs.done(value, _exactly(event.data, value).get("item"), found)
        elif kind in _ENDS:
            self._end(kind, mapping(value.get("response")), lambda: mapping(_exactly(event.data, value).get("response")), found)
        elif kind == "error" or (kind == "message" and value.get("error")):
            self._fail(stream_error(value), found)

    def _end(self, kind: str, response: Mapping[str, Any], spelled: Callable[[], Mapping[str, Any]], found: list[Delta]) -> None:
        """The terminal event. `spelled` gives its response with every number as it was written, for items that came in no other event."""
        output = response.get("output")
        if isinstance(output, list) and len(output) > self._outputs.whole_count:
            self._outputs.final(spelled()["output"], found)
        usage = response.get("usage")
        if isinstance(usage, dict):
            kept = {key: response[key] for key in _KEPT_OF_END if key in response}
            found.append(UsageReport(read_usage(usage), lossless.dumps({"type": kind, "response": kept})))
        if kind == "response.completed":
            self._finish(found)
        elif kind == "response.incomplete":
            native = word(mapping(response.get("incomplete_details")), "reason") or "incomplete"
            found.append(Finished(INCOMPLETE_REASONS.get(native, "other"), native))
            self._over = True
        else:
            self._fail(stream_error(response.get("error")), found)

    def _finish(self, found: list[Delta]) -> None:
        outputs = self._outputs
        if outputs.open_call:
            self._fail(StreamFailed("stream-truncated", "The stream ended before a call was whole.", retryable=True), found)
            return
        found.append(Finished("tool_calls" if outputs.called else "refused" if outputs.refused else "finished", "completed"))
        self._over = True


def _exactly(data: str, read: dict[str, Any]) -> dict[str, Any]:
    """The event with numbers and key order as they were written, since an item goes back as it came; as it was read where that fails."""
    try:
        if orjson.dumps(read) == data.encode():  # as compact as it may be, and so read without loss
            return read
    except (TypeError, UnicodeEncodeError):
        pass
    try:
        value = lossless.loads(data)
    except lossless.InvalidJson:
        return read
    return value if isinstance(value, dict) else read
