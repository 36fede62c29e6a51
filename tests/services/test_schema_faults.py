"""Faults of documents: where they are, what they are, and never what was said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.routes.raw import OPERATIONS
from app.api.schemas.basics import arr, column, integer, nullable, obj, one_of, text
from app.api.validation import Checker
from app.entries.errors import Invalid
from app.services.bounded_schemas import SchemaChecker
from app.services.schema_faults import schema_faults

SCHEMA = obj(
    {
        "name": text(5, 1, "^[a-z]+$"),
        "title": column(9),
        "n": integer(1, 3),
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "kind": one_of("a", "b"),
        "items": arr(nullable(integer()), least=1, most=2),
        "form": {"anyOf": [obj({"type": {"const": "x"}, "v": text()}, ["type", "v"]), obj({"type": {"const": "y"}, "w": integer()}, ["type", "w"])]},
    },
    ["name"],
)
SECRET = "SECRET-91"


@pytest.mark.req("X-85")
@pytest.mark.parametrize(
    ("document", "faults"),
    [
        ({"name": "abc"}, []),
        ([], [("", "wrong-type")]),
        ({}, [("/name", "missing")]),
        ({"name": ""}, [("/name", "too-short"), ("/name", "wrong-form")]),
        ({"name": "abc\n"}, [("/name", "wrong-form")]),
        ({"name": "a", "title": "\ud800"}, [("/title", "wrong-form")]),
        ({"name": "a", "title": "\0"}, [("/title", "wrong-form")]),
        ({"name": "a", "title": "é\U0001f469"}, []),
        ({"name": "ABCDEFG"}, [("/name", "too-long"), ("/name", "wrong-form")]),
        ({"name": 1, "a/b~": 2}, [("/name", "wrong-type"), ("/a~1b~0", "unknown-field")]),
        ({"name": "a", "n": 0}, [("/n", "out-of-range")]),
        ({"name": "a", "n": 4}, [("/n", "out-of-range")]),
        ({"name": "a", "n": True}, [("/n", "wrong-type")]),
        ({"name": "a", "share": 0}, [("/share", "out-of-range")]),
        ({"name": "a", "share": 1}, [("/share", "out-of-range")]),
        ({"name": "a", "share": 0.5}, []),
        ({"name": "a", "kind": SECRET}, [("/kind", "not-allowed")]),
        ({"name": "a", "skills": [SECRET]}, [("/skills", "unknown-field")]),
        ({"name": "a", "items": []}, [("/items", "too-short")]),
        ({"name": "a", "items": [1, None, SECRET]}, [("/items", "too-long"), ("/items/2", "wrong-type")]),
        ({"name": "a", "form": {"type": "x", "v": 1}}, [("/form/v", "wrong-type")]),
        ({"name": "a", "form": {"type": "y"}}, [("/form/w", "missing")]),
        ({"name": "a", "form": {"type": SECRET}}, [("/form/type", "not-allowed")]),
        ({"name": "a", "form": {}}, [("/form/type", "missing")]),
        ({"name": "a", "form": SECRET}, [("/form", "no-such-form")]),
    ],
)
def test_each_fault_has_its_place_and_code(document: Any, faults: list[tuple[str, str]]) -> None:
    found = schema_faults(SchemaChecker(SCHEMA), document)
    assert sorted((fault.pointer, fault.code) for fault in found) == sorted(faults)
    assert all(SECRET not in fault.detail for fault in found)
    if faults:
        with pytest.raises(Invalid) as caught:
            Checker(SCHEMA).check(document)
        assert caught.value.faults == found
    else:
        Checker(SCHEMA).check(document)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["user_message", "text", "c", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["entries", "kind", "parts", "type", "text", "tool_call_id", "zz"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(JSON)
def test_the_fast_check_and_the_full_one_agree(document: Any) -> None:
    schema = OPERATIONS[0].body
    assert schema is not None
    faults = schema_faults(SchemaChecker(dict(schema)), document)
    try:
        CHECKER.check(document)
    except Invalid:
        assert faults
    else:
        assert not faults


CHECKER = Checker(OPERATIONS[0].body or {})
