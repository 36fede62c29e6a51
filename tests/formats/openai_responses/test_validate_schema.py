"""The subset of JSON Schema that is taken where `strict` is true."""

from typing import Any

import pytest

from app.formats.openai_responses.validate_schema import strict_faults


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def nested(levels: int) -> dict[str, Any]:
    schema = closed()
    for _ in range(levels - 1):
        schema = closed(x=schema)
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        closed(a={"type": "string"}, b={"anyOf": [closed(), {"type": "null"}]}),
        closed(a={"type": ["object", "null"], "properties": {}, "additionalProperties": False}),
        closed(a={"type": "array", "items": closed(b={"enum": ["x", 1]})}) | {"$defs": {"d": closed()}},
        closed(a={"$ref": "#"}),
        nested(10),
        closed(**{f"p{index}": {"type": "string"} for index in range(5_000)}),
        closed(a={"enum": ["x" * 60] * 250}),
        closed(a={"enum": list(range(1_000))}),
    ],
)
def test_what_is_strict_passes(schema: dict[str, Any]):
    assert list(strict_faults(schema)) == []


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"type": "string"}, "root"),
        ({"anyOf": [closed()]}, "root"),
        (closed() | {"allOf": []}, "none of"),
        (closed(a={"not": {}}), "none of"),
        (closed(a={"type": "array", "items": {"if": {}}}), "none of"),
        (closed() | {"$defs": {"d": {"dependentRequired": {}}}}, "none of"),
        ({"type": "object", "properties": {}}, "additionalProperties"),
        (closed(a={"type": "object", "properties": {}}), "additionalProperties"),
        (closed(a={"anyOf": [{"type": "null"}, {"type": "object"}]}), "additionalProperties"),
        (closed() | {"additionalProperties": True}, "additionalProperties"),
        (closed(a={}) | {"required": []}, "required"),
        (closed(a={}) | {"required": "a"}, "required"),
        (nested(11), "levels"),
        (closed(**{f"p{index}": {"type": "string"} for index in range(5_001)}), "properties"),
        (closed(a={"enum": list(range(1_001))}), "enum values"),
        (closed(**{"x" * 60_000: {}, "y" * 60_001: {}}), "characters of names"),
        (closed(a={"enum": ["x" * 60] * 251}), "characters in an enum"),
    ],
)
def test_each_rule_has_a_sentence(schema: dict[str, Any], word: str):
    (found,) = strict_faults(schema)
    assert word in found


def test_a_schema_of_any_depth_is_walked():
    assert any("levels" in fault for fault in strict_faults(nested(5_000)))
