"""What differs by model."""

import pytest

from app.formats.openai_chat.rules import rules_for


@pytest.mark.parametrize(
    ("model", "role"),
    [
        ("o3", "developer"),
        ("o4-mini", "developer"),
        ("gpt-5", "developer"),
        ("gpt-5.6-sol", "developer"),
        ("gpt-6-astra", "developer"),
        ("gpt-5-chat-latest", "system"),
        ("gpt-4o", "system"),
        ("gpt-oss-120b", "system"),
        ("openai/gpt-5", "system"),
        ("omni", "system"),
    ],
)
def test_instructions_go_to_reasoning_models_of_openai_as_developer(model: str, role: str):
    assert rules_for(model).system_role == role
