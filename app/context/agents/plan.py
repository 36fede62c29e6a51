"""The key `plan`: whether the model is offered the controls of a plan."""

from typing import Any

from app.context.agents.defaults import DEFAULTS
from app.context.fields import Check


def check_plan(check: Check, value: Any) -> None:
    found = check.object(value, "/plan", tuple(DEFAULTS["plan"]))
    if found is not None and found.get("enabled", False) is not False:
        check.unbuilt("/plan/enabled", "Any other value than the default")
