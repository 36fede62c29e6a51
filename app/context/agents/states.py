"""The keys `state_schema` and `output_schema`."""

from collections.abc import Mapping
from typing import Any

from app.context.fields import Check
from app.context.schemas import check_schema, escaped, pattern_properties


def check_state_schema(check: Check, value: Any) -> None:
    """A JSON Schema by scope."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        check.fault("/state_schema", "bad-type", "This has to be an object of scopes.")
        return
    for scope, schema in value.items():
        pointer = f"/state_schema/{escaped(str(scope))}"
        if scope == "session":
            check.faults += check_schema(schema, pointer) or pattern_properties(schema, pointer)
        else:
            check.fault(pointer, "unknown-key", "The only scope is session.")


def check_output_schema(check: Check, value: Any) -> None:
    """A JSON Schema of the answer that the agent is to give; templates have its text as `output_schema`."""
    if value is not None:
        check.faults += check_schema(value, "/output_schema")
