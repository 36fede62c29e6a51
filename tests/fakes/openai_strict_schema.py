"""The subset of JSON Schema that OpenAI takes where `strict` is true (wire-format notes 1.2), and its words for what is outside."""

import json
from collections.abc import Iterator
from typing import Any

LEVELS_MAX = 10
PROPERTIES_MAX = 5000
ENUM_VALUES_MAX = 1000
NAME_CHARS_MAX = 120_000
LONG_ENUM_VALUES = 250
LONG_ENUM_CHARS_MAX = 15_000
_REFUSED = ("allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "oneOf")


def strict_faults(schema: Any) -> Iterator[str]:
    """Each reason why the endpoint would not take this schema as a strict one."""
    if not isinstance(schema, dict) or schema.get("type") != "object" or "anyOf" in schema:
        yield "schema must be a JSON Schema of 'type: \"object\"' at its root."
        return
    deepest, properties, values, chars = 0, 0, 0, 0
    for node, level in _nodes(schema, 0):
        deepest = max(deepest, level)
        yield from _node_faults(node)
        properties += len(node.get("properties") or ())
        chars += sum(map(len, node.get("properties") or ()))
        enum = node.get("enum") or ()
        values += len(enum)
        enum_chars = sum(len(value if isinstance(value, str) else json.dumps(value)) for value in enum)
        chars += enum_chars
        if len(enum) > LONG_ENUM_VALUES and enum_chars > LONG_ENUM_CHARS_MAX:
            yield f"an enum of more than {LONG_ENUM_VALUES} values exceeds the limit of {LONG_ENUM_CHARS_MAX} characters."
    if deepest > LEVELS_MAX:
        yield f"{deepest} levels of nesting exceeds limit of {LEVELS_MAX}."
    if properties > PROPERTIES_MAX:
        yield f"{properties} parameters exceeds limit of {PROPERTIES_MAX}."
    if values > ENUM_VALUES_MAX:
        yield f"{values} enum values exceeds limit of {ENUM_VALUES_MAX}."
    if chars > NAME_CHARS_MAX:
        yield f"{chars} characters of names and enums exceeds limit of {NAME_CHARS_MAX}."


def _node_faults(node: dict[str, Any]) -> Iterator[str]:
    for key in _REFUSED:
        if key in node:
            yield f"'{key}' is not permitted."
    kind = node.get("type")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind) and "properties" not in node:
        return
    if node.get("additionalProperties") is not False:
        yield "'additionalProperties' is required to be supplied and to be false."
    if set(node.get("required") or ()) != set(node.get("properties") or ()):
        yield "'required' is required to be supplied and to be an array including every key in properties."


def _nodes(node: Any, level: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Every schema within a schema, with the number of objects and arrays around it."""
    if not isinstance(node, dict):
        return
    yield node, level
    for child in (node.get("properties") or {}).values():
        yield from _nodes(child, level + 1)
    if "items" in node:
        yield from _nodes(node["items"], level + 1)
    for child in node.get("anyOf") or ():
        yield from _nodes(child, level)
    for key in ("$defs", "definitions"):
        for child in (node.get(key) or {}).values():
            yield from _nodes(child, level)
