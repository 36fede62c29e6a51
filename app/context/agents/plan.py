"""The key `plan`: whether the model is offered the controls of a plan."""

from collections.abc import Mapping
from typing import Any

from app.context.agents.defaults import DEFAULTS
from app.context.fields import Check
from app.entries.plans import CONTROLS


def check_plan(check: Check, value: Any, tools: Any) -> None:
    """Where there is a plan, no tool bears the name of a control."""
    found = check.object(value, "/plan", tuple(DEFAULTS["plan"]))
    if found is None or check.boolean(found.get("enabled", False), "/plan/enabled") is not True or not isinstance(tools, list):
        return
    for position, tool in enumerate(tools):
        if isinstance(tool, Mapping) and tool.get("name") in CONTROLS:
            check.fault(
                f"/tools/{position}/name", "reserved-tool-name", f"With a plan, {' and '.join(CONTROLS)} are controls; name the tool otherwise."
            )
