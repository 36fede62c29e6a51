"""The schema of a tool's input as the endpoint takes it: an object whose properties have plain names, and no choice among schemas at its top.

The endpoint refuses the whole request for any other (its error texts: "input_schema does not support oneOf, allOf, or anyOf at the top
level", "Property keys should match pattern"), though a document may hold one, as servers of tools write them. What a branch says of
properties is told all the same, so that the model knows them; what only the choice says is lost, and arguments are judged by the
schema of the document.
"""

import re
from collections.abc import Mapping
from typing import Any

_CHOICES = ("allOf", "anyOf", "oneOf")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def input_schema(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema to send, and whether it says less than the given one."""
    given = schema if "type" in schema else {"type": "object", **schema}
    properties = given.get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    if not any(choice in given for choice in _CHOICES) and all(map(_PROPERTY.fullmatch, names)):
        return given, False
    told: dict[str, Any] = {}
    required = _texts(given.get("required"))
    for choice in _CHOICES:
        branches = given.get(choice)
        for branch in branches if isinstance(branches, list | tuple) else ():
            if isinstance(branch, Mapping):
                inner = branch.get("properties")
                told.update(inner if isinstance(inner, Mapping) else {})
                required += _texts(branch.get("required")) if choice == "allOf" else []
    told.update(names)
    kept = {name: told[name] for name in told if _PROPERTY.fullmatch(name)}
    found = {key: value for key, value in given.items() if key not in (*_CHOICES, "properties", "required")}
    if kept or "properties" in given:
        found["properties"] = kept
    if needed := [name for name in dict.fromkeys(required) if name in kept or _PROPERTY.fullmatch(name)]:
        found["required"] = needed
    return found, True


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
