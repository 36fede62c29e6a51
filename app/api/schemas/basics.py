"""Pieces that the other schemas are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.config import limits

Schema = Mapping[str, Any]

TEXT_PATTERN = "^[^\\u0000\\ud800-\\udfff]*$"
"""Text that Postgres can hold in a column: no NUL, no lone surrogate. Message texts have no such limit."""

NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
TOOL_NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$"


def obj(
    properties: Mapping[str, Schema],
    required: Sequence[str] = (),
    *,
    open_: bool = False,
    description: str | None = None,
) -> dict[str, Any]:
    """An object with these properties and, unless `open_`, no others."""
    found: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        found["required"] = list(required)
    if not open_:
        found["additionalProperties"] = False
    return found if description is None else found | {"description": description}


def answer(properties: Mapping[str, Schema], optional: Sequence[str] = (), description: str | None = None) -> dict[str, Any]:
    """An object of an answer: every property is there but those that are `optional`."""
    return obj(properties, [name for name in properties if name not in optional], description=description)


def arr(items: Schema, *, least: int = 0, most: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array", "items": items}
    if least:
        found["minItems"] = least
    return found if most is None else found | {"maxItems": most}


def text(most: int | None = None, least: int = 0, pattern: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    if least:
        found["minLength"] = least
    if most is not None:
        found["maxLength"] = most
    return found if pattern is None else found | {"pattern": pattern}


def column(most: int, least: int = 0) -> dict[str, Any]:
    """A string that is stored in a column of its own."""
    return text(most, least, TEXT_PATTERN)


def one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def integer(least: int | None = None, most: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "integer"}
    if least is not None:
        found["minimum"] = least
    return found if most is None else found | {"maximum": most}


def nullable(schema: Schema) -> dict[str, Any]:
    """The same schema or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    return {"anyOf": [schema, {"type": "null"}]}


def typed_id(prefix: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$"}


def ref(name: str) -> dict[str, Any]:
    """A reference to a named schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


BOOL: Schema = {"type": "boolean"}
ANY: Schema = {}
OBJECT: Schema = {"type": "object"}
TIME: Schema = {"type": "string", "format": "date-time"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SEQ: Schema = {"type": "integer", "minimum": 0, "maximum": 2**62}
DIGEST: Schema = {"type": "string", "pattern": DIGEST_PATTERN}
SESSION_ID = typed_id("ses")
TURN_ID = typed_id("trn")
CALL_ID = typed_id("mcl")
CHECKPOINT_ID = typed_id("chk")
AGENT_NAME = text(64, 1, NAME_PATTERN)
LIMIT: Schema = integer(1, limits.LIST_LIMIT_MAX)


def listing(item: Schema, next_: Schema | None = None) -> dict[str, Any]:
    """The envelope of a list; `next` goes into `after` for the next page."""
    cursor = {"type": ["string", "null"]} if next_ is None else next_
    return answer({"object": {"const": "list"}, "data": arr(item), "has_more": BOOL, "next": cursor})
