"""A judge of bodies judges anything that is a JSON object, and says nothing of what it holds."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.formats.registry import FORMATS
from tests.golden.scenarios import BLOBS, SCENARIOS
from tests.strategies import tokens

SECRET = "attribute-text"
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1e300, 2**70, "", " ", SECRET, [], {}, [None], {"type": None}, {"type": SECRET}, [[]]]
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*at, key))
    return found


@pytest.mark.parametrize("dialect", FORMATS)
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_one_thing_replaced_anywhere_is_judged_and_never_repeated(dialect: str, data: st.DataObject):
    scenario = data.draw(st.sampled_from(sorted(SCENARIOS)))
    request = compile_context(SCENARIOS[scenario](dialect), tokens).request
    document = copy.deepcopy(plain(FORMATS[dialect].write_request(request, BLOBS).document))
    *path, last = data.draw(st.sampled_from([place for place in places(document) if place]))
    target = document
    for key in path:
        target = target[key]
    target[last] = data.draw(LEAVES)
    for rules in (FORMATS[dialect].rules_for("m"), request.target.rules):
        for violation in FORMATS[dialect].validate(document, rules):
            assert violation.pointer == "" or violation.pointer.startswith("/")
            assert violation.detail
            assert SECRET not in violation.detail


def plain(value: Any) -> Any:
    """The tree as a parser would give it."""
    if hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
