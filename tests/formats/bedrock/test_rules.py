"""What differs by model, told by its id; and the paths that ids stand in."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.bedrock import FORMAT
from app.formats.bedrock.families import rules_for
from app.formats.bedrock.model_ids import foundation_id, path, percent_encoded
from app.formats.bedrock.rules import RULES
from app.models.efforts import nearest_effort
from tests.formats.bedrock.judge import client
from tests.formats.bedrock.requests import BOUND, HAIKU, LLAMA, MISTRAL, NOVA, OPUS

ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-fable-5-1"
CUSTOM = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"


@pytest.mark.req("X-24")
@pytest.mark.parametrize(
    ("model", "thinking", "none_effort", "forced", "bound", "temperature", "user_last"),
    [
        ("us.anthropic.claude-fable-5-2-20261101-v1:0", "adaptive", "low", False, True, False, True),
        (ARN, "adaptive", "low", False, True, False, True),
        ("anthropic.claude-mythos-5-1", "adaptive", "low", False, False, False, True),
        ("anthropic.claude-mythos-5-2", "adaptive", "low", False, True, False, True),
        ("anthropic.claude-fable-5-20260301-v1:0", "adaptive", "low", True, False, False, True),
        (BOUND, "adaptive", "low", False, True, False, True),
        ("anthropic.claude-sonnet-5-5", "adaptive", "low", False, True, False, True),
        ("anthropic.claude-haiku-5-5", "adaptive", "none", True, True, False, True),
        ("eu.anthropic.claude-opus-5-20260101-v1:0", "adaptive", "none", True, False, False, True),
        ("anthropic.claude-sonnet-5", "adaptive", "none", True, False, False, True),
        (OPUS, "adaptive", "none", True, False, False, True),
        ("anthropic.claude-opus-4-7", "adaptive", "none", True, False, False, True),
        ("jp.anthropic.claude-sonnet-4-6", "adaptive", "none", True, False, True, True),
        (HAIKU, "budget", "none", True, False, True, False),
        ("apac.anthropic.claude-sonnet-4-20250514-v1:0", "budget", "none", True, False, True, False),
        ("anthropic.claude-opus-4-1-20250805-v1:0", "budget", "none", True, False, True, False),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", "budget", "none", True, False, True, False),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "", None, True, False, True, False),
        ("anthropic.claude-opus-6", "adaptive", "low", False, True, False, True),
    ],
)
def test_claude_by_version(model: str, thinking: str, none_effort: str | None, forced: bool, bound: bool, temperature: bool, user_last: bool):
    rules = rules_for(model)
    assert (rules.thinking, nearest_effort("none", rules.efforts)) == (thinking, none_effort)
    assert (rules.forced_choice, rules.prefix_bound, rules.temperature, rules.user_last) == (forced, bound, temperature, user_last)
    assert (rules.none_choice, rules.user_first, rules.reply_after_results, rules.files_beside_results) == (True, False, False, False)


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [(OPUS, "xhigh", "xhigh"), ("anthropic.claude-sonnet-4-6", "xhigh", "high"), ("us.amazon.nova-2-lite-v1:0", "max", "high")],
)
def test_efforts(model: str, effort: str, sent: str):
    assert nearest_effort(effort, rules_for(model).efforts) == sent


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (NOVA, {"cache_breakpoints": 2, "images": True, "result_files": False, "tool_choice": True, "user_first": True, "thinking": ""}),
        ("amazon.nova-micro-v1:0", {"images": False, "files": False, "cache_breakpoints": 2}),
        ("us.amazon.nova-2-lite-v1:0", {"thinking": "level", "efforts": "none low medium high", "cache_breakpoints": 2}),
        (LLAMA, {"reply_after_results": True, "tool_choice": False, "images": True, "result_files": True, "tools": "native"}),
        ("meta.llama3-8b-instruct-v1:0", {"tools": "text", "images": False}),
        ("meta.llama3-3-70b-instruct-v1:0", {"tools": "native", "images": False}),
        (MISTRAL, {"call_id_pattern": "[a-zA-Z0-9]{9}", "call_id_chars_max": 9, "images": True, "result_images": False}),
        ("mistral.mistral-large-2407-v1:0", {"images": False, "reply_after_results": True, "call_id_chars_max": 9}),
        ("mistral.mixtral-8x7b-instruct-v0:1", {"tools": "text"}),
        ("writer.palmyra-x5-v1:0", {"result_status": False, "reply_after_results": True}),
        ("qwen.qwen3-vl-235b-a22b", {"images": True, "user_first": False, "foreign_reasoning": "drop"}),
        ("openai.gpt-oss-120b-1:0", {"thinking": "effort", "efforts": "low medium high", "foreign_reasoning": "drop", "images": False}),
        ("us.deepseek.r1-v1:0", {"tools": "text"}),
        ("moonshotai.kimi-k2.5", {"result_images": False, "user_first": False}),
    ],
)
def test_other_families(model: str, expected: dict[str, Any]):
    rules = rules_for(model)
    assert {key: getattr(rules, key) for key in expected} == expected


@pytest.mark.parametrize("model", ["", "scripted", CUSTOM, "some.model", "notanthropic.claude-opus-5", "x.y"])
def test_a_model_of_no_known_family_has_the_defaults(model: str):
    assert rules_for(model) == RULES


@pytest.mark.req("S0-25")
@pytest.mark.parametrize("model", [NOVA, ARN, CUSTOM, "a b/ü%?#~._-:", "x"])
def test_the_path_is_the_one_that_the_sdk_asks_for(model: str):
    sent = client().sent({"messages": [{"role": "user", "content": [{"text": "q"}]}]}, model)
    assert sent.url == "https://bedrock-runtime.us-east-1.amazonaws.com" + path(model)


@given(st.text())
def test_an_id_stays_one_segment(model: str):
    assert set(percent_encoded(model)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%")


def test_tokens_are_counted_for_the_model_behind_a_profile():
    assert FORMAT.counting is not None
    haiku = "/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/count-tokens"
    arn = f"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/{HAIKU}"
    assert [FORMAT.counting.path(model) for model in (HAIKU, arn, HAIKU.removeprefix("eu."))] == [haiku] * 3
    assert foundation_id(CUSTOM) == CUSTOM
    assert foundation_id("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0") == "amazon.nova-pro-v1:0"
    assert foundation_id("use.case") == "use.case"


def test_what_is_asked_for_beside_the_body():
    assert (FORMAT.auth, FORMAT.accept, dict(FORMAT.headers)) == ("aws", "application/vnd.amazon.eventstream", {})
