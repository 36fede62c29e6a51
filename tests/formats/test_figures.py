"""Token figures as providers spell them: what is no number of tokens is unknown, in every dialect."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from app.entries.deltas import FIGURE_MAX, Usage, token_count
from app.formats.anthropic import usage as anthropic
from app.formats.bedrock import usage as bedrock
from app.formats.gemini import usage as gemini
from app.formats.openai_chat import usage as openai_chat
from app.formats.openai_responses import usage as openai_responses

NO_FIGURES: tuple[object, ...] = (-1, FIGURE_MAX + 1, 2**63, 10**400, 1.0, True, "7", None, [], {})
READERS: tuple[tuple[Callable[[Mapping[str, Any]], Usage], str], ...] = (
    (anthropic.read_usage, "input_tokens"),
    (bedrock.read_usage, "inputTokens"),
    (gemini.read_usage, "promptTokenCount"),
    (openai_chat.read_usage, "prompt_tokens"),
    (openai_responses.read_usage, "input_tokens"),
)


@pytest.mark.parametrize("value", [0, 7, FIGURE_MAX])
def test_a_number_of_tokens_is_one(value: int) -> None:
    assert token_count(value) == value
    assert [read({name: value}).input for read, name in READERS] == [value] * len(READERS)


@pytest.mark.parametrize("value", NO_FIGURES, ids=range(len(NO_FIGURES)))
def test_anything_else_is_unknown(value: object) -> None:
    assert token_count(value) is None
    assert [read({name: value}).input for read, name in READERS] == [None] * len(READERS)
