"""What a stream says, one small fact at a time, and its form on the event stream and in the delta log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STOP_REASONS: tuple[str, ...] = ("finished", "tool_calls", "length", "window_full", "refused", "paused", "malformed", "other")
"""The neutral words (wire-format notes 0.5). `paused`: the provider wants the same request again to go on; `malformed`: it broke
its own output; `other`: a word that no table knows, so that no unknown ending passes for a finished one."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None is unknown, which is not zero. `input` includes `cached` and `cache_write`, `output` includes `reasoning`."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


FIGURE_MAX = 10**12
"""Of one figure: more than any call has, and little enough for the sums of millions of calls in 64 bits."""


def token_count(value: object) -> int | None:
    """A figure as a provider spelled it; None, which is unknown, for what is no number of tokens or more than `FIGURE_MAX`."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= FIGURE_MAX else None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """`part` is the position in the answer's parts, from 0."""

    part: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    part: int
    text: str


@dataclass(frozen=True, slots=True)
class PartBlock:
    """What the provider put with a part and wants back with it, as received (JSON text). Of a part that nothing opened: a reasoning part's."""

    part: int
    opaque: str
    producer: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """`provider_id` is what the provider sent (may be empty); `tool_call_id` is set by `name_calls`."""

    part: int
    name: str
    provider_id: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    part: int
    arguments: str


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """A block that we do not model, whole."""

    part: int
    format: str
    producer: str
    block: str
    preview: str = ""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The provider's figures so far; a later one replaces an earlier one field by field. `raw` is the frame as received."""

    usage: Usage
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's terminal mark: the answer is whole. `stop_reason` is one of `STOP_REASONS`, `native` the provider's word."""

    stop_reason: str
    native: str = ""


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """The stream said that it failed, or ended without its terminal mark (`code` `stream-truncated`). No prompt text, no secret."""

    code: str
    detail: str
    retryable: bool = False
    retry_after_ms: int | None = None


Delta = TextDelta | ReasoningDelta | PartBlock | ToolCallStarted | ToolCallDelta | OpaqueBlock | UsageReport | Finished | StreamFailed


@dataclass(slots=True)
class CallNames:
    """Gives each streamed call its `tool_call_id`: the provider's where it is non-empty and new in the session, else a minted one.

    Minted ids are a function of the model call and the part, so that a replayed stream gives the same ones.
    """

    call_id: str
    taken: set[str] = field(default_factory=set)

    def name(self, started: ToolCallStarted) -> ToolCallStarted:
        chosen = started.provider_id
        if not chosen or chosen in self.taken:
            chosen = f"call_{self.call_id.rpartition('_')[2]}_{started.part}"
            while chosen in self.taken:  # a provider may have used the very same spelling
                chosen += "x"
        self.taken.add(chosen)
        return ToolCallStarted(started.part, started.name, started.provider_id, chosen)


def to_event(delta: Delta) -> tuple[str, dict[str, Any]] | None:
    """Name and data of a delta on the event stream. A name that begins with `_` is for the delta log alone. None: nothing to log."""
    if type(delta) is TextDelta:  # nearly all of them, and a `match` costs a third of a microsecond a case
        return "text.delta", {"part": delta.part, "text": delta.text}
    match delta:
        case TextDelta(part, text):
            return "text.delta", {"part": part, "text": text}
        case ReasoningDelta(part, text):
            return "reasoning.delta", {"part": part, "text": text}
        case ToolCallStarted(part, name, provider_id, tool_call_id):
            data = {"part": part, "tool_call_id": tool_call_id, "name": name}
            return "tool_call.started", data | ({"provider_id": provider_id} if provider_id and provider_id != tool_call_id else {})
        case ToolCallDelta(part, arguments):
            return "tool_call.delta", {"part": part, "arguments": arguments}
        case PartBlock(part, opaque, producer):
            return "_part.block", {"part": part, "opaque": opaque, "producer": producer}
        case OpaqueBlock(part, format, producer, block, preview):
            return "_opaque", {"part": part, "format": format, "producer": producer, "block": block, "preview": preview}
        case UsageReport() | Finished() | StreamFailed():
            return None


def from_event(name: str, data: Mapping[str, Any]) -> Delta | None:
    """The delta that an event of the log spells; None for an event that is no delta."""
    match name:
        case "text.delta":
            return TextDelta(data["part"], data["text"])
        case "reasoning.delta":
            return ReasoningDelta(data["part"], data["text"])
        case "tool_call.started":
            return ToolCallStarted(data["part"], data["name"], data.get("provider_id", data["tool_call_id"]), data["tool_call_id"])
        case "tool_call.delta":
            return ToolCallDelta(data["part"], data["arguments"])
        case "_part.block":
            return PartBlock(data["part"], data["opaque"], data["producer"])
        case "_opaque":
            return OpaqueBlock(data["part"], data["format"], data["producer"], data["block"], data["preview"])
        case _:
            return None
