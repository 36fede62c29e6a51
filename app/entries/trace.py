"""Bodies of trace entries: what the service did, one small fact each, and their JSON text.

No prompt text, no secret and no argument of a tool ever stands in them; the reason that somebody gives for a decision does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_args

from app.entries import lossless
from app.entries.deltas import Usage
from app.entries.plans import Exposure
from app.entries.redactions import Redaction

CallStatus = Literal["completed", "failed", "cancelled", "interrupted", "abandoned", "refused"]
TurnStatus = Literal["running", "requires_action", "completed", "failed", "cancelled", "interrupted"]
StopReason = Literal["cancel", "stop", "interrupt", "disconnect", "shutdown"]
CutReason = Literal["user", "superseded", "terminated", "lease_lost"]
UsageSource = Literal["reported", "estimated"]
AgentMode = Literal["transfer", "call"]
Decided = Literal["approve", "deny"]


@dataclass(frozen=True, slots=True)
class TurnError:
    """Why a turn or a call failed. `code` is of the closed list of http-api 4, `attempt_status` the last attempt's HTTP status."""

    code: str
    detail: str
    attempt_status: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that clients see; `attempt_status` is left out where no attempt got a status."""
        found: dict[str, Any] = {"code": self.code, "detail": self.detail}
        return found if self.attempt_status is None else found | {"attempt_status": self.attempt_status}

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Self | None:
        return None if value is None else cls(value["code"], value["detail"], value.get("attempt_status"))


def usage_to_json(usage: Usage | None, source: str | None) -> dict[str, Any] | None:
    """Usage of a call as clients see it, in tokens; None where nothing is known."""
    if usage is None:
        return None
    return {
        "input": usage.input,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "source": source or "reported",
    }


def usage_from_json(value: Mapping[str, Any] | None) -> Usage | None:
    """The figures that `usage_to_json` wrote; the source stands beside them."""
    if value is None:
        return None
    return Usage(value["input"], value["cached"], value["cache_write"], value["output"], value["reasoning"])


class _Flat:
    """A body whose JSON text is its fields under their own names."""

    __slots__ = ()

    def encode(self) -> str:
        return lossless.dumps(_fields(self))

    @classmethod
    def decode(cls, payload: str) -> Self:
        return cls(**_known(cls, lossless.read(payload)))


@dataclass(frozen=True, slots=True)
class ModelCallStarted:
    """A request is about to leave; durable before it does. `call_id` is the TypeID text, `tools` the declared names, in order.

    `digest` and `prefix_digest` (of what the call shares with the one before it) are commitments to those of the call's record, which tell
    nothing once it is erased (`entries.ids.commitment`); earlier releases wrote the digests themselves. `receipt_seq` is the entry that caused
    the call. `allowed`: the declared names that the choice was narrowed to, None where it was not. `exposure` says which controls were shown
    beside the tools, where the agent has a plan. The entry's `invocation` is the run that the call belongs to.
    """

    kind: ClassVar[str] = "model_call_started"

    call_id: str
    step_index: int
    upstream: str
    dialect: str
    model: str
    agent: str | None = None
    agent_revision: int | None = None
    purpose: Literal["main", "compaction"] = "main"
    digest: str | None = None
    prefix_digest: str | None = None
    target_digest: str | None = None
    message_count: int = 0
    tools: tuple[str, ...] = ()
    reason: str | None = None
    receipt_seq: int | None = None
    compiler_version: str | None = None
    allowed: tuple[str, ...] | None = None
    exposure: Exposure = "ordinary"
    pressed: bool = False
    """It was sent above the trigger, because nothing more could be compacted."""

    def encode(self) -> str:
        return lossless.dumps({name: value for name, value in _fields(self).items() if name != "pressed" or value})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        allowed = value.get("allowed")
        lists = {"tools": tuple(value.get("tools", ())), "allowed": None if allowed is None else tuple(allowed)}
        return cls(**{**_known(cls, value), **lists})


@dataclass(frozen=True, slots=True)
class ModelCallFinished:
    """How a call ended. `refused`: never sent, it would not have fitted or was not valid. `abandoned`: mended with nothing received.

    `attempts` counts network tries. It is appended together with the call's answer, where there is one. `native_stop_reason` is the
    provider's word for `stop_reason`; `usage_raw` are its figures as it spelled them, one object a report. `controls` are the controls that
    the answer used, in order; what a plan control asked for stands in a `plan_changed` entry of the same append.
    """

    kind: ClassVar[str] = "model_call_finished"

    call_id: str
    status: CallStatus
    stop_reason: str | None = None
    usage: Usage | None = None
    usage_source: UsageSource | None = None
    error: TurnError | None = None
    attempts: int = 0
    native_stop_reason: str | None = None
    usage_raw: tuple[Mapping[str, Any], ...] = ()
    controls: tuple[str, ...] = ()

    def encode(self) -> str:
        return lossless.dumps(
            {
                "call_id": self.call_id,
                "status": self.status,
                "stop_reason": self.stop_reason,
                "native_stop_reason": self.native_stop_reason,
                "usage_raw": list(self.usage_raw),
                "usage": usage_to_json(self.usage, self.usage_source),
                "error": None if self.error is None else self.error.to_json(),
                "attempts": self.attempts,
            }
            | ({"controls": self.controls} if self.controls else {})
        )

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        usage = value.get("usage")
        return cls(
            value["call_id"],
            value["status"],
            value.get("stop_reason"),
            usage_from_json(usage),
            None if usage is None else usage["source"],
            TurnError.from_json(value.get("error")),
            value.get("attempts", 0),
            value.get("native_stop_reason"),
            tuple(value.get("usage_raw", ())),
            tuple(value.get("controls", ())),
        )


@dataclass(frozen=True, slots=True)
class ToolStarted(_Flat):
    """A server-side tool is about to run; durable before it does.

    Where the tool is another agent, `agent` and `revision` name it, `invocation` numbers its run inside the turn, and `mode` says whether
    the turn was handed to it or it was called; the entry's own `invocation` is the run that asked for it.
    """

    kind: ClassVar[str] = "tool_started"

    tool_call_id: str
    name: str | None = None
    agent: str | None = None
    revision: int | None = None
    mode: AgentMode | None = None
    invocation: int | None = None


@dataclass(frozen=True, slots=True)
class ToolRejected(_Flat):
    """A call that was not admitted: no executor ran and nothing was handed to the client. `code` says why."""

    kind: ClassVar[str] = "tool_rejected"

    tool_call_id: str
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class ApprovalRequested(_Flat):
    """A call that runs once somebody has approved of it."""

    kind: ClassVar[str] = "approval_requested"

    tool_call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ApprovalDecided(_Flat):
    """Somebody's decision on a call. `reason` is told to the model where the call is denied."""

    kind: ClassVar[str] = "approval_decided"

    tool_call_id: str
    decision: Decided
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StopRequested(_Flat):
    """Somebody asked for the turn's end: `cancel` and `stop` by their routes, `interrupt` by a newer input, `disconnect`, `shutdown`."""

    kind: ClassVar[str] = "stop_requested"

    reason: StopReason


