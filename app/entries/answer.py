"""The one fold from deltas to an answer, live and in recovery."""

from dataclasses import dataclass, field, replace

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
from app.entries.messages import Answer, Status
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall, with_block


@dataclass(slots=True)
class _Building:
    part: Part
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class AnswerFold:
    """Folds deltas in order. `add` is O(delta); `answer` joins what was gathered and may be called at any time."""

    usage: Usage | None = None
    usage_raw: str = ""
    finished: Finished | None = None
    failed: StreamFailed | None = None
    _parts: dict[int, _Building] = field(default_factory=dict)

    def add(self, delta: Delta) -> None:
        match delta:
            case TextDelta(part, text):
                self._open(part, Text("")).pieces.append(text)
            case ReasoningDelta(part, text):
                self._open(part, Reasoning("")).pieces.append(text)
            case PartBlock(part, opaque, producer):
                building = self._open(part, Reasoning(""))
                building.part = with_block(building.part, opaque, producer)
            case ToolCallStarted(part, name, provider_id, tool_call_id):
                known = provider_id if provider_id and provider_id != tool_call_id else None
                self._open(part, ToolCall(tool_call_id, name, "", known))
            case ToolCallDelta(part, arguments):
                building_or_none = self._parts.get(part)
                if building_or_none is not None:
                    building_or_none.pieces.append(arguments)
            case OpaqueBlock(part, format, producer, block, preview):
                self._open(part, Opaque(format, producer, block, preview))
            case UsageReport(usage, raw):
                self.usage = usage if self.usage is None else merge_usage(self.usage, usage)
                self.usage_raw = raw or self.usage_raw
            case Finished():
                self.finished = self.finished or delta
            case StreamFailed():
                self.failed = self.failed or delta

    def _open(self, index: int, part: Part) -> _Building:
        return self._parts.setdefault(index, _Building(part))

    @property
    def empty(self) -> bool:
        """Whether nothing was said: no part, or only blank ones."""
        return not any(_said(building) for building in self._parts.values())

    def parts(self) -> tuple[Part, ...]:
        """The parts so far, in order; parts without content are left out."""
        return tuple(_built(building) for _, building in sorted(self._parts.items()) if _said(building))

    def answer(self, status: Status, model: str | None = None, call_id: str | None = None) -> Answer:
        """The answer as it stands. An unfinished one keeps its calls for the transcript; only a completed one is acted on."""
        return Answer(self.parts(), status, model, None if self.finished is None else self.finished.stop_reason, call_id)


def _said(building: _Building) -> bool:
    match building.part:
        case ToolCall() | Opaque():
            return True
        case Reasoning(opaque=opaque) | Text(opaque=opaque) if opaque is not None:
            return True
        case _:
            return any(building.pieces)


def _built(building: _Building) -> Part:
    said = "".join(building.pieces)
    match building.part:
        case Text():
            return building.part._replace(text=said)
        case Reasoning():
            return replace(building.part, text=said)
        case ToolCall():
            return replace(building.part, arguments=said)
        case other:
            return other


def merge_usage(old: Usage, new: Usage) -> Usage:
    """Each figure of the later report where it has one, else the earlier."""
    return Usage(
        *(
            later if later is not None else earlier
            for earlier, later in (
                (old.input, new.input),
                (old.cached, new.cached),
                (old.cache_write, new.cache_write),
                (old.output, new.output),
                (old.reasoning, new.reasoning),
            )
        )
    )
