"""Which calls may run: each thing that keeps one from it, alone."""

from collections.abc import Collection

import pytest

from app.turn.admission import admit
from app.turn.policy import ToolPolicy

TOOLS = {"look": ToolPolicy("http"), "off": ToolPolicy("http", declared=False)}


@pytest.mark.req("T-05")
@pytest.mark.parametrize(
    ("name", "declared", "allowed", "code"),
    [
        ("look", ("look",), None, None),
        ("look", ("look",), ("look",), None),
        ("look", ("look",), (), "tool-not-allowed"),
        ("look", (), None, "tool-masked"),
        ("off", ("off",), None, "tool-masked"),
        ("gone", ("gone",), None, "tool-not-declared"),
    ],
)
def test_each_thing_that_keeps_a_call_from_running(name: str, declared: Collection[str], allowed: Collection[str] | None, code: str | None):
    found = admit(name, TOOLS, declared, allowed)
    assert (None if found is None else found.code) == code
