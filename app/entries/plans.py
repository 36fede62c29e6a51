"""A plan, and the controls that a model changes it with: reserved pseudo-tools that the service owns (S3-24).

A control is no ordinary tool: its calls are taken out of the answer, have no result, and reach no executor. What a plan control said
stands in a `plan_changed` entry; what a progress control said is a signal on the stream and nothing else (X-69).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Self

PLAN_CONTROL = "update_plan"
PROGRESS_CONTROL = "report_progress"
CONTROLS = (PLAN_CONTROL, PROGRESS_CONTROL)

Exposure = Literal["ordinary", "plan_repair", "execution_only"]
"""What a call is for, which decides the controls that its model is shown (S3-24…27)."""

CallReason = Literal["input_received", "tool_completed", "plan_updated", "plan_rejected", "execution_only_recovery"]
"""Why a call is made (X-65)."""

EXPOSED: Mapping[Exposure, tuple[str, ...]] = MappingProxyType({"ordinary": CONTROLS, "plan_repair": (PLAN_CONTROL,), "execution_only": ()})

StepStatus = Literal["pending", "active", "done"]
STEP_STATUSES: tuple[StepStatus, ...] = ("pending", "active", "done")
PlanStatus = Literal["active", "completed", "abandoned"]

PLAN_STEPS_MAX = 12
PLAN_CRITERIA_MAX = 8
PLAN_NOTES_MAX = 8
PLAN_LINE_CHARS_MAX = 1_000
"""Of a step or a criterion."""
PLAN_TEXT_CHARS_MAX = 2_000
"""Of the objective or a note."""
FEEDBACK_CHARS_MAX = 500
PROGRESS_CHARS_MAX = 48


@dataclass(frozen=True, slots=True)
class PlanStep:
    text: str
    status: StepStatus = "pending"


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan of a session. `revision` rises with every accepted change, also from one plan to the next."""

    revision: int
    status: PlanStatus
    objective: str
    steps: tuple[PlanStep, ...]
    criteria: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        return self.status == "active"

    def to_json(self) -> dict[str, Any]:
        """The plan as it is stored and shown."""
        return {
            "revision": self.revision,
            "status": self.status,
            "objective": self.objective,
            "steps": [{"text": step.text, "status": step.status} for step in self.steps],
            "criteria": list(self.criteria),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The plan that `to_json` spelled."""
        steps = tuple(PlanStep(step["text"], step["status"]) for step in value["steps"])
        return cls(value["revision"], value["status"], value["objective"], steps, tuple(value["criteria"]), tuple(value["notes"]))


def flattened(text: str, chars_max: int) -> str:
    """One line of at most so many characters."""
    return " ".join(text.split())[:chars_max]
