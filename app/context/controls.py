"""The controls of a plan as a model is shown them: declared like tools, beside the agent's own (S3-24…27)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.context.sources import Sources, Tool
from app.entries.plans import (
    CONTROLS,
    EXPOSED,
    PLAN_CONTROL,
    PLAN_CRITERIA_MAX,
    PLAN_LINE_CHARS_MAX,
    PLAN_NOTES_MAX,
    PLAN_STEPS_MAX,
    PLAN_TEXT_CHARS_MAX,
    PROGRESS_CHARS_MAX,
    PROGRESS_CONTROL,
    STEP_STATUSES,
)

_PLAN_TEXT = (
    "Keeps the plan of this conversation. It runs nothing: beside it, answer or call a tool. At most one step is active; with all steps done "
    "the plan is completed."
)
_PROGRESS_TEXT = "Tells the user in a few words what you are about to do. It runs nothing: beside it, answer or call a tool."


def _lines(items_max: int, chars_max: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "maxLength": chars_max}, "maxItems": items_max}


def _plan_schema(operations: tuple[str, ...], required: tuple[str, ...]) -> Mapping[str, Any]:
    step = {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": PLAN_LINE_CHARS_MAX}, "status": {"type": "string", "enum": list(STEP_STATUSES)}},
        "required": ["text", "status"],
        "additionalProperties": False,
    }
    return MappingProxyType(
        {
            "type": "object",
            "properties": {
                "operation": {"type": "string", "enum": list(operations)},
                "objective": {"type": "string", "maxLength": PLAN_TEXT_CHARS_MAX},
                "steps": {"type": "array", "items": step, "minItems": 1, "maxItems": PLAN_STEPS_MAX},
                "criteria": _lines(PLAN_CRITERIA_MAX, PLAN_LINE_CHARS_MAX),
                "notes": _lines(PLAN_NOTES_MAX, PLAN_TEXT_CHARS_MAX),
            },
            "required": list(required),
            "additionalProperties": False,
        }
    )


_CREATE = Tool(PLAN_CONTROL, _PLAN_TEXT, _plan_schema(("create",), ("operation", "objective", "steps")))
_CHANGE = Tool(PLAN_CONTROL, _PLAN_TEXT, _plan_schema(("revise", "supersede", "abandon"), ("operation",)))
_PROGRESS = Tool(
    PROGRESS_CONTROL,
    _PROGRESS_TEXT,
    MappingProxyType(
        {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": PROGRESS_CHARS_MAX}},
            "required": ["text"],
            "additionalProperties": False,
        }
    ),
)


def shown_controls(sources: Sources) -> tuple[Tool, ...]:
    """The controls that this call shows, by its causal state alone; none where the agent has no plan. `create` only without an active plan."""
    if not sources.agent.plan_enabled:
        return ()
    exposed = EXPOSED["ordinary" if sources.continuation is None else sources.continuation.exposure]
    plan = _CHANGE if sources.plan is not None and sources.plan.active else _CREATE
    return tuple(plan if name == PLAN_CONTROL else _PROGRESS for name in exposed)


def hidden_controls(sources: Sources) -> tuple[str, ...]:
    """The controls of an agent with a plan that this call does not show."""
    if not sources.agent.plan_enabled:
        return ()
    shown = [tool.name for tool in shown_controls(sources)]
    return tuple(name for name in CONTROLS if name not in shown)