@dataclass(frozen=True, slots=True)
class Interruption(_Flat):
    """The turn was cut short: by its user, by a newer input, by the end of its process, or by the loss of its holder (X-79)."""

    kind: ClassVar[str] = "interruption"

    reason: CutReason


@dataclass(frozen=True, slots=True)
class TurnSettled:
    """The last entry of a turn."""

    kind: ClassVar[str] = "turn_settled"

    status: TurnStatus
    error: TurnError | None = None

    def encode(self) -> str:
        return lossless.dumps({"status": self.status, "error": None if self.error is None else self.error.to_json()})

    @classmethod
    def decode(cls, payload: str) -> Self:
        value = lossless.read(payload)
        return cls(value["status"], TurnError.from_json(value.get("error")))


TraceBody = (
    ModelCallStarted
    | ModelCallFinished
    | ToolStarted
    | ToolRejected
    | ApprovalRequested
    | ApprovalDecided
    | StopRequested
    | Interruption
    | TurnSettled
    | Redaction
)

TRACE_BODIES: Mapping[str, type[TraceBody]] = MappingProxyType({body.kind: body for body in get_args(TraceBody)})


def decode_trace(kind: str, payload: str) -> TraceBody:
    """The body of a trace entry. Raises `KeyError` for a kind that this build does not read."""
    return TRACE_BODIES[kind].decode(payload)


def _fields(body: Any) -> dict[str, Any]:
    return {field.name: getattr(body, field.name) for field in fields(body)}


def _known(cls: Any, value: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that this build knows; a newer build of the same version may have added others."""
    return {field.name: value[field.name] for field in fields(cls) if field.name in value}
