"""Closed JSON Schemas out of the official SDKs' own types, made when they are first asked for and kept for the process.

Closed: no object takes a key that the SDK's types do not name, except where the value is a user's own (a JSON Schema, the input of a
call). A judgement costs a few microseconds, since the validator is compiled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jsonschema_rs
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

MESSAGE_CHARS_MAX = 200
OBJECTIONS_MAX = 20


class Tolerance(NamedTuple):
    """What an SDK's types refuse and the provider takes. `loosen` changes the schema; `reason` says who takes it and how that is known."""

    what: str
    reason: str
    loosen: Callable[[dict[str, Any]], None]


class _Loose(GenerateJsonSchema):
    """Branches that no JSON can take (open files, paths) take none."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {"not": {}}


def closed(kind: Any, tolerances: Iterable[Tolerance] = ()) -> jsonschema_rs.Draft202012Validator:
    """A validator of an SDK's type."""
    schema = TypeAdapter(kind).json_schema(schema_generator=_Loose)
    _close(schema)
    for tolerance in tolerances:
        tolerance.loosen(schema)
    return compiled(schema)


def compiled(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """A validator of a schema that is closed already."""
    return jsonschema_rs.Draft202012Validator(schema)


_MAPS = ("$defs", "properties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES = ("items", "additionalProperties")
_USERS_OWN = frozenset({"InputSchemaTyped"})
"""Objects that are a user's JSON Schema."""


def _close(schema: Any) -> None:
    if not isinstance(schema, dict):
        return
    if "properties" in schema and schema.get("title") not in _USERS_OWN:
        schema["additionalProperties"] = False
    for inner in [one for key in _MAPS for one in schema.get(key, {}).values()]:
        _close(inner)
    for inner in [one for key in _LISTS for one in schema.get(key, [])] + [schema.get(key) for key in _ONES]:
        _close(inner)


def found_by(validator: jsonschema_rs.Draft202012Validator, document: Any) -> list[str]:
    """What a validator has against a document, each with its place; the innermost causes of a choice among shapes first."""
    if validator.is_valid(document):
        return []
    found: list[str] = []
    for error in validator.iter_errors(document):
        at = "/" + "/".join(str(step) for step in error.instance_path)
        found.append(f"{at}: {error.message[:MESSAGE_CHARS_MAX]}")
        if len(found) == OBJECTIONS_MAX:
            break
    return found


def objects(schema: Any, *names: str) -> Iterator[dict[str, Any]]:
    """The definitions of those names. Raises `KeyError` for one that the SDK no longer has, since a tolerance for nothing hides something."""
    for name in names:
        yield schema["$defs"][name]


def optional(key: str, *names: str) -> Callable[[dict[str, Any]], None]:
    """Loosens: the key need not be there."""

    def loosen(schema: dict[str, Any]) -> None:
        for found in objects(schema, *names):
            found["required"].remove(key)

    return loosen


def also(properties: Mapping[str, Any], *names: str) -> Callable[[dict[str, Any]], None]:
    """Loosens: more keys may be there. Without a name, in the body itself."""

    def loosen(schema: dict[str, Any]) -> None:
        for found in objects(schema, *names) if names else (schema,):
            found["properties"] |= properties

    return loosen
