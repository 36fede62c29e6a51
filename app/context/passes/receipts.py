"""Why a call is made, told to a model whose agent has a plan: one message behind everything, request-only (S3-18…23).

It is derived from entries alone, kept apart from the instructions, and grants nothing (S3-36). The plan in it is the model's own words: they
stand inside as JSON whose angle brackets are escaped, so that nothing in them can end the frame (X-26).
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.context.draft import ContinuationOrigin, Count, Draft, NeutralMessage, Reason
from app.context.sources import Continuation, Sources
from app.entries import lossless
from app.entries.messages import Answer
from app.entries.parts import Text
from app.entries.plans import CallReason

NAME = "receipts"
TAG = "runtime_context"

_WHY: Mapping[CallReason, str] = MappingProxyType(
    {
        "input_received": "The user's input was received.",
        "tool_completed": "The calls that you made have their results.",
        "plan_updated": "Your plan change was accepted. Do not send it again.",
        "plan_rejected": "Your plan change was rejected. Do not send the same change again.",
        "execution_only_recovery": "Your last answer did no work. Leave the plan as it is.",
    }
)
_ORDINARY = "Answer the user or call a tool. Changing the plan or telling of progress is no answer."
_REPAIR = "Correct the plan change, or answer the user or call a tool."


def run(draft: Draft, count: Count) -> None:
    """Inserts the message, where the agent has a plan and the call has a cause."""
    sources, continuation = draft.sources, draft.sources.continuation
    if continuation is None or not sources.agent.plan_enabled:
        return
    text = _text(sources, continuation)
    origin = ContinuationOrigin(continuation.reason, continuation.receipt_seq)
    draft.insert(len(draft.placed), NeutralMessage("user", (Text(text),), origin), Reason.CONTINUATION, NAME, count(text))


def _text(sources: Sources, continuation: Continuation) -> str:
    receipt = "" if continuation.receipt_seq is None else f' receipt="{continuation.receipt_seq}"'
    lines = [f'<{TAG} reason="{continuation.reason}"{receipt}>', _WHY[continuation.reason]]
    change = sources.plan_change
    if change is not None and change.feedback is not None:
        if continuation.receipt_seq == sources.plan_seq:
            lines.append(f"Why: {_escaped(change.feedback)}")
        elif continuation.reason == "tool_completed" and (sources.plan_seq or 0) > _last_answer_seq(sources):
            lines.append(f"Your plan change beside them was rejected: {_escaped(change.feedback)}")
    repair = continuation.exposure == "plan_repair"
    lines.append(f"Obligation: {'repair_plan_control' if repair else 'respond_or_act'}. {_REPAIR if repair else _ORDINARY}")
    lines.append(f"Left in this turn: {continuation.repairs_left} plan repair, {continuation.recoveries_left} further request.")
    plan = sources.plan
    if plan is None or not plan.active:
        lines.append("There is no active plan.")
    else:
        lines.append("The active plan, as you wrote it:")
        lines.append(_escaped(lossless.dumps(plan.to_json())))
    return "\n".join([*lines, f"</{TAG}>"])


def _last_answer_seq(sources: Sources) -> int:
    """Where the newest answer of the window stands; what its controls came to stands behind it."""
    return next((message.entry.seq for message in reversed(sources.messages) if isinstance(message.body, Answer)), 0)


def _escaped(text: str) -> str:
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
