"""The keys `state_schema` and `output_schema`."""

from collections.abc import Mapping
from typing import Any

from app.context.fields import Check
from app.context.schemas import check_schema, escaped, pattern_properties

USER_SCOPE = "user"
"""The scope that all sessions of one user share."""

STATE_SCOPES = ("session", USER_SCOPE)


def check_state_schema(check: Check, value: Any) -> None:
    """A JSON Schema by scope."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        check.fault("/state_schema", "bad-type", "This has to be an object of scopes.")
        return
    for scope, schema in value.items():
        pointer = f"/state_schema/{escaped(str(scope))}"
        if scope in STATE_SCOPES:
            check.faults += check_schema(schema, pointer) or pattern_properties(schema, pointer)
        elif scope == "temp":
            check.unbuilt(pointer, "The scope temp")
        else:
            check.fault(pointer, "unknown-key", f"The scopes are {' and '.join(STATE_SCOPES)}.")


def check_output_schema(check: Check, value: Any) -> None:
    """A JSON Schema of the answer that the agent is to give; templates have its text as `output_schema`."""
    if value is not None:
        check.faults += check_schema(value, "/output_schema")
