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
- A call that the provider found too large is made once more after a compaction, as long as no tool of the turn was at work. The call after it
  is a step of its own; one that was refused so has spent nothing of what a plan may still repair.
- An agent that was called and fails gives its caller an error result; only the turn's limit of steps ends them both.
"""

from dataclasses import replace

from app.config.limits import COMPACTION_PIECES_MAX
from app.entries.parts import Text
from app.entries.plans import CallReason, Exposure
from app.entries.trace import TurnError
from app.turn.admission import rejection
from app.turn.life import CallLife, Cut, Life, RunLife
from app.turn.moves import Call, Compact, Done, GiveUp, Mend, Move, Return, Settle
from app.turn.open_calls import close, next_of_open, outcome_unknown
from app.turn.recovery import left, recover

_ENDS = {
    "empty-answer": "The model answered with neither text nor a tool call.",
    "control-only": "The model changed its plan or told of its progress, and did nothing else when it was asked to.",
}


def next_move(life: Life) -> Move:
    """What the turn does next. Pure and total: every life has exactly one next move."""
    if life.settled is not None:
        return Done(life.settled.status, life.settled.error)
    move = _next(life)
    return replace(move, adopts=life.handed_to) if isinstance(move, Settle) else move


def _next(life: Life) -> Move:
    unfinished = next((call for call in life.calls if call.status is None), None)
    if unfinished is not None:
        return _mend(unfinished, life.cut)
    asked = next((one for one in life.compactions if one.applied is None), None)
    if asked is not None:
        return GiveUp(asked.requested_seq, asked.run)
    cut = life.cut or _cut_of(life.last_main)
    if cut is None:
        return _left_alone(life)
    return _cut_short(cut, life) if _has_more(life) else _left_alone(life)


def _left_alone(life: Life) -> Move:
    run = life.current
    last = run.last
    if last is None:
        handed_over = run.mode == "transfer"
        return _call(life, run, "tool_completed" if handed_over else "input_received", run.cause_seq)
    return next_of_open(run, last, life) or _after(run, last, life)


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


def _has_more(life: Life) -> bool:
    """Whether the turn, left alone, would do more than settle on what is there; only then can it be cut short."""
    last = life.last_main
    if last is None or last.status in ("cancelled", "interrupted", "abandoned"):
        return True
    if last.status != "completed":
        return life.current.answers is not None or _smaller(life.current, last, life) is not None
    return bool(last.tools) or not isinstance(_left_alone(life), Settle)


def _cut_short(cut: Cut, life: Life) -> Move:
    started = [(tool, policy) for tool in life.open_tools if tool.starts and (policy := life.policy_of(tool)) is not None and policy.mode is None]
    if started:
        why = outcome_unknown(started[0][1])
        return close(tuple(tool for tool, policy in started if outcome_unknown(policy) == why), why)
    if life.open_tools:
        return close(life.open_tools, rejection(f"turn-{cut.status}"))
    return Settle(cut.status, cut.error, None if cut.recorded else cut.reason)


def _after(run: RunLife, last: CallLife, life: Life) -> Move:
    """No call of the run is open: go on, give an answer back to who called, or end."""
    if last.status in ("failed", "refused"):
        return _smaller(run, last, life) or _end(run, life, last.error or TurnError("upstream-error", "The model call failed."))
    recovery = recover(run, life.calls, last)
    if isinstance(recovery, str):
        return _end(run, life, TurnError(recovery, _ENDS[recovery]))
    if recovery is not None:
        exposure, reason = recovery
        return _call(life, run, reason, last.change_seq, exposure)
    withheld = last.answer is not None and last.answer.stop_reason == "refused"
    if last.tools and not withheld:
        return _call(life, run, "tool_completed", max(tool.result_seq or 0 for tool in last.tools))
    if run.answers is None:
        return Settle("completed")
    # Without what its provider put with a text, and wants back in an answer alone.
    texts = () if last.answer is None else tuple(Text(part.text, part.blob) for part in last.answer.parts if isinstance(part, Text))
    return _give_back(run.answers, life, texts or (Text("The agent gave no answer in words."),), is_error=withheld or not texts)


def _smaller(run: RunLife, last: CallLife, life: Life) -> Move | None:
    """What follows a call that was too large for its provider: a compaction with all its pieces, and then the call once more. None: nothing does."""
    calls = [call for call in run.calls if call.main]
    at_work = any(tool.starts or tool.result_seq is not None for tool in life.tools.values())
    if not last.overflowed or at_work or (len(calls) > 1 and calls[-2].overflowed):
        return None
    asked = [one for one in life.compactions if one.trigger == "overflow" and one.step_index == last.step_index]
    more = not asked or (asked[-1].goes_on and len(asked) < COMPACTION_PIECES_MAX)
    if more and life.compactable and life.steps < life.policy.max_steps:
        return Compact(last.step_index, run.index)
    return _call(life, run, last.reason, last.receipt_seq, last.exposure) if any(one.applied for one in asked) else None


def _call(life: Life, run: RunLife, reason: CallReason, receipt_seq: int | None, exposure: Exposure = "ordinary") -> Move:
    """The next call of a run, as long as the turn has steps left; calls that wait outside of it are closed before the turn ends."""
    if life.steps < life.policy.max_steps:
        repairs, recoveries = left(life.calls) if run.policy.plan else (0, 0)
        used = {"plan_repair": (1, 0), "execution_only": (0, 1)}.get(exposure, (0, 0))
        return Call(life.steps, reason, receipt_seq, run.index, exposure, repairs - used[0], recoveries - used[1])
    if life.open_tools:
        return close(life.open_tools, rejection("max-steps"))
    return Settle("failed", TurnError("max-steps", f"The turn reached its limit of {life.policy.max_steps} model calls."))


def _end(run: RunLife, life: Life, error: TurnError) -> Move:
    """The failure of a run: of the turn, or of the call by which somebody asked for it."""
    if run.answers is None:
        return Settle("failed", error)
    return _give_back(run.answers, life, (Text(f"The agent gave no answer ({error.code})."),), is_error=True)


def _give_back(tool_call_id: str, life: Life, parts: tuple[Text, ...], *, is_error: bool) -> Return:
    tool = life.tools[tool_call_id]
    return Return(tool.call, parts, is_error, tool.run)
