"""How Gemini streams end: usage, reasons, refusals, errors, and what is no stream at all."""

import json
from typing import Any

import pytest

from app.entries.deltas import Finished, StreamFailed, UsageReport
from app.entries.parts import Opaque, Text, ToolCall
from app.formats.gemini.rules import DIALECT
from tests.formats.gemini.streams import STOP, call, data, event, fold, read, text


def figures(**counts: int) -> dict[str, Any]:
    return {f"{key}TokenCount": value for key, value in counts.items()} | {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}]}


@pytest.mark.req("X-42")
def test_usage_is_cumulative_the_last_one_holds_and_thoughts_are_output():
    usages = [
        figures(prompt=10, total=10),
        figures(prompt=10, candidates=2, thoughts=7, total=19),
        figures(prompt=12, toolUsePrompt=5, cachedContent=4, candidates=3, total=20),
    ]
    deltas = read([event(text("x"), usage=usage) for usage in usages] + [STOP])
    answer = fold(deltas)
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.cached, answer.usage.cache_write) == (17, 4, None)
    assert (answer.usage.output, answer.usage.reasoning) == (10, 7)
    assert json.loads(answer.usage_raw)["usageMetadata"]["toolUsePromptTokenCount"] == 5
    first = next(delta for delta in deltas if isinstance(delta, UsageReport))
    assert (first.usage.input, first.usage.output) == (10, None)


def test_figures_of_every_event_are_told_now_and_then_and_at_the_end():
    deltas = read([event(text("x"), usage=figures(prompt=1, candidates=count)) for count in range(40)] + [STOP])
    assert [delta.usage.output for delta in deltas if isinstance(delta, UsageReport)] == [0, 16, 32, 39]


def test_usage_that_is_no_count_is_unknown():
    answer = fold(
        read(
            [
                event(
                    text("x"),
                    usage={"promptTokenCount": "9", "candidatesTokenCount": True, "thoughtsTokenCount": -1, "cachedContentTokenCount": None},
                ),
                STOP,
            ]
        )
    )
    assert answer.usage is not None
    assert {answer.usage.input, answer.usage.output, answer.usage.cached, answer.usage.reasoning} == {None}


@pytest.mark.parametrize(
    ("reason", "neutral"),
    [
        ("STOP", "finished"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refused"),
        ("RECITATION", "refused"),
        ("PROHIBITED_CONTENT", "refused"),
        ("MALFORMED_FUNCTION_CALL", "malformed"),
        ("UNEXPECTED_TOOL_CALL", "malformed"),
        ("MISSING_THOUGHT_SIGNATURE", "malformed"),
        ("CONTINUATION", "paused"),
        ("OTHER", "other"),
        ("LANGUAGE", "other"),
        ("SOME_NEW_REASON", "other"),
    ],
)
def test_stop_reasons_are_neutral_and_an_unknown_one_is_not_taken_for_finished(reason: str, neutral: str):
    assert read([event(text("x"), finish=reason)])[-1] == Finished(neutral, reason)


def test_stop_with_calls_means_calls_and_another_reason_stays():
    assert read([event(call(), finish="STOP")])[-1] == Finished("tool_calls", "STOP")
    assert read([event(call(), finish="MAX_TOKENS")])[-1] == Finished("length", "MAX_TOKENS")


def test_of_several_finish_reasons_the_last_one_holds():
    assert read([event(text("a"), finish="STOP"), event(text("b"), finish="SAFETY"), event(text("c"))])[-1] == Finished("refused", "SAFETY")


def test_a_broken_call_is_no_empty_success():
    usage = {"promptTokenCount": 5, "totalTokenCount": 5}
    deltas = read([event(finish="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: f(", usage=usage)])
    assert deltas[-1] == Finished("malformed", "MALFORMED_FUNCTION_CALL")
    (kept,) = fold(deltas).parts()
    assert isinstance(kept, Opaque)
    assert json.loads(kept.block) == {"finishMessage": "Malformed function call: f("}
    empty = read([data({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]})])
    assert empty == [Finished("malformed", "MALFORMED_FUNCTION_CALL")]


def test_the_message_of_an_ordinary_ending_is_not_kept():
    assert fold(read([event(call(), finish="STOP", finishMessage="Model generated function call(s).")])).parts() == (ToolCall("", "f", "{}"),)


def test_a_blocked_prompt_is_refused_and_its_usage_kept():
    deltas = read([data({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}})])
    assert deltas[-1] == Finished("refused", "SAFETY")
    usage = fold(deltas).usage
    assert usage is not None
    assert usage.input == 5


