"""The one fold from deltas to an answer, live and in recovery."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from app.config.limits import USAGE_FRAMES_KEPT_MAX
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
from app.entries.messages import Answer, Status
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall, with_block


@dataclass(slots=True)
class _Building:
    part: Part
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class AnswerFold:
    """Folds deltas in order. `add` is O(delta); `answer` joins what was gathered and may be called at any time.

    `usage_frames` are the frames that reported usage, the first ones and the last.
    """

    usage: Usage | None = None
    usage_frames: list[str] = field(default_factory=list)
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
                if raw:
                    del self.usage_frames[USAGE_FRAMES_KEPT_MAX - 1 :]
                    self.usage_frames.append(raw)
            case Finished():
                self.finished = self.finished or delta
            case StreamFailed():
                self.failed = self.failed or delta

    def _open(self, index: int, part: Part) -> _Building:
        return self._parts.setdefault(index, _Building(part))

    @property
    def usage_raw(self) -> str:
        """The last frame that reported usage; empty where none did."""
        return self.usage_frames[-1] if self.usage_frames else ""

    def figures(self) -> tuple[dict[str, Any], ...]:
        """The figures of the usage frames as the provider spelled them, without anything else that the frames say."""
        return tuple([found for found in map(_figures, self.usage_frames) if found is not None])

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


_FIGURES = ("usage", "usageMetadata")
_FRAME_DEPTH = 3
_WORD = re.compile("[A-Za-z_]{1,32}")


def _figures(frame: str) -> dict[str, Any] | None:
    try:
        found = _found(lossless.loads(frame), _FRAME_DEPTH)
    except lossless.InvalidJson:
        return None
    return None if found is None else _plain(found)


def _found(value: Any, depth: int) -> dict[str, Any] | None:
    """The first object under one of the names that providers give their figures, not far below the top."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict) or not depth:
        return None
    for name in _FIGURES:
        if isinstance(figures := value.get(name), dict):
            return figures
    return next((found for inner in value.values() if (found := _found(inner, depth - 1)) is not None), None)


def _plain(value: Any) -> Any:
    """Numbers and single words of a kind (`standard`, `TEXT`), however deep they stand; any other text is no figure."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if not isinstance(item, str) or _WORD.fullmatch(item)}
    if isinstance(value, list):
        return [_plain(item) for item in value if not isinstance(item, str) or _WORD.fullmatch(item)]
    return value


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
