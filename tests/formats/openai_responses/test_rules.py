"""What differs by model."""

import pytest

from app.formats.openai_responses.rules import RULES, path, rules_for

TOP = "none low medium high xhigh max"


@pytest.mark.parametrize(
    ("model", "efforts", "temperature", "default_effort"),
    [
        ("o3", "low medium high", False, ""),
        ("o4-mini-2025-04-16", "low medium high", False, ""),
        ("gpt-5", "minimal low medium high", False, ""),
        ("gpt-5-mini", "minimal low medium high", False, ""),
        ("gpt-5-pro", "high", False, ""),
        ("gpt-5.2-pro-2026-01-01", "medium high xhigh", False, ""),
        ("gpt-5.1", "none low medium high", True, "none"),
        ("gpt-5.1-chat-latest", "medium", False, ""),
        ("gpt-5.4", TOP, True, "none"),
        ("gpt-5.4-mini", TOP, True, "none"),
        ("gpt-5.5", TOP, True, "medium"),
        ("gpt-5.6-sol", TOP, True, "medium"),
        ("gpt-5.10", TOP, True, "medium"),
        ("gpt-6-astra", "low medium high xhigh max", False, ""),
        ("gpt-6.1-sol", "low medium high xhigh max", False, ""),
        ("gpt-6.1-terra", TOP, False, ""),
        ("gpt-6-luna", TOP, False, ""),
        ("gpt-4o", "", True, ""),
        ("gpt-4.1-mini", "", True, ""),
        ("gpt-5-chat-latest", "", True, ""),
    ],
)
def test_efforts_and_sampling_of_openai_models(model: str, efforts: str, temperature: bool, default_effort: str):
    rules = rules_for(model)
    assert (rules.efforts, rules.temperature, rules.default_effort) == (efforts, temperature, default_effort)
    assert (rules.thinking == "") == (efforts == "")


@pytest.mark.parametrize("model", ["deepseek-v4-pro", "grok-4", "openai/gpt-5", "gpt-oss-120b", "scripted", "gpt-50"])
def test_of_other_models_nothing_is_assumed(model: str):
    assert rules_for(model) is RULES


def test_a_request_goes_to_responses():
    assert path("gpt-5") == "/responses"
