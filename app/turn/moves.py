"""The moves: what a turn can do next. Which one it is, `decide` says."""

from dataclasses import dataclass
from typing import Literal

from app.entries.parts import Text, ToolCall
from app.entries.plans import CallReason, Exposure
from app.entries.trace import CutReason, TurnError, TurnStatus


@dataclass(frozen=True, slots=True)
class Call:
    """Call the model: the main call number `step_index` of the turn, from 0, in the run `run`.

    `receipt_seq` is the entry that caused it, if it has one; `exposure` says which controls are shown where the agent has a plan, and
    `repairs_left` and `recoveries_left` how many calls may still follow answers that do nothing else (S3-21).
    """

    step_index: int
    reason: CallReason
    receipt_seq: int | None
    run: int = 0
    exposure: Exposure = "ordinary"
    repairs_left: int = 0
    recoveries_left: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """Start these admitted server-side tools, all at once: append a `tool_started` for each, run them, append their results.

    One that is another agent stands alone: its run begins, and the turn goes on in it.
    """

    tool_calls: tuple[ToolCall, ...]
    run: int = 0


@dataclass(frozen=True, slots=True)
class Refuse:
    """Append `tool_rejected` and an error result with the text `detail`, together."""

    tool_call: ToolCall
    code: str
    detail: str
    run: int = 0


@dataclass(frozen=True, slots=True)
class Return:
    """Append the result of the call by which a run was asked for: its last answer's text, or why there is none."""

    tool_call: ToolCall
    parts: tuple[Text, ...]
    is_error: bool
    run: int = 0
    """The run that made the call."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits for somebody outside. Long arguments lie in `tool_call.blob` until they are loaded."""

    tool_call: ToolCall
    needs: Literal["result", "approval"] = "result"

    @property
    def tool_call_id(self) -> str:
        return self.tool_call.tool_call_id

    @property
    def name(self) -> str:
        return self.tool_call.name

    @property
    def arguments(self) -> str:
        return self.tool_call.arguments


@dataclass(frozen=True, slots=True)
class Await:
    """Wait for the client: the turn is `requires_action`, its claim is released, nothing is appended."""

    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """A call that is closed, and the run that made it."""

    tool_call: ToolCall
    run: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    """Append an error result with the text `detail` for each of these calls, together. None of them runs, now or later."""

    closed: tuple[Closed, ...]
    code: str
    detail: str

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(one.tool_call for one in self.closed)


@dataclass(frozen=True, slots=True)
class Mend:
    """A model call started and never finished: settle it from its deltas. Append its answer, if anything was said, and
    `model_call_finished`, both of that status, together."""

    call_id: str
    status: Literal["cancelled", "interrupted"]
    error: TurnError | None = None


@dataclass(frozen=True, slots=True)
class Compact:
    """Summarise the older messages: the provider found the main call `step_index` of the run `run` too large (X-60). Whatever comes of it is
    appended; where there is nothing to summarise, the turn ends with the call's error."""

    step_index: int
    run: int = 0


@dataclass(frozen=True, slots=True)
class GiveUp:
    """A summary was asked for and nobody saw its end: append `compaction_failed`, and the end of its call, if it has one."""

    requested_seq: int
    run: int = 0


@dataclass(frozen=True, slots=True)
class Settle:
    """Append `turn_settled`. `cut`: append an `interruption` of that reason before it, because none is there yet (X-79).

    `adopts`: name and revision of the agent that the turn was handed to, which the session adopts in the same append.
    """

    status: TurnStatus
    error: TurnError | None = None
    cut: CutReason | None = None
    adopts: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is settled; nothing is left to do."""

    status: TurnStatus
    error: TurnError | None = None


Move = Call | Start | Refuse | Return | Await | Close | Mend | Compact | GiveUp | Settle | Done
