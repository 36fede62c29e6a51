"""What a plan control asks for, applied to the plan that holds: a new plan, or why it is rejected. Pure, from the model's own text.

The rules (X-66): never more than one active plan, nor more than one active step in it; `create` only without an active plan, otherwise
`revise`, `supersede` or `abandon`; all steps done means completed; `supersede` puts a whole new plan in the place of the active one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.entries import lossless
from app.entries.plans import (
    FEEDBACK_CHARS_MAX,
    PLAN_CRITERIA_MAX,
    PLAN_LINE_CHARS_MAX,
    PLAN_NOTES_MAX,
    PLAN_STEPS_MAX,
    PLAN_TEXT_CHARS_MAX,
    STEP_STATUSES,
    Plan,
    PlanStep,
    flattened,
)

OPERATIONS = ("create", "revise", "supersede", "abandon")
_KEYS = ("operation", "objective", "steps", "criteria", "notes")


@dataclass(frozen=True, slots=True)
class Change:
    """What a control came to. `plan` is the one that holds afterwards, the last valid one where it was rejected."""

    plan: Plan | None
    operation: str
    feedback: str | None = None

    @property
    def accepted(self) -> bool:
        return self.feedback is None


class _Rejected(Exception):
    """Why a change is not accepted, in a sentence for the model."""


def change_plan(plan: Plan | None, arguments: str, *, shown: bool = True) -> Change:
    """Applies the arguments of one plan control. `plan` is the last one, active or not; `shown`: whether the call offered the control."""
    operation = ""
    try:
        asked = _object(arguments)
        operation = next((known for known in OPERATIONS if asked.get("operation") == known), "")
        _check_operation(operation, plan)
        if not shown:
            raise _Rejected("Plan changes are not taken now. Answer, or call a tool.")
        return Change(_applied(plan, operation, asked), operation)
    except _Rejected as error:
        return Change(plan, operation, flattened(str(error), FEEDBACK_CHARS_MAX))


def _object(arguments: str) -> Mapping[str, Any]:
    try:
        asked = lossless.loads(arguments)
    except lossless.InvalidJson:
        raise _Rejected("The arguments are not JSON.") from None
    if not isinstance(asked, dict):
        raise _Rejected("The arguments have to be an object.")
    unknown = [key for key in asked if key not in _KEYS]
    if unknown:
        raise _Rejected(f"Known keys are {', '.join(_KEYS)}.")
    return asked


def _check_operation(operation: str, plan: Plan | None) -> None:
    active = plan is not None and plan.active
    offered = OPERATIONS[1:] if active else OPERATIONS[:1]
    if not operation:
        raise _Rejected(f"`operation` has to be {' or '.join(offered)}.")
    if operation not in offered:
        state = "There is an active plan" if active else "There is no active plan"
        raise _Rejected(f"{state}: `operation` has to be {' or '.join(offered)}.")


def _applied(plan: Plan | None, operation: str, asked: Mapping[str, Any]) -> Plan:
    revision = 1 if plan is None else plan.revision + 1
    if operation == "abandon" and plan is not None:
        return replace(plan, revision=revision, status="abandoned")
    if operation == "revise" and plan is not None:
        base = plan
    else:
        base = Plan(revision, "active", "", ())
        if "objective" not in asked or "steps" not in asked:
            raise _Rejected(f"`{operation}` needs `objective` and `steps`.")
    changed = Plan(
        revision,
        "active",
        _text(asked["objective"], "objective", PLAN_TEXT_CHARS_MAX) if "objective" in asked else base.objective,
        _steps(asked["steps"]) if "steps" in asked else base.steps,
        _texts(asked["criteria"], "criteria", PLAN_CRITERIA_MAX, PLAN_LINE_CHARS_MAX) if "criteria" in asked else base.criteria,
        _texts(asked["notes"], "notes", PLAN_NOTES_MAX, PLAN_TEXT_CHARS_MAX) if "notes" in asked else base.notes,
    )
    done = all(step.status == "done" for step in changed.steps)
    return replace(changed, status="completed") if done else changed


def _steps(value: Any) -> tuple[PlanStep, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= PLAN_STEPS_MAX:
        raise _Rejected(f"`steps` has to be a list of 1 to {PLAN_STEPS_MAX} steps.")
    found = tuple(_step(step) for step in value)
    if sum(step.status == "active" for step in found) > 1:
        raise _Rejected("At most one step is active at a time.")
    return found


def _step(value: Any) -> PlanStep:
    if isinstance(value, dict) and set(value) <= {"text", "status"}:
        status = next((known for known in STEP_STATUSES if value.get("status", "pending") == known), None)
        if status is not None:
            return PlanStep(_text(value.get("text"), "text", PLAN_LINE_CHARS_MAX), status)
    raise _Rejected(f"A step is an object with `text` and a `status` of {', '.join(STEP_STATUSES)}.")


def _texts(value: Any, name: str, items_max: int, chars_max: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > items_max:
        raise _Rejected(f"`{name}` has to be a list of at most {items_max} texts.")
    return tuple(_text(item, name, chars_max) for item in value)


def _text(value: Any, name: str, chars_max: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > chars_max:
        raise _Rejected(f"`{name}` has to be a text of at most {chars_max} characters, and not blank.")
    return value
