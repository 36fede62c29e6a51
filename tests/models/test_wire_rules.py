"""Wire rules, and the quirks that change them."""

from dataclasses import fields
from typing import Any

import pytest

from app.models.wire_rules import UnknownQuirk, WireRules, check_quirks, with_quirks


def test_a_quirk_wins_over_the_rule_of_dialect_and_model():
    rules = with_quirks(WireRules(system_role="developer"), {"system_role": "system", "max_tokens_key": "max_tokens", "tool_choice": False})
    assert (rules.system_role, rules.max_tokens_key, rules.tool_choice) == ("system", "max_tokens", False)


@pytest.mark.parametrize(
    "quirks",
    [
        {"tool_choise": False},
        {"tool_choice": 0},
        {"tool_choice": "no"},
        {"call_id_chars_max": -1},
        {"call_id_chars_max": True},
        {"system_role": "robot"},
        {"reasoning_key": "thoughts"},
        {"call_id_pattern": "("},
    ],
)
def test_a_quirk_that_makes_no_sense_is_refused_by_name(quirks: dict[str, Any]):
    with pytest.raises(UnknownQuirk) as caught:
        check_quirks(quirks)
    assert next(iter(quirks)) in str(caught.value)


def test_a_refusal_names_the_field_and_never_the_value():
    with pytest.raises(UnknownQuirk) as caught:
        check_quirks({"system_role": "sk-secret"})
    assert "sk-secret" not in str(caught.value)


def test_every_rule_is_explained():
    assert WireRules.__doc__ is not None
    overheads = {"message_overhead_tokens", "name_overhead_tokens", "reply_overhead_tokens", "call_overhead_tokens"}
    overheads |= {"tool_overhead_tokens", "tools_overhead_tokens"}
    assert not [field.name for field in fields(WireRules) if field.name not in WireRules.__doc__ and field.name not in overheads]
