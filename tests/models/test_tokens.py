"""Token counts: tiktoken's own, of any text, in linear time, with no network."""

import socket
import time

import pytest
import tiktoken.load
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models import tokens
from app.models.tokens import HEURISTIC_BAND, PIECE_CHARS_MAX, STAND_IN, Counter, estimator_for

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
        ("gpt-4-0613", ("cl100k_base", 0.0)),
        ("gpt-3.5-turbo", ("cl100k_base", 0.0)),
        ("openai/gpt-oss-120b", ("o200k_harmony", 0.0)),
        ("gpt-6-astra", (STAND_IN, HEURISTIC_BAND)),
        ("gpt-45", (STAND_IN, HEURISTIC_BAND)),
        ("o365", (STAND_IN, HEURISTIC_BAND)),
        ("gemma-3", (STAND_IN, HEURISTIC_BAND)),
    ],
)
def test_the_estimator_of_a_model_is_its_own_or_a_stand_in_that_says_so(model: str, expected: tuple[str, float]):
    assert estimator_for(model) == expected


def test_an_unknown_estimator_is_refused():
    with pytest.raises(ValueError, match="no estimator"):
        Counter("p50k_future")


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
