"""Which places of a state a change touched."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.limits import CHANGED_POINTERS_CHARS_MAX
from app.context.state_patch import changed_pointers, merge_patch, same
from app.entries import lossless

keys = st.text("ab/~é", min_size=1, max_size=3)
values = st.recursive(
    st.integers(0, 3) | st.booleans() | st.text("xy", max_size=2), lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
states = st.dictionaries(st.sampled_from(["session", "user"]), st.dictionaries(keys, values, max_size=4))


@pytest.mark.req("X-14")
@pytest.mark.parametrize(
    ("before", "after", "pointers"),
    [
        ({}, {}, ()),
        ({}, {"user": {"a": 1}}, ("/user",)),
        ({"user": {"a": 1}}, {"user": {"a": 2, "b": 3}}, ("/user/a", "/user/b")),
        ({"user": {"a": {"x": 1, "y": 2}}}, {"user": {"a": {"x": 1}}}, ("/user/a/y",)),
        ({"user": {"a": [1, 2]}}, {"user": {"a": [1, 3]}}, ("/user/a",)),
        ({"user": {"a": 1}}, {"user": {"a": 1.0}}, ("/user/a",)),
        ({"user": {"a": {"x": 1}}}, {"user": {"a": 5}}, ("/user/a",)),
        ({"user": {"a/b": 1, "c~": 1}}, {"user": {"a/b": 2, "c~": 2}}, ("/user/a~1b", "/user/c~0")),
        ({"user": {"a": {"x": 1, "y": 2}}}, {"user": {"a": {"y": 2, "x": 1}}}, ("/user/a",)),
    ],
)
def test_pointers_name_what_differs(before: dict[str, Any], after: dict[str, Any], pointers: tuple[str, ...]) -> None:
    assert changed_pointers(before, after) == pointers


@given(states, states)
def test_nothing_else_changed(before: dict[str, Any], after: dict[str, Any]) -> None:
    """What lies at the pointers, put from one state into the other, makes it the same but for the order of keys."""
    found = before
    for pointer in changed_pointers(before, after):
        path = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        found = _put(found, path, after)
    assert found == after
    if same(before, after):
        assert changed_pointers(before, after) == ()


def _put(state: Any, path: list[str], other: Any) -> Any:
    """The state with what the other has at that path."""
    if not path:
        return other
    key, *rest = path
    if key not in other:
        return {name: value for name, value in state.items() if name != key}
    return {**state, key: _put(state.get(key), rest, other[key])}


@given(states, states)
def test_a_patch_that_merges_is_named_by_its_pointers(state: dict[str, Any], patch: dict[str, Any]) -> None:
    merged = merge_patch(state, patch)
    named = {pointer.split("/")[1] for pointer in changed_pointers(state, merged)}
    assert named <= set(patch)


def test_many_changes_name_whole_objects() -> None:
    wide = {"user": {"a": {f"k{n}": n for n in range(5_000)}, "b": 1}}
    assert changed_pointers({"user": {"a": {"k0": 1}, "b": 0}}, wide) == ("/user/a", "/user/b")
    flat = {"user": {f"k{n}": n for n in range(5_000)}}
    assert changed_pointers({"user": {"k0": 1}}, flat) == ("/user",)
    # Long names over many leaves would make pointers of many times the state's own size.
    long = "n" * (CHANGED_POINTERS_CHARS_MAX - 100)
    deep = {"user": {"x": {long: {str(n): n for n in range(2_000)}}}}
    found = changed_pointers({"user": {"x": {long: {"0": 1}}}}, deep)
    assert found == ("/user/x",)
    assert len(lossless.dumps(list(found))) < CHANGED_POINTERS_CHARS_MAX
