"""Token counts: tiktoken's own, of any text, in linear time, with no network."""

import socket
import time

import pytest
import tiktoken.load
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models import tokens
from app.models.families import FAMILIES
from app.models.tokens import HEURISTIC_BAND, PIECE_CHARS_MAX, Counter, Estimate, estimate_by, estimate_for

COUNTER = Counter("o200k_base")


def test_the_ranks_come_from_an_installed_package_and_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(tiktoken.load, "read_file", refuse)
    tokens._encoding.cache_clear()
    assert Counter("cl100k_base").count("hello world") == 2
    assert Counter("o200k_base").count("hello world") == 2


@pytest.mark.parametrize(
    ("text", "known"),
    [("", 0), ("hello world", 2), ("tiktoken is great!", 6), ("お誕生日おめでとう", 8), ("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7)],
)
def test_counts_are_the_published_ones(text: str, known: int):
    """The cookbook's figures for o200k_base (openai-cookbook, How_to_count_tokens_with_tiktoken)."""
    assert COUNTER.count(text) == known


@pytest.mark.parametrize("estimator", tokens.ESTIMATORS)
def test_special_tokens_in_text_are_text(estimator: str):
    counter = Counter(estimator)
    assert counter.count("<|endoftext|>") > 3
    assert counter.count("<|im_start|>system") > 3
    assert counter.count("<|return|><|call|>") > 3


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\ud83d\ude00", "nul \x00 inside", "\U0010ffff", "\u2028"])
def test_any_code_point_is_counted(text: str):
    assert COUNTER.count(text) > 0


@pytest.mark.parametrize(
    "text",
    ["a" * 10**6, " " * 10**6, "^" * 10**6, "\t " * 500_000, "\n" * 10**6, "é" * 500_000, "\0" * 10**5, "中" * 10**6, " \n" * 300_000, "_" * 50_000],
    ids=["letters", "blanks", "carets", "tabs", "lines", "accents", "nul", "chinese", "mixed", "underscores"],
)
def test_no_input_is_quadratic_or_breaks_the_tokenizer(text: str):
    started = time.perf_counter()
    assert COUNTER.count(text) > 0
    assert time.perf_counter() - started < 10, "seconds; the limit is wide because the machine may be busy"


@given(st.text(alphabet=st.sampled_from("ab1 \n.é中'"), min_size=1, max_size=300), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_long_texts_are_cut_where_the_tokenizer_cuts_too(text: str, words: int):
    """With words in it, the count in pieces is the count of the whole."""
    long = (text + " word and word ") * ((PIECE_CHARS_MAX * 2) // (len(text) + 15) // words + 1)
    whole = len(tokens._encoding("o200k_base").encode_ordinary(long))
    assert COUNTER.count(long) == whole


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o-mini", ("o200k_base", 0.0)),
        ("gpt-4.1-2025-04-14", ("o200k_base", 0.0)),
        ("gpt-5.6-sol", ("o200k_base", 0.0)),
        ("o3-mini", ("o200k_base", 0.0)),
        ("openai/gpt-4o-2024-08-06", ("o200k_base", 0.0)),
        ("gpt-4-0613", ("cl100k_base", HEURISTIC_BAND)),
        ("gpt-3.5-turbo", ("cl100k_base", HEURISTIC_BAND)),
        ("openai/gpt-oss-120b", ("o200k_harmony", 0.0)),
        ("gpt-6-astra", ("heuristic:gpt-6", 0.10)),
        ("claude-opus-4-6", ("heuristic:claude", 0.15)),
        ("us.anthropic.claude-opus-5-5-v1:0", ("heuristic:claude-4.7", 0.25)),
        ("gemini-9-pro", ("heuristic:gemini", 0.15)),
        ("gpt-45", ("heuristic:other", 0.25)),
        ("o365", ("heuristic:other", 0.25)),
        ("gemma-3", ("heuristic:other", 0.25)),
    ],
)
@pytest.mark.req("X-38", "X-39")
def test_the_estimator_of_a_model_is_its_own_or_its_familys(model: str, expected: tuple[str, float]):
    found = estimate_for(model)
    assert (found.estimator, found.error_band) == expected


@pytest.mark.parametrize("word", ["p50k_future", "heuristic:", "heuristic:nobody", "claude", ""])
def test_an_unknown_estimator_is_refused(word: str):
    with pytest.raises(ValueError, match="no estimator"):
        Counter(word)


@pytest.mark.req("X-39")
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_a_family_counts_as_the_stand_in_does_times_its_factor_rounded_up(family):
    text = "The quick brown fox jumps over the lazy dog. " * 7 + "中文" * 9
    stored = COUNTER.count(text)
    scaled = Counter(family.estimator).count(text)
    assert scaled == estimate_by(family.estimator).scaled(stored)
    assert family.factor * stored <= scaled < family.factor * stored + 1


@given(st.integers(0, 10**9), st.sampled_from(tokens.ESTIMATORS))
def test_scaling_rounds_up_keeps_nothing_at_nothing_and_follows_the_order(stored: int, estimator: str):
    estimate = estimate_by(estimator)
    assert estimate.scaled(0) == 0
    assert estimate.factor * stored <= estimate.scaled(stored) < estimate.factor * stored + 1
    assert estimate.scaled(stored) <= estimate.scaled(stored + 1)
    assert Estimate("x", 0.0).scaled(stored) == stored


def test_a_text_that_comes_again_is_counted_once(monkeypatch):
    counter = Counter()
    seen: list[str] = []
    plain = counter._encode

    def watched(text: str) -> list[int]:
        seen.append(text)
        return plain(text)

    monkeypatch.setattr(counter, "_encode", watched)
    assert [counter.repeated("You are a nurse.") for _ in range(3)] == [counter.count("You are a nurse.")] * 3
    assert seen == ["You are a nurse."] * 2, "once remembered, and once counted plainly"
    long = "word " * PIECE_CHARS_MAX
    assert counter.repeated(long) == counter.count(long)
    assert counter._remembered.cache_info().currsize == 1
