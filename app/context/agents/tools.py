"""The key `tools`: what is declared to the model, and how a call is run."""

from collections.abc import Mapping
from typing import Any

from app.config.limits import TOOLS_MAX
from app.context.agents.defaults import DESCRIPTION_CHARS_MAX, TOOL_CHOICES, TOOL_DEFAULTS, TOOL_NAME
from app.context.fields import Check
from app.context.schemas import check_schema

_KEYS = ("name", "description", "parameters", "enabled", "executor", "approval", "repeatable")


def check_tools(check: Check, value: Any) -> None:
    """Names are well-formed and unique, parameters are the schema of an object."""
    names: set[str] = set()
    for position, tool in enumerate(check.list(value, "/tools", TOOLS_MAX) or ()):
        pointer = f"/tools/{position}"
        found = check.object(tool, pointer, _KEYS, ("name",))
        if found is None:
            continue
        name = found.get("name")
        if "name" not in found:
            pass
        elif not isinstance(name, str) or not TOOL_NAME.fullmatch(name) or name in TOOL_CHOICES:
            check.fault(f"{pointer}/name", "bad-tool-name", "A name begins with a letter or `_`, has ≤ 64 letters, digits, `_`, `-`, is no choice.")
        elif name in names:
            check.fault(f"{pointer}/name", "duplicate-tool-name", "Another tool has this name.")
        else:
            names.add(name)
        _rest(check, found, pointer)


def _rest(check: Check, found: Mapping[str, Any], pointer: str) -> None:
    check.text(found.get("description", ""), f"{pointer}/description", DESCRIPTION_CHARS_MAX, blank=True)
    parameters = found.get("parameters", TOOL_DEFAULTS["parameters"])
    faults = check_schema(parameters, f"{pointer}/parameters")
    if not faults and parameters.get("type") != "object":
        check.fault(f"{pointer}/parameters/type", "bad-schema", "The parameters of a tool are an object: `type` has to be `object`.")
    check.faults += faults
    for key in ("enabled", "repeatable"):
        check.boolean(found.get(key, True), f"{pointer}/{key}")
    executor = found.get("executor", TOOL_DEFAULTS["executor"])
    if isinstance(executor, Mapping) and executor.get("kind") in ("http", "mcp", "agent"):
        check.unbuilt(f"{pointer}/executor/kind", "This executor")
    elif check.object(executor, f"{pointer}/executor", ("kind",), ("kind",)) is not None and "kind" in executor:
        check.word(executor["kind"], f"{pointer}/executor/kind", ("client",), ("http", "mcp", "agent"))
    approval = found.get("approval", "never")
    if isinstance(approval, Mapping) and list(approval) == ["when"]:
        check.unbuilt(f"{pointer}/approval", "This value")
    else:
        check.word(approval, f"{pointer}/approval", ("never",), ("always",))
