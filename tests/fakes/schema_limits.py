"""What strict tools and structured outputs take of JSON Schema on Claude (wire-format notes 4.3, 6.2)."""

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.shapes import Breach

NUMERIC = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
LENGTHS = frozenset({"minLength", "maxLength"})
_NEVER = frozenset({"maxItems", "not", "if", "then", "else", "patternProperties", "propertyNames", "uniqueItems", "contains"})
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
_LOOKAROUND = re.compile(r"\(\?<?[=!]")


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas in it; never the values that only look like one."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        for inner in schema[key].values() if isinstance(schema.get(key), dict) else ():
            yield from schemas(inner)
    for key in ("items", "additionalProperties"):
        yield from schemas(schema.get(key))
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        for inner in schema[key] if isinstance(schema.get(key), list) else ():
            yield from schemas(inner)


def strict_breaches(schema: Any, at: str, forbidden: frozenset[str]) -> Iterator[Breach]:
    """What a strict schema may not say. `forbidden`: keywords that this endpoint does not take on top of those that none takes."""
    for one in schemas(schema):
        for key in sorted(one.keys() & (forbidden | _NEVER)):
            yield Breach(at, f"For '{one.get('type', 'any')}' type, property '{key}' is not supported")
        if one.get("minItems", 0) not in (0, 1):
            yield Breach(at, "For 'array' type, 'minItems' values other than 0 or 1 are not supported")
        if _is(one, "object") and one.get("additionalProperties") is not False:
            yield Breach(at, "For 'object' type, 'additionalProperties' must be explicitly set to false")
        if isinstance(one.get("format"), str) and one["format"] not in _FORMATS:
            yield Breach(at, f"For 'string' type, format '{one['format']}' is not supported")
        if isinstance(one.get("pattern"), str) and _LOOKAROUND.search(one["pattern"]):
            yield Breach(at, "Lookaround is not supported in 'pattern'")
    if _recursive(schema):
        yield Breach(at, "Recursive schemas are not supported")


def optional_count(schema: Any) -> int:
    """Properties that may be absent."""
    return sum(len(one.get("properties", {}).keys() - set(one.get("required", ()))) for one in schemas(schema))


def union_count(schema: Any) -> int:
    """Properties of more than one type."""
    return sum("anyOf" in one or isinstance(one.get("type"), list) for one in schemas(schema))


def _is(schema: dict[str, Any], kind: str) -> bool:
    return schema.get("type") == kind or (isinstance(schema.get("type"), list) and kind in schema["type"])


def _recursive(schema: Any) -> bool:
    """Whether a definition leads back to itself."""
    if not isinstance(schema, dict):
        return False
    defs = schema.get("$defs") or schema.get("definitions") or {}
    leads = {name: _references(inner) for name, inner in defs.items()}
    if "#" in _references(schema):
        return True
    for start in leads:
        seen: set[str] = set()
        ahead = set(leads[start])
        while ahead:
            name = ahead.pop()
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                ahead |= leads.get(name, set())
    return False


def _references(schema: Any) -> set[str]:
    return {one["$ref"].rsplit("/", 1)[-1] for one in schemas(schema) if isinstance(one.get("$ref"), str)}
