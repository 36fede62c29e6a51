"""The key `names` of renderers that speak of tools."""

from collections.abc import Mapping
from typing import Any

from app.config.limits import TOOLS_MAX
from app.context.fields import Check
from app.context.renderers.kinds import DocumentFacts


def check_names(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    """Names of the agent's own tools, each once."""
    if "names" not in spec:
        check.fault(f"{pointer}/names", "missing", "This key is required.")
        return
    seen: set[str] = set()
    for position, name in enumerate(check.list(spec["names"], f"{pointer}/names", TOOLS_MAX) or ()):
        place = f"{pointer}/names/{position}"
        if not isinstance(name, str):
            check.fault(place, "bad-type", "This has to be a string.")
        elif name not in facts.tool_names:
            check.fault(place, "unknown-tool", "The agent has no tool of this name; renderers speak of its own tools.")
        elif name in seen:
            check.fault(place, "duplicate-tool-name", "This tool is named twice.")
        else:
            seen.add(name)