def test_an_empty_block_reason_blocks_nothing_and_calls_of_a_refusal_are_kept():
    one = {"content": {"role": "model", "parts": [call("a", {"x": 1})]}, "finishReason": "SAFETY", "index": 0}
    answer = fold(read([data({"promptFeedback": {"blockReason": ""}, "candidates": [one]})]))
    assert answer.parts() == (ToolCall("", "a", '{"x": 1}'),)
    assert answer.finished == Finished("refused", "SAFETY")
    assert isinstance(read([data({"promptFeedback": {"blockReason": ""}})])[-1], StreamFailed)


def test_another_candidate_is_not_read():
    first, second = (
        {"index": 1, "content": {"parts": [text("no")]}},
        {"index": 0, "content": {"parts": [call("f", {"a": 1}), {"x": 1}]}, "finishReason": "STOP"},
    )
    answer = fold(read([data({"candidates": [first, second]})]))
    assert answer.parts() == (ToolCall("", "f", '{"a": 1}'), Opaque(DIALECT, "test/m", '{"x": 1}', "x"))


OVERLOADED = {"error": {"code": 503, "message": "The model is overloaded: data: x", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (OVERLOADED, "upstream-error", True),
        ([OVERLOADED], "upstream-error", True),
        ({"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}, "upstream-rate-limited", True),
        (
            {"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."}},
            "upstream-overflow",
            False,
        ),
        ({"error": "plain words"}, "upstream-error", False),
    ],
)
def test_an_error_in_the_stream_is_a_failure(error: Any, code: str, retryable: bool):
    deltas = read([event(text("par")), data(error), STOP])
    failed = deltas[-1]
    assert isinstance(failed, StreamFailed)
    assert (failed.code, failed.retryable) == (code, retryable)
    assert "overloaded" not in failed.detail
    assert fold(deltas).parts() == (Text("par"),)


@pytest.mark.parametrize("error", [OVERLOADED, [OVERLOADED]])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_an_error_without_the_frame_of_an_event_is_found_behind_the_events(error: Any, ending: bytes):
    bare = json.dumps(error, indent=2).encode().replace(b"\n", ending)
    for pieces in ([event(text("par")) + bare], [event(text("par")), bare[:9], bare[9:]], [event(text("par")), bare + ending * 2]):
        failed = read(pieces)[-1]
        assert isinstance(failed, StreamFailed)
        assert (failed.code, failed.retryable) == ("upstream-error", True)
        assert "503" in failed.detail


@pytest.mark.parametrize("piece", [b"data: {not json\n\n", b"data: [" + b"[" * 100_000 + b"\n\n", b'data: {"a": NaN}\n\n'])
def test_an_event_that_is_no_json_ends_the_stream(piece: bytes):
    assert isinstance(read([event(text("x")), piece, STOP])[-1], StreamFailed)


def test_a_single_document_is_read_as_an_error_or_an_answer():
    (failed,) = read([b' \n[{"error": {"message": "no key AIzaSy", ', b'"code": 401}}]'])
    assert isinstance(failed, StreamFailed)
    assert failed.code == "upstream-auth"
    whole = {
        "candidates": [{"content": {"parts": [text("Hi"), call("f", {"a": 1})]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3},
    }
    for document in (
        whole,
        [whole],
        [
            {"candidates": [{"content": {"parts": [text("H")]}}]},
            {**whole, "candidates": [{"content": {"parts": [text("i"), call("f", {"a": 1})]}, "finishReason": "STOP"}]},
        ],
    ):
        answer = fold(read([b"\xef\xbb\xbf" + json.dumps(document).encode()]))
        assert answer.parts() == (Text("Hi"), ToolCall("", "f", '{"a": 1}'))
        assert answer.finished == Finished("tool_calls", "STOP")
    last = read([b'{"candidates": [{"content"'])[-1]
    assert isinstance(last, StreamFailed)
    assert (last.code, last.retryable) == ("stream-truncated", True)


def test_a_mark_that_a_proxy_appends_ends_a_finished_stream_and_does_not_save_a_cut_one():
    assert read([event(text("x"), finish="STOP"), b"data: [DONE]\n\n", event(text("y"))])[-1] == Finished("finished", "STOP")
    cut = read([event(text("x")), b"data: [DONE]\n\n"])[-1]
    assert isinstance(cut, StreamFailed)
    assert cut.code == "stream-truncated"
