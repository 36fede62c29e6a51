"""The items of an answer, in the order of its parts (wire-format notes 0.3, 3.1, 3.2).

A reasoning item goes out with the item that it led to or not at all, and never without its encrypted content, since nothing is
stored; an item whose reasoning is left out goes without its id, which stands for that pair. No id goes out twice.
"""

import re
from collections.abc import Sequence
from typing import Any

from app.context.draft import NeutralMessage
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.openai_responses.blocks import TEXT_KEYS, exact, read_block
from app.formats.openai_responses.rules import GIVEN_TYPES, ID_MAY_GO, RESULT_OF
from app.formats.protocols import WireLoss
from app.formats.reading import mapping, word
from app.formats.writing import Writing
from app.models.wire_rules import WireRules

Shape = Sequence[tuple[int, str, int]]
"""Where the parts of one message stand: the item, counted from the message's first, the pointer below it, the part's position in the message."""

_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")
_MODELLED = frozenset({"function_call", "function_call_output", "item_reference"})
"""Types that no opaque block may have: calls are parts of their own, and nothing is stored that could be referred to."""


class Answers:
    """Writes the answers of one request into `input`, and remembers which ids have gone out."""

    __slots__ = ("_unpaired", "ids", "input", "messages", "named", "rules", "writing")

    def __init__(self, writing: Writing, rules: WireRules, messages: Sequence[NeutralMessage], place: list[dict[str, Any]]) -> None:
        self.writing = writing
        self.rules = rules
        self.named = re.compile(rules.name_pattern).fullmatch
        self.messages = messages
        self.input = place
        self.ids: set[str] = set()
        self._unpaired: frozenset[tuple[int, int]] | None = None

    def write(self, source: int, parts: Sequence[Part]) -> Shape:
        """Appends the items of message `source` and tells where its parts stand."""
        answer = _Answer(self, source)
        for index, part in enumerate(parts):
            answer.add(index, part)
        answer.end()
        return answer.shape

    def unpaired(self, source: int, index: int) -> bool:
        """Whether the block is a call without its result among the blocks, or a result without its call; looked for once a request."""
        if self._unpaired is None:
            self._unpaired = _unpaired(self.messages)
        return (source, index) in self._unpaired


