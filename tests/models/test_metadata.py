"""What providers say of their own models."""

import pytest
from anthropic.types import ModelInfo
from google.genai.types import Model

from app.config.limits import IDENTIFIER_CHARS_MAX, MODELS_LISTED_MAX
from app.models.metadata import read_models
from app.models.resolve import Limits

HAIKU = {
    "type": "model", "id": "claude-haiku-4-5-20251001", "display_name": "Claude Haiku 4.5", "created_at": "2025-10-15T00:00:00Z",
    "lifecycle": "active", "max_input_tokens": 200_000, "max_tokens": 64_000,
}  # fmt: skip
ANTHROPIC = {
    "data": [
        HAIKU,
        {"type": "model", "id": "claude-old", "display_name": "Old", "created_at": "2024-01-01T00:00:00Z", "lifecycle": "retired",
         "max_input_tokens": 100_000, "max_tokens": None},
    ],
    "has_more": False,
}  # fmt: skip
GEMINI = {
    "models": [
        {"name": "models/gemini-9-pro", "displayName": "Gemini 9", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536},
        {"name": "models/embedding-001", "inputTokenLimit": 2_048, "outputTokenLimit": 1},
    ]
}
VLLM = {"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "object": "model", "owned_by": "vllm", "max_model_len": 40_960}]}
OPENROUTER = {
    "data": [
        {"id": "acme/one", "context_length": 200_000, "top_provider": {"context_length": 131_072, "max_completion_tokens": 16_384}},
        {"id": "acme/two", "context_length": 200_000, "top_provider": {"context_length": 200_000, "max_completion_tokens": None}},
        {"id": "acme/three", "context_length": 8_192, "top_provider": None},
    ]
}


def provider(window: int, output: int) -> Limits:
    return Limits(window, output, "provider")


@pytest.mark.req("S3-04", "X-44")
@pytest.mark.parametrize(
    ("document", "found"),
    [
        (ANTHROPIC, {"claude-haiku-4-5-20251001": provider(200_000, 64_000), "claude-haiku-4-5": provider(200_000, 64_000)}),
        (HAIKU, {"claude-haiku-4-5-20251001": provider(200_000, 64_000), "claude-haiku-4-5": provider(200_000, 64_000)}),
        (
            GEMINI,
            {"gemini-9-pro": provider(1_048_576, 65_536), "embedding-001": provider(2_048, 1)},
        ),
        (VLLM, {"Qwen/Qwen3-8B": provider(40_960, 40_960)}),
        (OPENROUTER, {"acme/one": provider(131_072, 16_384)}),
    ],
    ids=["anthropic", "one of anthropic's", "gemini", "vllm", "openrouter"],
)
def test_each_place_is_read_in_its_own_words(document: object, found: dict[str, Limits]):
    assert read_models(document) == found


def test_the_documents_are_what_the_vendors_clients_read():
    assert ModelInfo.model_validate(HAIKU).max_input_tokens == 200_000
    assert Model.model_validate(GEMINI["models"][0]).input_token_limit == 1_048_576


@pytest.mark.req("S3-06")
@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "x",
        {},
        {"data": None},
        {"data": [None, 3, {}, {"id": 7, "max_model_len": 5}]},
        {"id": "m", "max_model_len": True},
        {"id": "m", "max_model_len": 0},
        {"id": "m", "max_model_len": -1},
        {"id": "m", "max_model_len": "40960"},
        {"id": "m", "max_input_tokens": 10, "max_tokens": 11},
        {"id": "m", "inputTokenLimit": 10},
    ],
)
def test_half_a_capacity_is_none(document: object):
    assert read_models(document) == {}


def test_two_dated_models_of_one_name_cannot_be_asked_for_without_their_date():
    listed = [{"id": f"claude-x-{date}", "max_model_len": size} for date, size in (("20250101", 10), ("20260101", 20))]
    assert set(read_models({"data": listed})) == {"claude-x-20250101", "claude-x-20260101"}


def test_a_list_is_read_as_far_as_it_may_be_long_and_names_as_far_as_they_are_names():
    names = ["m" * (IDENTIFIER_CHARS_MAX + 1), "n" * IDENTIFIER_CHARS_MAX, *map(str, range(MODELS_LISTED_MAX))]
    found = read_models({"data": [{"id": name, "max_model_len": 10} for name in names]})
    assert list(found) == names[1 : MODELS_LISTED_MAX + 1]
