"""Servers by name."""

from dataclasses import fields

import pytest

from app.formats.registry import FORMATS
from app.models.presets import PRESETS
from app.models.wire_rules import WireRules, with_quirks

CHAT = {name: preset for name, preset in PRESETS.items() if preset.dialect == "openai-chat"}


def test_the_named_servers_are_there():
    assert {"deepseek", "mistral", "groq", "openrouter", "vllm", "ollama", "llama-cpp", "azure"} == set(CHAT)
    assert set(PRESETS) - set(CHAT) == {"openai", "anthropic", "gemini", "bedrock"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_line_of_a_preset_is_a_rule_and_says_something(name: str):
    preset = PRESETS[name]
    assert preset.dialect in FORMATS
    rules = with_quirks(WireRules(), preset.quirks)
    defaults = FORMATS["openai-chat"].rules_for("")
    for key, value in preset.quirks.items():
        assert key in {field.name for field in fields(WireRules)}
        assert getattr(rules, key) == value
        assert getattr(defaults, key) != value, "the default says it already"
    assert preset.base_url is None or (preset.base_url.startswith("http") and not preset.base_url.endswith("/"))


@pytest.mark.req("S3-05", "X-44")
def test_ones_own_server_is_not_in_the_catalogue():
    assert {name for name, preset in PRESETS.items() if not preset.catalogued} == {"vllm", "ollama", "llama-cpp", "azure"}
