"""The one decision: what a turn does next, from its own entries alone (architecture law 9).

Whoever runs a turn calls `next_move`, does what it says, appends what came of it, and asks again. A process that died in
between leaves nothing but entries, so whoever takes over asks the same question.

Choices that the contract leaves open:

- A truncated answer (`length`) executes none of its calls; each gets an error result that says so, and the model goes on
  with another step. Settling instead would end the turn as completed with nothing done; the steps stay bounded by `max_steps`.
- An answer that the provider withheld (`refused`) settles the turn as completed; its calls, if any, get error results.
- An empty answer settles the turn as failed (`empty-answer`) at once (T-28 leaves it open): asking the same again gives
  the same.
- A turn whose last answer is whole and asks for nothing has done its work: a stop or a crash that comes after it changes
  nothing, it settles as completed.
- A stop or an interruption that comes while calls are open closes all of them, also those that run: a client's result that
  arrives later finds the turn settled.
"""

from dataclasses import dataclass
from typing import Literal

from app.entries.parts import Media, Text, ToolCall
from app.entries.trace import CutReason, TurnError, TurnStatus
from app.turn.admission import Rejection, acted_on, admit, rejection
from app.turn.life import CallLife, Cut, Life, ToolLife, read_life

__all__ = ["Await", "Call", "Close", "Done", "Life", "Mend", "Move", "Pending", "Refuse", "Run", "Settle", "next_move", "read_life"]


@dataclass(frozen=True, slots=True)
class Call:
    """Call the model: the main call number `step_index` of the turn, from 0. `receipt_seq` is the entry that caused it, if it has one."""

    step_index: int
    reason: Literal["input_received", "tool_completed"]
    receipt_seq: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """Run an admitted server-side tool: append `tool_started`, run it, append its result. `again`: a repeatable one whose end nobody saw."""

    tool_call: ToolCall
    again: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """Append `tool_rejected` and an error result with the text `detail`, together."""

    tool_call: ToolCall
    code: str
    detail: str


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
class Close:
    """Append an error result with the text `detail` for each of these calls, together. None of them runs, now or later."""

    tool_calls: tuple[ToolCall, ...]
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Mend:
    """A model call started and never finished: settle it from its deltas. Append its answer, if anything was said, and
    `model_call_finished`, both of that status, together."""

    call_id: str
    status: Literal["cancelled", "interrupted"]
    error: TurnError | None = None


@dataclass(frozen=True, slots=True)
class Settle:
    """Append `turn_settled`. `cut`: append an `interruption` of that reason before it, because none is there yet (X-79)."""

    status: TurnStatus
    error: TurnError | None = None
    cut: CutReason | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is settled; nothing is left to do."""

    status: TurnStatus
    error: TurnError | None = None


Move = Call | Run | Refuse | Await | Close | Mend | Settle | Done


def next_move(life: Life) -> Move:
    """What the turn does next. Pure and total: every life has exactly one next move."""
    if life.settled is not None:
        return Done(life.settled.status, life.settled.error)
    unfinished = next((call for call in life.calls if call.status is None), None)
    if unfinished is not None:
        return _mend(unfinished, life.cut)
    last = life.last_main
    cut = life.cut or _cut_of(last)
    if cut is not None and _has_more(last):
        return _cut_short(cut, life)
    if last is None:
        return Call(0, "input_received", life.input_seq)
    if life.open_tools:
        return _open(last, life)
    return _after(last, life)


def _mend(call: CallLife, cut: Cut | None) -> Mend:
    """A call whose reader is gone was cut by whatever cut the turn; where nothing says so, by the loss of its reader."""
    found = cut or Cut("lease_lost")
    return Mend(call.call_id, found.status, found.error)


def _cut_of(last: CallLife | None) -> Cut | None:
    """A call that was cut cuts its turn, also where no entry says why."""
    if last is None or last.status not in ("cancelled", "interrupted", "abandoned"):
        return None
    if last.status == "cancelled":
        return Cut("user")
    return Cut("terminated" if last.error is not None and last.error.code == "shutdown" else "lease_lost")


def _has_more(last: CallLife | None) -> bool:
    """Whether the turn, left alone, would do more than settle on what is there; only then can it be cut short."""
    if last is None or last.status in ("cancelled", "interrupted", "abandoned"):
        return True
    return last.status == "completed" and bool(last.tools)


def _cut_short(cut: Cut, life: Life) -> Move:
    started = tuple(tool.call for tool in life.open_tools if tool.runs)
    if started:
        return _close(started, rejection("outcome-unknown"))
    if life.open_tools:
        return _close(tuple(tool.call for tool in life.open_tools), rejection(f"turn-{cut.status}"))
    return Settle(cut.status, cut.error, None if cut.recorded else cut.reason)


def _close(calls: tuple[ToolCall, ...], why: Rejection) -> Close:
    return Close(calls, why.code, why.detail)


def _open(last: CallLife, life: Life) -> Move:
    """Refusals come first, then what the service runs itself, then the client for all that is left at once."""
    barred = None if last.answer is None else acted_on(last.answer)
    if barred is not None:
        return _close(tuple(tool.call for tool in life.open_tools), barred)
    for tool in life.open_tools:
        if tool.rejected is not None:
            return _close((tool.call,), rejection(tool.rejected))
        refused = admit(tool.call.name, life.policy)
        if refused is not None:
            return Refuse(tool.call, refused.code, refused.detail)
    for tool in life.open_tools:
        if life.policy.tools[tool.call.name].executor != "client":
            return _run(tool, life)
    return Await(tuple(Pending(tool.call) for tool in life.open_tools))


def _run(tool: ToolLife, life: Life) -> Move:
    """A tool that was started and has no result ran where nobody saw its end: only a repeatable one runs again, and not for ever."""
    policy = life.policy.tools[tool.call.name]
    if tool.runs == 0:
        return Run(tool.call)
    if policy.repeatable and tool.runs < policy.runs_max:
        return Run(tool.call, again=True)
    return _close((tool.call,), rejection("outcome-unknown"))


def _after(last: CallLife, life: Life) -> Move:
    """No call is open: go on, or end."""
    if last.status in ("failed", "refused"):
        return Settle("failed", last.error or TurnError("upstream-error", "The model call failed."))
    if not _useful(last):
        return Settle("failed", TurnError("empty-answer", "The model answered with neither text nor a tool call."))
    if not last.tools or (last.answer is not None and last.answer.stop_reason == "refused"):
        return Settle("completed")
    if life.steps >= life.policy.max_steps:
        return Settle("failed", TurnError("max-steps", f"The turn reached its limit of {life.policy.max_steps} model calls."))
    return Call(life.steps, "tool_completed", max(tool.result_seq or 0 for tool in last.tools))


def _useful(call: CallLife) -> bool:
    """Text that is more than white space, media or a call; reasoning alone is no answer."""
    parts = () if call.answer is None else call.answer.parts
    return any(
        isinstance(part, (ToolCall, Media)) or (isinstance(part, Text) and (part.blob is not None or bool(part.text.strip()))) for part in parts
    )
