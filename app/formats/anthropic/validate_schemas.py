"""JSON Schemas that the provider compiles: of strict tools and of structured output (wire-format notes 4.3)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.formats.anthropic.rules import STRICT_OPTIONAL_MAX, STRICT_TOOLS_MAX, STRICT_UNIONS_MAX
from app.formats.protocols import Violation

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems")
_UNIONS = ("anyOf", "oneOf")
_LISTS = (*_UNIONS, "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions")
_DEPTH_MAX = 64


def check_strict(schemas: Sequence[tuple[str, Mapping[str, Any]]], found: list[Violation]) -> None:
    """The schemas of strict tools with their pointers, each by itself and all together."""
    optional = unions = 0
    for at, schema in schemas:
        _check(schema, at, found)
        for each, _ in _schemas(schema, at, 0):
            optional += _optional(each)
            unions += _union(each)
    if len(schemas) > STRICT_TOOLS_MAX:
        found.append(Violation("/tools", "strict-too-many", f"At most {STRICT_TOOLS_MAX} tools are strict."))
    if optional > STRICT_OPTIONAL_MAX:
        found.append(Violation("/tools", "strict-too-many", f"Strict tools have at most {STRICT_OPTIONAL_MAX} optional parameters in all."))
    if unions > STRICT_UNIONS_MAX:
        found.append(Violation("/tools", "strict-too-many", f"Strict tools have at most {STRICT_UNIONS_MAX} parameters of a union in all."))


def check_structured(form: Any, body: Mapping[str, Any], found: list[Violation]) -> None:
    """`output_config.format`: its schema, and that no document asks for citations beside it."""
    at = "/output_config/format"
    schema = form.get("schema") if isinstance(form, Mapping) and form.get("type") == "json_schema" else None
    if not isinstance(schema, Mapping):
        found.append(Violation(at, "format-invalid", "`format` is of type json_schema and has a `schema`."))
        return
    _check(schema, f"{at}/schema", found)
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list) else ():
            citations = block.get("citations") if isinstance(block, Mapping) and block.get("type") in ("document", "search_result") else None
            if isinstance(citations, Mapping) and citations.get("enabled"):
                found.append(Violation(at, "format-with-citations", "Structured output is not taken beside citations."))
                return


def _check(schema: Mapping[str, Any], at: str, found: list[Violation]) -> None:
    for each, place in _schemas(schema, at, 0):
        bounds = [key for key in _BOUNDS if key in each]
        found.extend(Violation(f"{place}/{key}", "schema-not-taken", "A schema that is compiled has no bounds.") for key in bounds)
        if each.get("minItems") not in (None, 0, 1):
            found.append(Violation(f"{place}/minItems", "schema-not-taken", "`minItems` is 0 or 1."))
        if each.get("type") == "object" and each.get("additionalProperties") is not False:
            found.append(Violation(place, "schema-open", "An object has `additionalProperties: false`."))
    if _recursive(schema):
        found.append(Violation(at, "schema-recursive", "A schema that is compiled does not refer to itself."))


def _schemas(schema: Any, at: str, depth: int) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The schema and every one inside, with its pointer."""
    if not isinstance(schema, Mapping) or depth > _DEPTH_MAX:
        return
    yield schema, at
    for key in _MAPS:
        inner = schema.get(key)
        for name, each in inner.items() if isinstance(inner, Mapping) else ():
            step = str(name).replace("~", "~0").replace("/", "~1")
            yield from _schemas(each, f"{at}/{key}/{step}", depth + 1)
    for key in _LISTS:
        listed = schema.get(key)
        for number, each in enumerate(listed if isinstance(listed, list) else ()):
            yield from _schemas(each, f"{at}/{key}/{number}", depth + 1)
    yield from _schemas(schema.get("items"), f"{at}/items", depth + 1)


def _optional(schema: Mapping[str, Any]) -> int:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return 0
    return sum(name not in (required if isinstance(required, list) else ()) for name in properties)


def _union(schema: Mapping[str, Any]) -> int:
    return int(isinstance(schema.get("type"), list) or any(isinstance(schema.get(key), list) for key in _UNIONS))


def _recursive(schema: Mapping[str, Any]) -> bool:
    """Whether a definition reaches itself by references, or the root is referred to."""
    edges: dict[str, set[str]] = {}
    for key in ("$defs", "definitions"):
        inner = schema.get(key)
        for name, each in inner.items() if isinstance(inner, Mapping) else ():
            edges[f"#/{key}/{name}"] = {str(found["$ref"]) for found, _ in _schemas(each, "", 0) if "$ref" in found}
    if any(found.get("$ref") == "#" for found, _ in _schemas(schema, "", 0)):
        return True
    for start in edges:
        seen, waiting = set[str](), list(edges[start])
        while waiting:
            name = waiting.pop()
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                waiting.extend(edges.get(name, ()))
    return False
