"""The subset of OpenAPI that Gemini's `parameters` and `responseSchema` take (wire-format notes 5.1), of schemas in canonical form."""

from collections.abc import Iterator
from typing import Any

from tests.fakes.gemini_proto import Breach


def schema_breaches(schema: dict[str, Any], at: str) -> Iterator[Breach]:
    """What is wrong with a schema and those in it. Keys that the subset does not have were refused when it was read."""
    kind = schema.get("type")
    if "anyOf" in schema and schema.keys() - {"anyOf", "nullable"}:
        yield Breach(f"{at}: schema specified other fields alongside any_of. When using any_of, it must be the only field set.")
    if ("items" in schema) != (kind == "ARRAY"):
        yield Breach(f"{at}.items: missing field." if kind == "ARRAY" else f"{at}.items: field predicate failed: $type == Type.ARRAY")
    if "enum" in schema and (kind != "STRING" or "" in schema["enum"]):
        yield Breach(f"{at}.enum: only allowed for STRING type, and not empty")
    if "properties" in schema and kind != "OBJECT":
        yield Breach(f"{at}.properties: only allowed for OBJECT type")
    for index, name in enumerate(schema.get("required", ())):
        if name not in schema.get("properties", {}):
            yield Breach(f"{at}.required[{index}]: property is not defined")
    for name, child in schema.get("properties", {}).items():
        yield from schema_breaches(child, f"{at}.properties[{name}]")
    if "items" in schema:
        yield from schema_breaches(schema["items"], f"{at}.items")
    for index, child in enumerate(schema.get("anyOf", ())):
        yield from schema_breaches(child, f"{at}.any_of[{index}]")


def depth(schema: Any) -> int:
    """How many schemas lie in one another, of either kind of schema."""
    if not isinstance(schema, dict):
        return 0
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), *(schema.get("anyOf") or ())]
    return 1 + max(map(depth, inner), default=0)
