"""The shapes of a Converse body, read off the service model that the official SDK ships: types, keys, enums, patterns, bounds.

The SDK's own validator leaves enums and patterns out (wire-format notes 9.2), and takes bytes where the wire has base64.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ServiceModel

from tests.fakes.shapes import Breach

_TYPES = {"string": str, "boolean": bool, "integer": int, "long": int, "list": list, "map": dict, "structure": dict, "blob": str}


@cache
def service() -> ServiceModel:
    return botocore.session.get_session().get_service_model("bedrock-runtime")


def shape_breaches(operation: str, body: Any) -> list[Breach]:
    """What is wrong with the shape of the body of this operation (`ConverseStream`, `Converse`, `CountTokens`)."""
    shape: Any = service().operation_model(operation).input_shape
    held = {name: member for name, member in shape.members.items() if "location" not in member.serialization}
    if not isinstance(body, dict):
        return [Breach("", "Malformed input request: expected type: JSONObject")]
    return list(_structure(held, [name for name in shape.required_members if name in held], body, ""))


def _structure(members: dict[str, Any], needed: list[str], value: dict[str, Any], at: str) -> Iterator[Breach]:
    for name in needed:
        if name not in value:
            yield Breach(at, f"Malformed input request: required key [{name}] not found, please reformat your input and try again.")
    for name, inner in value.items():
        if name not in members:
            yield Breach(at, f"Malformed input request: extraneous key [{name}] is not permitted, please reformat your input and try again.")
        else:
            yield from _value(members[name], inner, f"{at}.{name}" if at else name)


def _value(shape: Any, value: Any, at: str) -> Iterator[Breach]:
    if getattr(shape, "is_document_type", False):
        return
    if shape.type_name in ("float", "double"):
        right = type(value) in (int, float)
    else:
        right = isinstance(value, _TYPES[shape.type_name]) and not (shape.type_name in ("integer", "long") and isinstance(value, bool))
    if not right:
        yield Breach(at, f"Malformed input request: expected type: {shape.type_name}")
        return
    yield from _bounds(shape, value, at)
    if shape.type_name == "structure":
        if shape.is_tagged_union and len(value) != 1:
            yield Breach(at, f"Malformed input request: exactly one of [{', '.join(shape.members)}] is expected")
        yield from _structure(shape.members, shape.required_members, value, at)
    elif shape.type_name == "list":
        for index, each in enumerate(value):
            yield from _value(shape.member, each, f"{at}.{index}")
    elif shape.type_name == "map":
        for key, each in value.items():
            yield from _value(shape.key, key, f"{at}.{key}")
            yield from _value(shape.value, each, f"{at}.{key}")


def _bounds(shape: Any, value: Any, at: str) -> Iterator[Breach]:
    told = shape.metadata
    size = value
    if shape.type_name == "blob":
        try:
            size = len(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError):
            yield Breach(at, "Malformed input request: the blob is no base64")
            return
    elif not isinstance(value, int | float):
        size = len(value)
    wrong = None
    if "enum" in told and value not in told["enum"]:
        wrong = f"satisfy enum value set: [{', '.join(told['enum'])}]"
    elif "pattern" in told and shape.type_name == "string" and not re.fullmatch(told["pattern"], value):
        wrong = f"satisfy regular expression pattern: {told['pattern']}"
    elif not isinstance(value, bool) and "min" in told and size < told["min"]:
        wrong = f"have a value or length greater than or equal to {told['min']}"
    elif not isinstance(value, bool) and "max" in told and size > told["max"]:
        wrong = f"have a value or length less than or equal to {told['max']}"
    if wrong is not None:
        yield Breach(at, f"1 validation error detected: Value at '{at}' failed to satisfy constraint: Member must {wrong}")
