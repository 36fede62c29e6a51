"""Conditions that a document states: the key `when` of an approval."""

from typing import Any

from app.context.fields import Check

CONDITION_CHARS_MAX = 1_000


def check_condition(check: Check, value: Any, pointer: str) -> None:
    """A condition is a text of bounded length; what it may say is not built yet."""
    if check.text(value, pointer, CONDITION_CHARS_MAX) is not None:
        check.unbuilt(pointer, "A condition")
