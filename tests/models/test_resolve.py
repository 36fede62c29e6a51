"""Limits, wire rules and the digest of a target."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries.lossless import loads
from app.models.resolve import Known, Limits, ModelChoice, UnknownCapacity, resolve_limits
from tests.strategies import resolved

EXPLICIT = Limits(1_000, 100, "explicit")
OPERATOR = Limits(2_000, 200, "operator")
PROVIDER = Limits(3_000, 300, "provider")


def choice(name: str = "m", upstream: str = "openai", **params: Any) -> ModelChoice:
    return ModelChoice(upstream, name, params)


@pytest.mark.req("S3-04", "S3-05", "X-44")
def test_limits_come_from_the_document_else_the_operator_the_provider_the_catalogue():
    assert resolve_limits("gpt-4o", EXPLICIT, Known(OPERATOR, PROVIDER)) is EXPLICIT
    assert resolve_limits("gpt-4o", None, Known(OPERATOR, PROVIDER)) is OPERATOR
    assert resolve_limits("gpt-4o", None, Known(None, PROVIDER)) is PROVIDER
    assert resolve_limits("gpt-4o", None, Known()) == Limits(128_000, 16_384, "catalogue")
    assert resolve_limits("gpt-5") == Limits(400_000, 128_000, "catalogue", 272_000)


@pytest.mark.req("S3-05", "S3-06", "X-44")
def test_a_name_says_nothing_of_a_server_that_is_ones_own():
    with pytest.raises(UnknownCapacity):
        resolve_limits("gpt-4o", None, Known(catalogued=False))
    assert resolve_limits("gpt-4o", None, Known(None, PROVIDER, catalogued=False)) is PROVIDER


@pytest.mark.req("X-44")
def test_the_answer_may_not_be_longer_than_the_window():
    with pytest.raises(UnknownCapacity, match="may not exceed"):
        resolve_limits("m", Limits(100, 101, "explicit"))
    assert resolve_limits("m", Limits(100, 100, "explicit")).max_output_tokens == 100


@pytest.mark.req("S3-06")
@pytest.mark.parametrize("limits", [None, Limits(0, 1, "explicit"), Limits(1, 0, "operator"), Limits(2, 1, "operator", 0)])
def test_unknown_capacity_is_an_error_and_never_a_guess(limits: Limits | None):
    with pytest.raises(UnknownCapacity):
        resolved(choice("a-model-of-nobody"), limits)


@pytest.mark.req("X-78")
@pytest.mark.parametrize(
    ("model", "limits", "quirks"),
    [
        (choice("other"), EXPLICIT, {}),
        (choice(upstream="local"), EXPLICIT, {}),
        (choice(temperature=0.5), EXPLICIT, {}),
        (choice(extra={"top_p": 1}), EXPLICIT, {}),
        (choice(), Limits(1_001, 100, "explicit"), {}),
        (choice(), Limits(1_000, 100, "operator"), {}),
        (choice(), Limits(1_000, 100, "explicit", 900), {}),
        (choice(), EXPLICIT, {"tool_choice": False}),
        (choice(), EXPLICIT, {"reply_overhead_tokens": 4}),
    ],
)
def test_the_digest_tells_targets_apart(model: ModelChoice, limits: Limits, quirks: dict[str, Any]):
    base = resolved(choice(), EXPLICIT)
    other = resolved(model, limits, quirks=quirks)
    assert other.digest != base.digest
    assert other.digest.startswith("sha256:")
    assert len(other.digest) == 71


def test_the_digest_does_not_depend_on_key_order_or_on_what_the_scripted_upstream_plays():
    first = resolved(choice(upstream="scripted", temperature=0.1, extra={"a": 1, "b": [{"x": 1, "y": 2}]}), EXPLICIT)
    script = [{"text": "x"}]
    second = resolved(choice(upstream="scripted", extra={"b": [{"y": 2, "x": 1}], "a": 1}, temperature=0.1, script=script), EXPLICIT)
    assert first.digest == second.digest
    assert second.model.params["script"] == [{"text": "x"}]


@given(st.sampled_from(["1e2", "1.0", "1", "12345678901234567890123", "-0"]))
def test_numbers_of_a_document_enter_the_digest_as_they_are_spelled(number: str):
    spelled = resolved(choice(extra=loads(f'{{"seed": {number}}}')), EXPLICIT)
    assert spelled.digest == resolved(choice(extra=loads(f'{{"seed": {number}}}')), EXPLICIT).digest
    assert spelled.digest != resolved(choice(extra=loads('{"seed": 7}')), EXPLICIT).digest


def test_the_operators_tokenizer_is_taken_at_its_word():
    target = resolved(choice("gemma-3"), EXPLICIT, tokenizer="o200k_harmony")
    assert (target.estimator, target.error_band) == ("o200k_harmony", 0.0)
    guessed = resolved(choice("gemma-3"), EXPLICIT)
    assert guessed.error_band > 0
    assert guessed.digest != target.digest


@pytest.mark.parametrize(("name", "tokenizer", "exact"), [("gpt-4o", None, True), ("gpt-4", None, False), ("gemma-3", "cl100k_base", False)])
def test_counts_are_exact_for_the_encoding_alone_that_entries_are_counted_with(name: str, tokenizer: str | None, exact: bool):
    target = resolved(choice(name), EXPLICIT, tokenizer=tokenizer)
    assert (target.error_band == 0) is exact
