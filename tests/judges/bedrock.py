"""Converse: botocore's service model as a closed schema and by its own validator, and the rules of the fake endpoint.

The validator says nothing about enums, patterns and unions with several members; the schema, made of the same shapes, does.
"""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs
from botocore.session import get_session
from botocore.validate import ParamValidator

from app.models.resolve import Target
from tests.fakes.bedrock_rules import breaches
from tests.judges.schemas import compiled, found_by

OPERATION = "ConverseStream"
_NUMBERS = {"integer": "integer", "long": "integer", "float": "number", "double": "number"}


@cache
def input_shape() -> Any:
    return get_session().get_service_model("bedrock-runtime").operation_model(OPERATION).input_shape


@cache
def schema() -> jsonschema_rs.Draft202012Validator:
    """Of a body over REST: the model stands in the path, and bytes are base64 text."""
    definitions: dict[str, Any] = {}
    top = dict(_schema_of(input_shape(), definitions))
    body = definitions[top["$ref"].rpartition("/")[2]]
    del body["properties"]["modelId"]
    body["required"].remove("modelId")
    return compiled({"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": definitions})


def _schema_of(shape: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a shape. Structures, which may hold themselves, are definitions."""
    if shape.type_name == "structure":
        if getattr(shape, "is_document_type", False):
            return {}
        if shape.name not in definitions:
            definitions[shape.name] = found = {"type": "object", "additionalProperties": False, "required": list(shape.required_members)}
            found["properties"] = {name: _schema_of(member, definitions) for name, member in shape.members.items()}
            if getattr(shape, "is_tagged_union", False):
                found |= {"minProperties": 1, "maxProperties": 1}
        return {"$ref": f"#/$defs/{shape.name}"}
    facts = shape.metadata
    if shape.type_name == "list":
        return {"type": "array", "items": _schema_of(shape.member, definitions), **_bounds(facts, "minItems", "maxItems")}
    if shape.type_name == "map":
        return {"type": "object", "additionalProperties": _schema_of(shape.value, definitions)}
    if shape.type_name in _NUMBERS:
        return {"type": _NUMBERS[shape.type_name], **_bounds(facts, "minimum", "maximum")}
    if shape.type_name == "boolean":
        return {"type": "boolean"}
    if shape.type_name == "blob":
        return {"type": "string"}
    found = {"type": "string", **_bounds(facts, "minLength", "maxLength")}
    if facts.get("enum"):
        found["enum"] = list(facts["enum"])
    if facts.get("pattern"):
        found["pattern"] = f"^(?:{facts['pattern']})$"
    return found


def _bounds(facts: Mapping[str, Any], least: str, most: str) -> dict[str, Any]:
    return {key: facts[name] for name, key in (("min", least), ("max", most)) if name in facts}


def sdk_objections(body: Any, target: Target) -> list[str]:
    found = found_by(schema(), body)
    if found:
        return found
    try:
        given = _with_bytes({**body, "modelId": target.model.name}, input_shape())
    except binascii.Error as error:
        return [f"/: {error}"]
    report = ParamValidator().validate(given, input_shape())
    return [report.generate_report()] if report.has_errors() else []


def _with_bytes(value: Any, shape: Any) -> Any:
    """A body as the SDK's methods take it. Raises `binascii.Error` for bytes that are no base64."""
    if shape.type_name == "blob":
        return b64decode(value, validate=True)
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        return {key: _with_bytes(item, shape.members[key]) for key, item in value.items()}
    if shape.type_name == "list":
        return [_with_bytes(item, shape.member) for item in value]
    return {key: _with_bytes(item, shape.value) for key, item in value.items()} if shape.type_name == "map" else value


def fake_objections(body: Any, target: Target) -> list[str]:
    return [f"{breach.at}: {breach.message}" for breach in breaches(body, target.model.name, OPERATION)]
