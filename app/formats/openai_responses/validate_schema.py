"""The subset of JSON Schema that is taken where `strict` is true (wire-format notes 1.2, which 3.2 refers to)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_REFUSED = ("allOf", "not", "if", "dependentRequired", "dependentSchemas")
_LEVELS_MAX = 10
_PROPERTIES_MAX = 5_000
_ENUM_VALUES_MAX = 1_000
_CHARS_MAX = 120_000
_LONG_ENUM_VALUES = 250
_LONG_ENUM_CHARS_MAX = 15_000


@dataclass(slots=True)
class _Seen:
    """What a schema has in all. `levels`: the deepest nesting of objects and lists."""

    levels: int = 0
    properties: int = 0
    enum_values: int = 0
    chars: int = 0
    long_enum_chars: int = 0
    open_objects: bool = False
    optional: bool = False
    refused: bool = False


def strict_faults(schema: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each rule that the schema breaks."""
    seen = _Seen()
    for node, level in _nodes(schema):
        _look(node, level, seen)
    if schema.get("type") != "object":
        yield "The root of a strict schema is an object."
    if seen.refused:
        yield f"A strict schema has none of {', '.join(_REFUSED)}."
    if seen.open_objects:
        yield "Each object of a strict schema says `additionalProperties: false`."
    if seen.optional:
        yield "Each property of a strict schema is required."
    for count, limit, what in (
        (seen.levels, _LEVELS_MAX, "levels of nesting"),
        (seen.properties, _PROPERTIES_MAX, "properties"),
        (seen.enum_values, _ENUM_VALUES_MAX, "enum values"),
        (seen.chars, _CHARS_MAX, "characters of names and enum values"),
        (seen.long_enum_chars, _LONG_ENUM_CHARS_MAX, f"characters in an enum of more than {_LONG_ENUM_VALUES} values"),
    ):
        if count > limit:
            yield f"A strict schema has at most {limit} {what}."


def _nodes(schema: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Every schema in the schema and how deep it lies; without recursion, since bodies come from anyone."""
    waiting: list[tuple[Any, int]] = [(schema, 1)]
    while waiting:
        node, level = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        yield node, level
        for key in ("properties", "$defs", "definitions"):
            named = node.get(key)
            deeper = level + 1 if key == "properties" else level
            waiting += [(each, deeper) for each in named.values()] if isinstance(named, Mapping) else []
        waiting.append((node.get("items"), level + 1))
        for key in ("anyOf", "oneOf"):
            listed = node.get(key)
            waiting += [(each, level) for each in listed] if isinstance(listed, list) else []


def _look(node: Mapping[str, Any], level: int, seen: _Seen) -> None:
    properties, enum = node.get("properties"), node.get("enum")
    kind = node.get("type")
    seen.refused = seen.refused or any(key in node for key in _REFUSED)
    if kind == "object" or (isinstance(kind, list) and "object" in kind) or kind == "array":
        seen.levels = max(seen.levels, level)
    if kind == "object" or (isinstance(kind, list) and "object" in kind) or isinstance(properties, Mapping):
        names = list(properties) if isinstance(properties, Mapping) else []
        required = node.get("required")
        seen.open_objects = seen.open_objects or node.get("additionalProperties") is not False
        listed = required if isinstance(required, list) else []
        seen.optional = seen.optional or any(name not in listed for name in names)
        seen.properties += len(names)
        seen.chars += sum(map(len, names))
    if isinstance(enum, list):
        chars = sum(len(str(value)) for value in enum)
        seen.enum_values += len(enum)
        seen.chars += chars
        if len(enum) > _LONG_ENUM_VALUES:
            seen.long_enum_chars = max(seen.long_enum_chars, chars)
