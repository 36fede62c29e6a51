"""What each Claude model takes (wire-format notes 4.1), and that an unknown one is asked for nothing that some model refuses."""

import pytest

from app.formats.anthropic import FORMAT
from app.formats.anthropic.rules import UNKNOWN, rules_for

TABLE = {
    # model: thinking, its types, efforts, forced choice, bound to the prefix, prefill
    "claude-fable-5-2": ("adaptive", "adaptive", "low medium high xhigh max", False, True, False),
    "claude-fable-5-1": ("adaptive", "adaptive", "low medium high xhigh max", False, True, False),
    "claude-mythos-5-2": ("adaptive", "adaptive", "low medium high xhigh max", False, True, False),
    "claude-mythos-5-1": ("adaptive", "adaptive", "low medium high xhigh max", False, False, False),
    "claude-fable-5": ("adaptive", "adaptive", "low medium high xhigh max", True, False, False),
    "claude-mythos-5": ("adaptive", "adaptive", "low medium high xhigh max", True, False, False),
    "claude-opus-5-5": ("adaptive", "adaptive", "low medium high xhigh max", False, True, False),
    "claude-sonnet-5-5": ("adaptive", "adaptive between_tools", "low medium high xhigh max", False, True, False),
    "claude-haiku-5-5": ("adaptive", "adaptive disabled", "none low medium high xhigh max", True, True, False),
    "claude-opus-5": ("adaptive", "adaptive disabled", "none low medium high xhigh max", True, False, False),
    "claude-sonnet-5": ("adaptive", "adaptive disabled", "none low medium high xhigh max", True, False, False),
    "claude-opus-4-8": ("adaptive", "adaptive disabled", "none low medium high xhigh max", True, False, False),
    "claude-opus-4-7": ("adaptive", "adaptive disabled", "none low medium high xhigh max", True, False, False),
    "claude-opus-4-6": ("adaptive", "adaptive enabled disabled", "none low medium high max", True, False, False),
    "claude-sonnet-4-6": ("adaptive", "adaptive enabled disabled", "none low medium high max", True, False, False),
    "claude-opus-4-5": ("budget", "enabled disabled", "none low medium high", True, False, True),
    "claude-haiku-4-5-20251001": ("budget", "enabled disabled", "none low medium high", True, False, True),
    "claude-sonnet-4-20250514": ("budget", "enabled disabled", "none low medium high", True, False, True),
    "claude-3-7-sonnet-20250219": ("budget", "enabled disabled", "none low medium high", True, False, True),
    "claude-3-5-haiku-20241022": ("", "", "", True, False, True),
}


@pytest.mark.parametrize("model", TABLE)
def test_the_table(model: str):
    rules = rules_for(model)
    found = (rules.thinking, rules.thinking_types, rules.efforts, rules.forced_choice, rules.prefix_bound, not rules.user_last)
    assert found == TABLE[model]


@pytest.mark.parametrize(
    ("model", "takes"),
    [("claude-opus-4-8", True), ("claude-sonnet-5", True), ("claude-haiku-5-5", True), ("claude-opus-4-7", False), ("claude-sonnet-4-5", False)],
)
def test_who_takes_a_system_message_among_the_others(model: str, takes: bool):
    assert rules_for(model).system_inside is takes


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("eu.anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5"),
        ("anthropic/claude-sonnet-5", "claude-sonnet-5"),
        ("claude-opus-5-20260701", "claude-opus-5"),
        ("claude-opus-4-1-20250805", "claude-opus-4-5"),
    ],
)
def test_dates_vendors_and_regions_make_no_other_model(name: str, same: str):
    assert rules_for(name) == rules_for(same)


@pytest.mark.parametrize("name", ["claude-opus-6", "claude-opus-5-6", "claude-opus-4-9", "claude-haiku-4-6", "claude", "gpt-4o", ""])
def test_an_unknown_model_is_asked_for_what_every_new_one_takes(name: str):
    rules = rules_for(name)
    assert rules == UNKNOWN
    for known in map(rules_for, TABLE):
        if known.thinking == "adaptive":
            assert set(rules.thinking_types.split()) <= set(known.thinking_types.split())
            assert set(rules.efforts.split()) <= set(known.efforts.split())
        assert not rules.forced_choice
        assert rules.prefix_bound
        assert rules.user_last


def test_what_holds_for_every_model():
    for model in [*TABLE, "unknown"]:
        rules = rules_for(model)
        assert not rules.temperature
        assert not rules.blank_texts
        assert not rules.allowed_tools
        assert (rules.user_first, rules.results_in_call_order, rules.arguments, rules.cache_breakpoints) == (True, True, "object", 4)
        assert (rules.image_bytes_max, rules.result_images, rules.result_files, rules.provider_blocks) == (5_242_880, True, True, True)


def test_where_and_how_it_is_asked():
    assert FORMAT.dialect == "anthropic-messages"
    assert FORMAT.path("claude-opus-5") == "/messages"
    assert (FORMAT.auth, dict(FORMAT.headers)) == ("x-api-key", {"anthropic-version": "2026-10-21"})
