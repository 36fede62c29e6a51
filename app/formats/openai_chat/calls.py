"""Which streamed fragment belongs to which tool call: by index, else by id, else to the last one."""

from dataclasses import dataclass, field
from typing import Any

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries import lossless
from app.entries.deltas import Delta, ToolCallDelta, ToolCallStarted
from app.formats.answer_reader import BadAnswer

_MODELLED = frozenset({"index", "id", "type", "function"})


@dataclass(slots=True)
class Slot:
    """One call in the making. `part` is -1 until its name is known; what came before waits in `waiting`. `beside`: keys that we do not model."""

    index: int | None
    provider_id: str
    name: str = ""
    part: int = -1
    waiting: list[str] = field(default_factory=list)
    beside: dict[str, Any] = field(default_factory=dict)


class CallSlots:
    """Keys fragments as servers really send them (wire-format notes 1.3 and 2.4).

    Without an index the id decides; without either a fragment goes to the last call. One index with a second id and a
    name is a second call: some servers number every parallel call 0. The id `"null"` is no id. A name that comes again is ignored.
    """

    __slots__ = ("slots",)

    def __init__(self) -> None:
        self.slots: list[Slot] = []

    def take(self, fragment: Any, next_part: int) -> list[Delta]:
        """The deltas of one element of `delta.tool_calls`; `next_part` is the part number that a new call gets. Raises `BadAnswer`."""
        if not isinstance(fragment, dict):
            return []
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        raw_id, raw_index, raw_name = fragment.get("id"), fragment.get("index"), function.get("name")
        provider_id = raw_id if isinstance(raw_id, str) and raw_id != "null" else ""
        index = raw_index if isinstance(raw_index, int) else None
        name = raw_name if isinstance(raw_name, str) else ""
        slot = self._slot(index, provider_id, name)
        slot.provider_id = slot.provider_id or provider_id
        if fragment.keys() - _MODELLED:
            slot.beside |= {key: value for key, value in fragment.items() if key not in _MODELLED and value}
        said = _arguments(function.get("arguments"))
        if slot.part >= 0:
            return [ToolCallDelta(slot.part, said)] if said else []
        if said:
            slot.waiting.append(said)
        if not name:
            return []
        slot.name, slot.part = name, next_part
        waited = "".join(slot.waiting)
        slot.waiting.clear()
        started = ToolCallStarted(slot.part, name, slot.provider_id)
        return [started, ToolCallDelta(slot.part, waited)] if waited else [started]

    def _slot(self, index: int | None, provider_id: str, name: str) -> Slot:
        found: Slot | None = None
        if index is not None:
            found = next((slot for slot in reversed(self.slots) if slot.index == index), None)
            if found is not None and name and provider_id and found.provider_id and provider_id != found.provider_id:
                found = next((slot for slot in self.slots if slot.provider_id == provider_id), None)
        elif provider_id:
            found = next((slot for slot in self.slots if slot.provider_id == provider_id), None)
        elif self.slots and not name:
            found = self.slots[-1]
        if found is None:
            if len(self.slots) >= TOOL_CALLS_PER_ANSWER_MAX:
                raise BadAnswer
            found = Slot(index, provider_id)
            self.slots.append(found)
        return found

    def nameless(self) -> list[dict[str, Any]]:
        """What was said in slots that never got a name: no call, and not lost either."""
        return [{**slot.beside, "id": slot.provider_id, "arguments": "".join(slot.waiting)} for slot in self.slots if slot.part < 0]

    def beside(self) -> list[tuple[int, dict[str, Any]]]:
        """Part number and keys of each call that has some which we do not model (`extra_content`: Gemini's signatures, notes 0.3)."""
        return [(slot.part, slot.beside) for slot in self.slots if slot.part >= 0 and slot.beside]

    @property
    def started(self) -> bool:
        return any(slot.part >= 0 for slot in self.slots)


def _arguments(value: Any) -> str:
    """The argument text; a server that sends an object instead of its text (Mistral) gets it spelled out."""
    if value is None or isinstance(value, str):
        return value or ""
    return lossless.dumps(value)
