"""Controls in an answer: taken out of it, and what each of them came to."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.entries import lossless
from app.entries.messages import Answer
from app.entries.parts import Part, Reasoning, ToolCall
from app.entries.plans import CONTROLS, EXPOSED, PLAN_CONTROL, PROGRESS_CHARS_MAX, Exposure, Plan, flattened
from app.entries.producers import BROKEN, read_producer
from app.entries.settings import PlanChanged
from app.turn.admission import acted_on
from app.turn.plan import change_plan


@dataclass(frozen=True, slots=True)
class Controlled:
    """An answer without its controls. `used` are their names, in order; `progress` the lines that were told."""

    answer: Answer
    used: tuple[str, ...] = ()
    changes: tuple[PlanChanged, ...] = ()
    progress: tuple[str, ...] = ()


def take_controls(answer: Answer, call_id: str, plan: Plan | None, exposure: Exposure) -> Controlled:
    """Takes the controls out of an answer of an agent that has a plan. A truncated or unfinished answer keeps them: nothing of it is acted on.

    What is said beside a rejected change stays (X-67). A control that was not shown is none the less no tool: its change is rejected. What
    led to a control, or was thought behind one, is marked: it was given with something that is not there any more.
    """
    calls = [part for part in answer.parts if isinstance(part, ToolCall) and part.name in CONTROLS]
    if not calls or acted_on(answer) is not None:
        return Controlled(answer)
    changes: list[PlanChanged] = []
    progress: list[str] = []
    for call in calls:
        if call.name == PLAN_CONTROL:
            change = change_plan(plan, call.arguments, shown=PLAN_CONTROL in EXPOSED[exposure])
            plan = change.plan
            changes.append(PlanChanged(plan, change.operation, change.accepted, change.feedback, call_id, call.arguments))
        elif line := _progress(call.arguments):
            progress.append(line)
    parts = tuple(_without_controls(answer.parts))
    return Controlled(answer._replace(parts=parts), tuple(call.name for call in calls), tuple(changes), tuple(progress))


def _without_controls(parts: tuple[Part, ...]) -> Iterator[Part]:
    first = next(position for position, part in enumerate(parts) if _is_control(part))
    while first > 0 and isinstance(parts[first - 1], Reasoning):
        first -= 1
    for position, part in enumerate(parts):
        if isinstance(part, Reasoning) and position >= first and (made_by := read_producer(part.producer or "")) is not None:
            yield replace(part, producer=str(made_by._replace(prefix=BROKEN)))
        elif not _is_control(part):
            yield part


def _is_control(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.name in CONTROLS


def _progress(arguments: str) -> str:
    """The line that a progress control tells, flattened and cut; empty where it tells none."""
    try:
        asked = lossless.loads(arguments)
    except lossless.InvalidJson:
        return ""
    line = asked.get("text") if isinstance(asked, dict) else None
    return flattened(line, PROGRESS_CHARS_MAX) if isinstance(line, str) else ""