class _Answer:
    """One answer in the making. `held`: reasoning that waits for the item that it led to; `broken`: the last one was left out."""

    __slots__ = ("answers", "broken", "content", "held", "led", "message", "shape", "source", "start")

    def __init__(self, answers: Answers, source: int) -> None:
        self.answers = answers
        self.source = source
        self.start = len(answers.input)
        self.shape: list[tuple[int, str, int]] = []
        self.held: list[tuple[int, dict[str, Any]]] = []
        self.led: set[str] = set()
        self.broken = False
        self.message: dict[str, Any] | None = None
        self.content: list[dict[str, Any]] = []

    def add(self, index: int, part: Part) -> None:
        """Places what a part says; `index` is its position in the message."""
        if isinstance(part, Text):
            self._text(index, part)
        elif isinstance(part, ToolCall):
            self._place(index, self._call(index, part))
        elif isinstance(part, Reasoning):
            self._thought(index, part)
        elif isinstance(part, Opaque):
            self._opaque(index, part)
        else:  # none is left in an answer: the pass names them
            self._lose(part.kind, "not_in_format", index)

    def end(self) -> None:
        """Reasoning that no item of the model follows is left out: the server would refuse it."""
        for index, item in self.held:
            self._lose("reasoning", "no_item_follows", index)
            self.led.discard(word(item, "id") or "")
            self.broken = True
        self.held.clear()

    def _lose(self, what: str, why: str, index: int) -> None:
        self.answers.writing.losses.append(WireLoss(what, why, self.source, index))

    def _place(self, index: int, item: dict[str, Any], below: str = "") -> None:
        place = self.answers.input
        for held_index, held in self.held:
            self.shape.append((len(place) - self.start, "", held_index))
            place.append(held)
        self.held.clear()
        self.message = None
        self.shape.append((len(place) - self.start, below, index))
        place.append(item)

    def _identified(self, item: dict[str, Any], after: str | None = None) -> dict[str, Any]:
        """The item as it was, or without its id where that is not to go out."""
        if "id" not in item:
            return item
        id, ids = item["id"], self.answers.ids
        if isinstance(id, str) and id not in ids and not self.broken and (after is None or after in self.led):
            ids.add(id)
            return item
        return {key: value for key, value in item.items() if key != "id"}

    def _text(self, index: int, part: Text) -> None:
        writing = self.answers.writing
        text = writing.text(part.text, self.source, index)
        beside = None if part.opaque is None else read_block(part.opaque, "message")
        if beside is None or beside.part is None:
            if part.opaque is not None:
                self._lose("opaque", "not_in_format", index)
            self._place(index, {"role": "assistant", "content": text}, "/content")
            return
        key = TEXT_KEYS.get(word(beside.part, "type") or "")
        said = writing.value(beside.part, self.source, index)
        if key is not None:
            said = said | {key: text}
        if self.message is not None and beside.position == len(self.content) and beside.item == self.message:
            self.content.append(said)
            self.shape.append((len(self.answers.input) - 1 - self.start, f"/content/{len(self.content) - 1}", index))
            return
        self.content = [said]
        item = writing.value(self._identified(beside.item, beside.after), self.source, index)
        self._place(index, item | {"content": self.content}, "/content/0")
        self.message = beside.item

    def _call(self, index: int, call: ToolCall) -> dict[str, Any]:
        writing = self.answers.writing
        name = call.name
        if not self.answers.named(name):  # from an import, or made up by a model
            name = _UNNAMEABLE.sub("_", name)[:64] or "unnamed"
            self._lose("tool_name", "not_taken", index)
        item: dict[str, Any] = {"type": "function_call"}
        if call.opaque is not None:
            beside = read_block(call.opaque, "function_call")
            if beside is None:
                self._lose("opaque", "not_in_format", index)
            else:
                item = writing.value(self._identified(beside.item, beside.after), self.source, index)
        call_id = writing.text(call.tool_call_id, self.source, index)
        return item | {"call_id": call_id, "name": name, "arguments": writing.text(call.arguments, self.source, index)}

    def _thought(self, index: int, part: Reasoning) -> None:
        if part.opaque is not None:
            self._reasoning(index, exact(part.opaque))
        elif self.answers.rules.reasoning_key:
            text = self.answers.writing.text(part.text, self.source, index)
            self._hold(index, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]})
        else:
            self._lose("reasoning", "not_in_format", index)

    def _reasoning(self, index: int, item: Any) -> None:
        why = None
        if not isinstance(item, dict) or item.get("type") != "reasoning":
            why = "not_in_format"
        elif not item.get("encrypted_content") and not self.answers.rules.reasoning_key:
            why = "no_encrypted_content"
        elif item.get("encrypted_content") and not self.answers.rules.thinking:
            why = "not_taken"
        elif word(item, "id") in self.answers.ids:
            why = "id_repeated"
        if why is not None:
            self.broken = True
            self._lose("reasoning", why, index)
        else:
            self._hold(index, self.answers.writing.value(item, self.source, index))

    def _hold(self, index: int, item: dict[str, Any]) -> None:
        self.broken = False
        self.message = None
        self.held.append((index, item))
        if id := word(item, "id"):
            self.answers.ids.add(id)
            self.led.add(id)

    def _opaque(self, index: int, part: Opaque) -> None:
        item = exact(part.block)
        kind = word(mapping(item), "type")
        if kind == "reasoning":
            self._reasoning(index, item)
            return
        why = None
        if kind is None or kind in _MODELLED:
            why = "not_in_format"
        elif self.answers.unpaired(self.source, index):
            why = "not_paired"
        elif kind not in ID_MAY_GO and word(item, "id") in self.answers.ids:
            why = "id_repeated"
        if why is not None:
            self._lose("opaque", why, index)
            self.end()
            self.broken = True
            return
        if kind in GIVEN_TYPES:
            self.end()
        if kind in ID_MAY_GO:
            item = self._identified(item)
        elif id := word(item, "id"):
            self.answers.ids.add(id)
        self._place(index, self.answers.writing.value(item, self.source, index))


def _unpaired(messages: Sequence[NeutralMessage]) -> frozenset[tuple[int, int]]:
    """The blocks, by message and part, that are calls or results and have no partner."""
    found: set[tuple[int, int]] = set()
    seen = {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCall)}
    open_calls: dict[str, tuple[str, tuple[int, int]]] = {}
    for source, message in enumerate(messages):
        for index, part in enumerate(message.parts):
            item = mapping(exact(part.block)) if isinstance(part, Opaque) else {}
            kind, call_id, place = word(item, "type") or "", word(item, "call_id"), (source, index)
            if kind in RESULT_OF:
                if call_id is None or call_id in seen:
                    found.add(place)
                else:
                    seen.add(call_id)
                    open_calls[call_id] = (RESULT_OF[kind], place)
            elif kind in RESULT_OF.values():
                if call_id is not None and call_id in open_calls and open_calls[call_id][0] == kind:
                    del open_calls[call_id]
                else:
                    found.add(place)
    return frozenset(found | {place for _, place in open_calls.values()})
