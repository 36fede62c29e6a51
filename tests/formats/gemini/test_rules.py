"""What differs by model, and where a request goes."""

from typing import Any

import pytest

from app.formats.gemini.rules import path, rules_for
from app.models.efforts import EFFORTS


@pytest.mark.parametrize(
    ("model", "thinking", "efforts", "expected"),
    [
        ("gemini-2.0-flash", "", "", {"signs_calls": False, "result_images": False, "user_last": False}),
        ("gemini-2.5-flash", "budget", "none minimal low medium high", {"signs_calls": False, "result_images": False}),
        ("gemini-2.5-pro", "budget", "minimal low medium high", {"signs_calls": False}),
        ("gemini-3-pro-preview", "level", "low high", {"signs_calls": True, "result_images": True, "temperature": True}),
        ("gemini-3-flash-preview", "level", "minimal low medium high", {"signs_calls": True}),
        ("gemini-3.1-pro-preview", "level", "low medium high", {"signs_calls": True}),
        ("gemini-3.8-flash", "level", "low medium high", {"signs_calls": True, "user_last": False}),
        ("publishers/google/models/gemini-3.5-flash", "level", "low medium high", {"signs_calls": True}),
        ("gemini-4-argon", "level", "low medium high", {"signs_calls": True, "user_last": True, "temperature": False}),
        ("gemini-4-neon", "level", "low medium high xhigh", {"user_last": True}),
        ("gemini-10-x", "level", "low medium high", {"user_last": True}),
        ("gemini-flash-latest", "level", "low high", {"signs_calls": True, "user_last": False}),
        ("gemini-30", "level", "low medium high", {"user_last": True}),
        ("gemma-3-27b-it", "", "", {"signs_calls": False}),
        ("scripted", "", "", {"signs_calls": False}),
    ],
)
def test_models_differ_by_their_generation(model: str, thinking: str, efforts: str, expected: dict[str, Any]):
    rules = rules_for(model)
    assert (rules.thinking, rules.efforts) == (thinking, efforts)
    assert {key: getattr(rules, key) for key in expected} == expected
    assert set(efforts.split()) <= set(EFFORTS)


def test_every_model_shares_what_the_format_asks_for():
    for model in ("gemini-2.5-pro", "gemini-3-pro-preview", "gemini-4-argon", "other"):
        rules = rules_for(model)
        assert (rules.user_first, rules.results_in_call_order, rules.arguments, rules.provider_blocks) == (True, True, "object", True)
        assert not rules.image_urls
        assert "image/gif" not in rules.image_types


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gemini-2.5-flash", "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        ("a b/../c?d#e:f%2F", "/models/a%20b%2F..%2Fc%3Fd%23e%3Af%252F:streamGenerateContent?alt=sse"),
        ("ü\ud800", "/models/%C3%BC%3F:streamGenerateContent?alt=sse"),
    ],
)
def test_the_model_stands_in_the_path_and_cannot_leave_it(model: str, expected: str):
    assert path(model) == expected
