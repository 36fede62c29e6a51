"""The output items of an answer in the making: which part of the answer each of them is, and what it has said so far.

Items are known by their `output_index`, else by their id. What is final is what `response.output_item.done` has (wire-format notes 3.3):
what was said before is completed from it, and what a server sends in no delta at all is taken from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries import lossless
from app.entries.deltas import Delta, OpaqueBlock, PartBlock, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStarted
from app.formats.answer_reader import BadAnswer
from app.formats.openai_responses.blocks import TEXT_KEYS, call_block, text_block
from app.formats.openai_responses.rules import DIALECT
from app.formats.reading import mapping, word


@dataclass(slots=True)
class Saying:
    """A part of the answer and the pieces that it has said. `place` tells one summary or content of reasoning from the next."""

    part: int
    pieces: list[str] = field(default_factory=list)
    place: tuple[str, Any] | None = None

    def rest(self, whole: str) -> str | None:
        """What of the whole has not been said; None where something else was."""
        said = "".join(self.pieces)
        return whole[len(said) :] if whole.startswith(said) else None


@dataclass(slots=True)
class Output:
    """One item. `kind` is its type, `led_by` the reasoning that came before it; `saying` is None for a message, which has `texts`."""

    kind: str
    led_by: "Output | None"
    saying: Saying | None
    texts: dict[int, Saying] = field(default_factory=dict)
    id: str | None = None
    call_id: str = ""
    started: bool = False
    whole: bool = False

    @property
    def after(self) -> str | None:
        """The id of the reasoning that led to it, as far as it is known."""
        return None if self.led_by is None else self.led_by.id


class Outputs:
    """All items of one answer. Every method gives the deltas of what it is told; parts are numbered as their items first appear."""

    __slots__ = ("_at", "_by_id", "_by_index", "_calls", "_last", "_parts", "_producer", "_reasoning", "_saying", "all", "refused")

    def __init__(self, producer: str) -> None:
        self._producer = producer
        self._by_index: dict[int, Output] = {}
        self._by_id: dict[str, Output] = {}
        self._last: Output | None = None
        self._parts = 0
        self._calls = 0
        self._reasoning: Output | None = None
        self._at: tuple[Any, Any] | None = None
        self._saying: Saying | None = None
        self.all: list[Output] = []
        self.refused = False

    def added(self, event: Mapping[str, Any], found: list[Delta]) -> None:
        """`response.output_item.added`."""
        item = mapping(event.get("item"))
        if (kind := word(item, "type")) is not None and self._known(event, item) is None:
            output = self._open(event, kind, item)
            if kind == "function_call":
                self._start(output, item, found)

    def refusal(self, event: Mapping[str, Any], found: list[Delta]) -> None:
        """A delta of a message's refusal."""
        self.refused = True
        self.text(event, found)

    def text(self, event: Mapping[str, Any], found: list[Delta]) -> None:
        """A delta of a message's text."""
        piece = event.get("delta")
        if type(piece) is not str or not piece:
            return
        at = (event.get("output_index"), event.get("content_index"))
        if at != self._at or self._saying is None:  # nearly every event of a stream goes on with the text of the last one
            self._saying = self._text(self._output(event, "message"), event.get("content_index"))
            self._at = at if type(at[0]) is int else None
        self._saying.pieces.append(piece)
        found.append(TextDelta(self._saying.part, piece))

    def reasoning(self, event: Mapping[str, Any], found: list[Delta]) -> None:
        """A delta of a summary or of the reasoning itself; a blank line stands between two of them."""
        piece = event.get("delta")
        if not isinstance(piece, str) or not piece:
            return
        key = "summary_index" if "summary_index" in event else "content_index"
        saying = self._output(event, "reasoning").saying
        if saying is not None:
            self._think(saying, (key, event.get(key)), piece, found)

    def arguments(self, event: Mapping[str, Any], found: list[Delta]) -> None:
        """A delta of a call's arguments."""
        piece = event.get("delta")
        output = self._output(event, "function_call")
        if isinstance(piece, str) and piece and output.saying is not None:
            output.saying.pieces.append(piece)
            if output.started:
                found.append(ToolCallDelta(output.saying.part, piece))

    def arguments_done(self, event: Mapping[str, Any], found: list[Delta]) -> None:
        """The arguments whole."""
        if isinstance(whole := event.get("arguments"), str):
            self._complete(self._output(event, "function_call"), whole, found)

    def done(self, event: Mapping[str, Any], item: Any, found: list[Delta]) -> None:
        """`response.output_item.done`, its item spelled exactly."""
        kind = word(mapping(item), "type")
        if kind is None:
            return
        output = self._known(event, item) or self._open(event, kind, item)
        if output.kind != kind or (output.whole and kind != "function_call"):
            return
        output.id = word(item, "id") or output.id
        if output.saying is None:
            self._message_done(output, item, found)
            output.whole = True
            return
        if kind == "reasoning":
            self._reasoning_done(output.saying, item, found)
        elif kind == "function_call":
            self._start(output, item, found)
            self._complete(output, item.get("arguments") if isinstance(item.get("arguments"), str) else "", found)
        if kind == "function_call" and output.started:
            found.append(PartBlock(output.saying.part, call_block(item, output.after), self._producer))
        elif kind != "reasoning":
            found.append(OpaqueBlock(output.saying.part, DIALECT, self._producer, lossless.dumps(item), kind[:200]))
        output.whole = True

    def final(self, items: Sequence[Any], found: list[Delta]) -> None:
        """The items of a terminal event, spelled exactly: those that did not come by themselves."""
        whole = [output for output in self.all if output.whole]
        ids = {output.id for output in whole} | {output.call_id or None for output in whole} - {None}
        for index, item in enumerate(items):
            id = word(mapping(item), "id")
            if id not in ids and word(mapping(item), "call_id") not in ids:
                self.done({"item_id": id} if id in self._by_id else {"output_index": index}, item, found)

    @property
    def whole_count(self) -> int:
        """How many items have come whole."""
        return sum(output.whole for output in self.all)

    @property
    def called(self) -> bool:
        """Whether there is a call."""
        return self._calls > 0

    @property
    def open_call(self) -> bool:
        """Whether a call has not come whole."""
        return any(output.kind == "function_call" and not output.whole for output in self.all)

    def _known(self, event: Mapping[str, Any], item: Mapping[str, Any]) -> Output | None:
        index = event.get("output_index")
        if type(index) is int:
            return self._by_index.get(index)
        return self._by_id.get(word(item, "id") or word(event, "item_id") or "")

    def _output(self, event: Mapping[str, Any], kind: str) -> Output:
        """The item that a delta belongs to: as it says, else the last one of that type; a new one where it was never announced."""
        found = self._known(event, {})
        if found is None and self._last is not None and "output_index" not in event and "item_id" not in event:
            found = self._last
        return found if found is not None and found.kind == kind else self._open(event, kind, {})

    def _open(self, event: Mapping[str, Any], kind: str, item: Mapping[str, Any]) -> Output:
        saying = None
        if kind != "message":
            saying = Saying(self._parts)
            self._parts += 1
        output = Output(kind, self._reasoning, saying, id=word(item, "id") or word(event, "item_id"), call_id=word(item, "call_id") or "")
        self._last = output
        self._at = None
        self.all.append(output)
        if type(index := event.get("output_index")) is int:
            self._by_index[index] = output
        if output.id is not None:
            self._by_id[output.id] = output
        if kind == "reasoning":
            self._reasoning = output
        return output

    def _text(self, output: Output, index: Any) -> Saying:
        place = index if type(index) is int else 0
        saying = output.texts.get(place)
        if saying is None:
            saying = output.texts[place] = Saying(self._parts)
            self._parts += 1
        return saying

    def _think(self, saying: Saying, place: tuple[str, Any], piece: str, found: list[Delta]) -> None:
        if saying.pieces and saying.place != place:
            piece = "\n\n" + piece
        saying.place = place
        saying.pieces.append(piece)
        found.append(ReasoningDelta(saying.part, piece))

    def _start(self, output: Output, item: Mapping[str, Any], found: list[Delta]) -> None:
        """Says that a call began, once its name is known, and what was said of it before that."""
        name = word(item, "name")
        output.call_id = output.call_id or word(item, "call_id") or ""
        if output.started or name is None or output.saying is None:
            return
        if self._calls >= TOOL_CALLS_PER_ANSWER_MAX:
            raise BadAnswer
        self._calls += 1
        output.started = True
        found.append(ToolCallStarted(output.saying.part, name, output.call_id))
        if output.saying.pieces:
            found.append(ToolCallDelta(output.saying.part, "".join(output.saying.pieces)))

    def _complete(self, output: Output, whole: str, found: list[Delta]) -> None:
        if output.saying is None:
            return
        rest = output.saying.rest(whole)
        if rest is None:
            raise BadAnswer("The stream contradicts itself about the arguments of a call.")
        if rest:
            output.saying.pieces.append(rest)
            if output.started:
                found.append(ToolCallDelta(output.saying.part, rest))
        output.whole = output.started

    def _message_done(self, output: Output, item: dict[str, Any], found: list[Delta]) -> None:
        content = item.get("content")
        for index, part in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(part, dict):
                continue
            kind = word(part, "type") or ""
            self.refused = self.refused or kind == "refusal"
            saying, whole = self._text(output, index), part.get(TEXT_KEYS.get(kind, ""))
            rest = saying.rest(whole) if isinstance(whole, str) else None
            if rest or not saying.pieces:
                saying.pieces.append(rest or "")
                found.append(TextDelta(saying.part, rest or ""))
            found.append(PartBlock(saying.part, text_block(item, index, output.after), self._producer))

    def _reasoning_done(self, saying: Saying, item: dict[str, Any], found: list[Delta]) -> None:
        """Completes what was said by the summaries, and by the reasoning itself where nothing or the same was said before."""
        for key, place in (("summary", "summary_index"), ("content", "content_index")):
            listed = item.get(key)
            texts = [part["text"] for part in listed if isinstance(part, dict) and word(part, "text")] if isinstance(listed, list) else []
            rest = saying.rest("\n\n".join(texts)) if texts else None
            if rest:
                saying.pieces.append(rest)
                found.append(ReasoningDelta(saying.part, rest))
                saying.place = (place, len(texts))
        found.append(PartBlock(saying.part, lossless.dumps(item), self._producer))
