"""The key `tools`: what is declared to the model, and how a call is run."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.config.limits import TOOLS_MAX
from app.context.agents.defaults import AGENT_NAME, DESCRIPTION_CHARS_MAX, SERVER_NAME, TOOL_CHOICES, TOOL_DEFAULTS, TOOL_NAME
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts
from app.context.renderers.texts import check_condition
from app.context.schemas import check_schema

_KEYS = ("name", "description", "parameters", "enabled", "executor", "approval", "repeatable", "results")

EXECUTORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"client": ("kind",), "http": ("kind", "server", "tool"), "mcp": ("kind", "server", "tool"), "agent": ("kind", "agent", "mode")}
)
"""Who may run a tool, and the keys that say it."""

REMOTE_NAME_CHARS_MAX = 255
ARGUMENT_NAME_CHARS_MAX = 255

EFFECTS, KEEPS = ("read", "write"), ("disposable", "protected")


def check_tools(check: Check, value: Any, facts: DocumentFacts) -> None:
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
        _rest(check, found, pointer, facts)


def _rest(check: Check, found: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    check.text(found.get("description", ""), f"{pointer}/description", DESCRIPTION_CHARS_MAX, blank=True)
    parameters = found.get("parameters", TOOL_DEFAULTS["parameters"])
    faults = check_schema(parameters, f"{pointer}/parameters")
    if not faults and parameters.get("type") != "object":
        check.fault(f"{pointer}/parameters/type", "bad-schema", "The parameters of a tool are an object: `type` has to be `object`.")
    check.faults += faults
    for key in ("enabled", "repeatable"):
        check.boolean(found.get(key, True), f"{pointer}/{key}")
    _executor(check, found.get("executor", TOOL_DEFAULTS["executor"]), f"{pointer}/executor")
    if "results" in found:
        _results(check, found["results"], parameters if isinstance(parameters, Mapping) else {}, f"{pointer}/results")
    approval = found.get("approval", "never")
    if not isinstance(approval, Mapping):
        check.word(approval, f"{pointer}/approval", ("never", "always"))
    elif check.object(approval, f"{pointer}/approval", ("when",), ("when",)) is not None and "when" in approval:
        check_condition(check, approval["when"], f"{pointer}/approval/when", facts)


def _executor(check: Check, value: Any, pointer: str) -> None:
    kind = value.get("kind") if isinstance(value, Mapping) else None
    keys = EXECUTORS.get(kind) if isinstance(kind, str) else None
    required = ("kind",) if keys is None else tuple(key for key in keys if key != "tool")
    found = check.object(value, pointer, ("kind",) if keys is None else keys, required)
    if found is None or "kind" not in found:
        return
    if keys is None:
        check.word(kind, f"{pointer}/kind", tuple(EXECUTORS))
        return
    if "server" in found and "server" in keys and not _matches(found["server"], SERVER_NAME):
        check.fault(f"{pointer}/server", "bad-value", "This is the name of a tool server; its URL stands in the operator's configuration alone.")
    if "tool" in found and "tool" in keys:
        check.text(found["tool"], f"{pointer}/tool", REMOTE_NAME_CHARS_MAX)
    if "agent" in found and "agent" in keys and not _matches(found["agent"], AGENT_NAME):
        check.fault(f"{pointer}/agent", "bad-value", "This is the name of an agent.")
    if "mode" in found and "mode" in keys:
        check.word(found["mode"], f"{pointer}/mode", ("transfer", "call"))


def _results(check: Check, value: Any, parameters: Mapping[str, Any], pointer: str) -> None:
    """What a tool says of its results: a target is an argument of it, and an effect is one on a target."""
    found = check.object(value, pointer, ("target", "effect", "keep"))
    if found is None:
        return
    target, known = found.get("target"), parameters.get("properties")
    if "target" in found:
        check.text(target, f"{pointer}/target", ARGUMENT_NAME_CHARS_MAX)
        if isinstance(target, str) and isinstance(known, Mapping) and target not in known:
            check.fault(f"{pointer}/target", "bad-value", "Name an argument of the tool: a key of `properties` of its parameters.")
    elif "effect" in found:
        check.fault(f"{pointer}/target", "missing", "Name the argument that says what is read or written; an effect is one on a target.")
    if "effect" in found:
        check.word(found["effect"], f"{pointer}/effect", EFFECTS)
    if "keep" in found:
        check.word(found["keep"], f"{pointer}/keep", KEEPS)


def _matches(value: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
