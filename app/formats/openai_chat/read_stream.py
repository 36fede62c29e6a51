"""The stream of a Chat Completions answer to deltas, as servers really send it (wire-format notes 1.3, 2.3, 2.4, 2.6)."""

from typing import Any

from app.entries import lossless
from app.entries.deltas import Delta, Finished, OpaqueBlock, PartBlock, ReasoningDelta, StreamFailed, TextDelta, ToolCallStarted, UsageReport
from app.formats.answer_reader import SseAnswerReader
from app.formats.framing.sse import SseEvent
from app.formats.openai_chat.calls import CallSlots
from app.formats.openai_chat.rules import DIALECT, GIVEN_BACK, STOP_REASONS
from app.formats.openai_chat.thoughts import Thoughts
from app.formats.openai_chat.usage import read_usage
from app.formats.openai_refusals import stream_error

_MODELLED = frozenset(
    {"role", "content", "refusal", "tool_calls", "reasoning", "reasoning_content", "reasoning_details", "function_call", "obfuscation", "name"}
)


class ChatStreamReader(SseAnswerReader):
    """One answer. Text, reasoning and refusal have a part each, every call its own; parts are numbered as they first appear.

    `Finished` comes at `[DONE]` or at the end, after usage and whatever else followed the finish reason. A stream without a
    finish reason fails as `stream-truncated`. `[DONE]` alone does not save it, since proxies append one to what was cut;
    only after a final usage report is it taken for the mark that some servers (Snowflake) send instead of a reason.
    `producer` names who may get opaque blocks back.
    """

    def __init__(self, producer: str = "") -> None:
        super().__init__()
        self._producer = producer
        self._calls = CallSlots()
        self._parts: dict[str, int] = {}
        self._parts_count = 0
        self._native: str | None = None
        self._refused = False
        self._thoughts = Thoughts()
        self._beside: dict[str, Any] = {}
        self._extras: dict[str, list[Any]] = {}
        self._usage: Any = None
        self._summed = False

    def _whole(self, body: bytes, found: list[Delta]) -> None:
        """An answer that came as one document: its message is read like one great delta."""
        try:
            document = lossless.loads(body)
        except lossless.InvalidJson:
            return
        choice = _first(document.get("choices"))
        if "message" in choice:
            choice["delta"] = choice["message"]
        self._chunk(document, body.decode(), found)

    def _event(self, event: SseEvent, found: list[Delta]) -> None:
        data = event.data
        if data.strip() == "[DONE]":
            if self._native is None and self._summed and self._parts_count:
                self._native = ""
            self._finish(found)
            return
        try:
            chunk = lossless.read(data)
        except (ValueError, RecursionError):
            self._no_json(found)
            return
        if isinstance(chunk, dict):
            self._chunk(chunk, data, found)

    def _chunk(self, chunk: dict[str, Any], raw: str, found: list[Delta]) -> None:
        groq = chunk.get("x_groq")
        beside = groq if isinstance(groq, dict) else {}
        error = chunk.get("error") or beside.get("error")
        choice = _first(chunk.get("choices"))
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._delta(delta, found)
        usage = chunk.get("usage") or beside.get("usage")
        if isinstance(usage, dict) and usage != self._usage:
            self._usage = usage
            found.append(UsageReport(read_usage(usage), raw))
        self._summed = isinstance(usage, dict) and not choice
        native = choice.get("finish_reason")
        if error or native == "error" or chunk.get("object") == "error":
            if isinstance(error, dict) and error.get("failed_generation"):
                self._keep("failed_generation", error["failed_generation"])
            self._fail(stream_error(error or chunk), found)
        elif isinstance(native, str) and native and self._native is None:
            self._native = native

    def _delta(self, delta: dict[str, Any], found: list[Delta]) -> None:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            found.append(ReasoningDelta(self._part("reasoning"), reasoning))
        details = delta.get("reasoning_details")
        if isinstance(details, list) and details:
            part = self._part("reasoning")
            thought = self._thoughts.details(details)
            if thought and not reasoning:
                found.append(ReasoningDelta(part, thought))
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                found.append(TextDelta(self._part("text"), content))
        elif isinstance(content, list):
            for piece in content:
                self._piece(piece, found)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            found.append(TextDelta(self._part("refusal"), refusal))
        calls = delta.get("tool_calls")
        old = delta.get("function_call")
        for fragment in calls if isinstance(calls, list) else [{"index": 0, "function": old}] if isinstance(old, dict) else ():
            said = self._calls.take(fragment, self._parts_count)
            self._parts_count += sum(isinstance(item, ToolCallStarted) for item in said)
            found.extend(said)
        for key, value in delta.items():
            if key in _MODELLED or not value:
                continue
            if key in GIVEN_BACK:
                self._beside[key] = value
            else:
                self._keep(key, value)

    def _piece(self, piece: Any, found: list[Delta]) -> None:
        """One chunk of a content list: text, or thinking as Mistral spells it; anything else is kept as received."""
        if not isinstance(piece, dict):
            return
        text = piece.get("text")
        if piece.get("type") in ("text", "output_text") and isinstance(text, str):
            if text:
                found.append(TextDelta(self._part("text"), text))
        elif piece.get("type") == "thinking" and isinstance(piece.get("thinking"), list):
            part, said = self._part("reasoning"), self._thoughts.chunk(piece)
            if said:
                found.append(ReasoningDelta(part, said))
        elif isinstance(piece.get("type"), str):
            found.append(OpaqueBlock(self._parts_count, DIALECT, self._producer, lossless.dumps(piece), piece["type"][:200]))
            self._parts_count += 1
        else:
            self._keep("content", piece)

    def _keep(self, key: str, value: Any) -> None:
        """A field that we do not model, once where a server repeats it on every chunk."""
        kept = self._extras.setdefault(key, [])
        if not kept or kept[-1] != value:
            kept.append(value)

    def _part(self, kind: str) -> int:
        if kind not in self._parts:
            self._parts[kind] = self._parts_count
            self._parts_count += 1
        return self._parts[kind]

    def _cut(self, found: list[Delta]) -> None:
        self._finish(found)

    def _finish(self, found: list[Delta]) -> None:
        if self._native is None:
            self._truncated(found, "a finish reason")
            return
        self._leave(found)
        reason = STOP_REASONS.get(self._native or "stop", "other")
        if reason == "finished" and self._calls.started:
            reason = "tool_calls"
        elif reason == "finished" and self._refused:
            reason = "refused"
        found.append(Finished(reason, self._native))
        self._over = True

    def _fail(self, failed: StreamFailed, found: list[Delta]) -> None:
        self._leave(found)
        super()._fail(failed, found)

    def _leave(self, found: list[Delta]) -> None:
        """What was gathered and has no delta of its own: blocks that belong to a part, calls without a name, unknown fields."""
        if (block := self._thoughts.block()) is not None:
            found.append(PartBlock(self._parts["reasoning"], block, self._producer))
        for part, beside in self._calls.beside():
            found.append(PartBlock(part, lossless.dumps(beside), self._producer))
        if self._beside and "text" in self._parts:
            found.append(PartBlock(self._parts["text"], lossless.dumps(self._beside), self._producer))
        else:
            self._extras |= {key: [value] for key, value in self._beside.items()}
        if nameless := self._calls.nameless():
            self._extras["tool_calls"] = list(nameless)
        if self._extras:
            found.append(OpaqueBlock(self._parts_count, DIALECT, self._producer, lossless.dumps(self._extras), ", ".join(self._extras)[:200]))


def _first(choices: Any) -> dict[str, Any]:
    """The choice with index 0; more than one is never asked for."""
    listed = choices if isinstance(choices, list) else ()
    return next((choice for choice in listed if isinstance(choice, dict) and choice.get("index") in (0, None)), {})
