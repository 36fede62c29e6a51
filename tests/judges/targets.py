"""What bodies are compiled for: of each dialect, models that differ in what they take."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.models.resolve import Limits, ModelChoice, Target
from tests.strategies import resolved

MODELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai-chat": ("gpt-4.1", "gpt-5.1", "qwen3.8-27b"),
        "openai-responses": ("gpt-5.6-sol", "gpt-4.1", "o3"),
        "anthropic-messages": ("claude-opus-5-5", "claude-sonnet-4-5", "claude-opus-5", "claude-opus-4-8"),
        "gemini": ("gemini-3-flash-preview", "gemini-2.5-pro", "gemini-4-argon"),
        "bedrock-converse": (
            "us.anthropic.claude-opus-5-5",
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "amazon.nova-pro-v1:0",
            "us.meta.llama4-maverick-17b-instruct-v1:0",
            "us.mistral.pixtral-large-2502-v1:0",
        ),
    }
)
"""The first of each binds or signs what it can; the others take less, or other things."""

LIMITS = Limits(1_000_000, 16_384, "explicit")


def target_of(dialect: str, model: str | None = None, upstream: str | None = None, **params: Any) -> Target:
    """A target of a model with those parameters, by default of the dialect's first model, at an upstream of the dialect's name."""
    return resolved(ModelChoice(upstream or dialect, model or MODELS[dialect][0], params), LIMITS, dialect)


def dialects() -> list[str]:
    """The dialects that are built."""
    from app.formats.registry import FORMATS

    return list(FORMATS)
