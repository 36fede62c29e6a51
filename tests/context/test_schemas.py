"""JSON Schemas that users give: local references alone, bounded, and never a loop."""

from typing import Any

import pytest

from app.context.schemas import check_schema, resolved


def codes(schema: Any) -> list[tuple[str, str]]:
    return [(fault.pointer, fault.code) for fault in check_schema(schema, "/s")]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
        {"$id": "https://example.test/a", "$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"},
        {"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"},
        {"properties": {"$ref": {"type": "string"}, "a/b~c": {}}, "allOf": [{"$ref": "#/properties/a~1b~0c"}, {"$ref": "#/allOf/0"}]},
        {"const": {"$ref": "http://data.test"}, "enum": [{"$ref": "http://data.test"}], "default": {"$ref": 1}},
    ],
)
def test_taken(schema: Any):
    assert codes(schema) == []


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        (True, "/s", "bad-type"),
        ({"type": "objct"}, "/s/type", "bad-schema"),
        ({"properties": {"a/b": {"minimum": "x"}}}, "/s/properties/a~1b/minimum", "bad-schema"),
        ({"$schema": "https://evil.test/schema"}, "/s/$schema", "bad-schema"),
        ({"$ref": "https://evil.test/schema"}, "/s/$ref", "bad-schema"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "/s/items/$ref", "bad-schema"),
        ({"$ref": "#/$defs/gone"}, "/s/$ref", "bad-schema"),
        ({"$ref": "#gone"}, "/s/$ref", "bad-schema"),
        ({"$ref": "#"}, "/s/$ref", "bad-schema"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "/s/$defs/a/$ref", "bad-schema"),
        ({"$dynamicRef": "other.json#x"}, "/s/$dynamicRef", "bad-schema"),
        ({"items": {"$id": "https://evil.test/"}}, "/s/items/$id", "bad-schema"),
        ({"properties": {"a": {"pattern": "("}}}, "/s/properties/a/pattern", "bad-schema"),
        ({"items": {"pattern": "a{99999999999999999999}"}}, "/s/items/pattern", "bad-schema"),
        ({"items": {"pattern": "(" * 9_000 + ")" * 9_000}}, "/s/items/pattern", "bad-schema"),
        ({"allOf": [{}], "$ref": "#/allOf/" + "9" * 5_000}, "/s/$ref", "bad-schema"),
        ({"description": "x" * 2**16}, "/s", "too-large"),
    ],
)
def test_refused(schema: Any, pointer: str, code: str):
    assert (pointer, code) in codes(schema)


@pytest.mark.parametrize("last", [{}, {"$ref": "#/allOf/0"}, {"$ref": "#gone"}])
def test_each_reference_is_followed_once(monkeypatch: pytest.MonkeyPatch, last: Any):
    followed: list[str] = []

    def noted(reference: str, schema: Any) -> Any:
        followed.append(reference)
        return resolved(reference, schema)

    monkeypatch.setattr("app.context.schemas.resolved", noted)
    found = codes({"allOf": [last, *[{"$ref": f"#/allOf/{at}"} for at in range(1_000)]]})
    assert len(found) == (0 if last == {} else 1_001)
    assert len(followed) == len(set(followed)) >= 1_000


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch):
    def fetched(*_: Any, **__: Any) -> None:
        raise AssertionError("a schema was fetched")

    monkeypatch.setattr("urllib.request.urlopen", fetched)
    assert codes({"properties": {"a": {"$ref": "https://evil.test/schema"}}})
