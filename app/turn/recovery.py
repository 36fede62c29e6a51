"""What follows an answer that moved the turn no further: of controls alone, or of nothing (S3-28…30, T-28).

Choices that the requirements leave open: an empty answer ends the turn at once, also on a repair; an answer of a progress line alone counts
as control-only, and the call after it is a recovery; an answer with a plan change that was accepted counts as valid, whatever else of it was
rejected. The allowance of one repair and one execution-only call is the turn's, and useful answers in between do not restore it.
"""

from typing import Literal

from app.entries.parts import Media, Text, ToolCall
from app.entries.plans import CallReason, Exposure
from app.turn.life import CallLife, RunLife

REPAIRS_MAX = 1
RECOVERIES_MAX = 1

Outcome = Literal["useful", "control_valid", "control_invalid", "empty"]
Ends = Literal["empty-answer", "control-only"]


def outcome(call: CallLife) -> Outcome:
    """What a completed call came to. Text that is more than white space, media or an ordinary call is useful; reasoning alone is no answer."""
    parts = () if call.answer is None else call.answer.parts
    if any(isinstance(part, (ToolCall, Media)) or (isinstance(part, Text) and (part.blob is not None or bool(part.text.strip()))) for part in parts):
        return "useful"
    if not call.controls:
        return "empty"
    return "control_invalid" if call.accepted and not any(call.accepted) else "control_valid"


def recover(run: RunLife, calls: list[CallLife], last: CallLife) -> tuple[Exposure, CallReason] | Ends | None:
    """None for a useful answer; else the one call that may follow it, or the code with which the turn ends.

    `calls` are all of the turn: the allowance is counted over them, from entries alone.
    """
    found = outcome(last)
    if found == "useful":
        return None
    if found == "empty" or not run.policy.plan:
        return "empty-answer"
    repairs, recoveries = left(calls)
    if not recoveries:
        return "control-only"
    if found == "control_invalid" and repairs:
        return "plan_repair", "plan_rejected"
    return "execution_only", "plan_updated" if any(last.accepted) else "execution_only_recovery"


def left(calls: list[CallLife]) -> tuple[int, int]:
    """The repairs and the execution-only calls that the turn may still make."""
    made = [call.exposure for call in calls if not call.overflowed]
    return max(0, REPAIRS_MAX - made.count("plan_repair")), max(0, RECOVERIES_MAX - made.count("execution_only"))
