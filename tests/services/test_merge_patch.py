"""JSON Merge Patch, by the examples of RFC 7396 (appendix A) and two laws."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.state_patch import merge_patch

EXAMPLES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("target", "patch", "merged"), EXAMPLES)
def test_the_examples_of_the_rfc(target: Any, patch: Any, merged: Any) -> None:
    assert merge_patch(target, patch) == merged


@given(VALUES, VALUES)
def test_the_same_patch_twice_is_the_patch_once_and_the_target_stays(target: Any, patch: Any) -> None:
    before = repr(target)
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert repr(target) == before


@given(st.dictionaries(st.text(max_size=2), st.integers(), min_size=1, max_size=5))
def test_keys_that_stay_keep_their_place(target: dict[str, int]) -> None:
    first = next(iter(target))
    assert list(merge_patch(target, {first: 0})) == list(target)
