"""Responses streams to deltas: the shapes that servers really send, and no failure that passes for an answer."""

import json
from typing import Any

import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.deltas import Finished, OpaqueBlock, PartBlock, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted, Usage
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from tests.formats.openai_responses.streams import (
    CREATED,
    added,
    argued,
    call,
    done,
    ended,
    event,
    fold,
    message,
    read,
    reasoning,
    said,
    summed,
    whole,
)

PRODUCER = "openai-responses/openai/m"
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 15,
}


def failed(*pieces: bytes) -> StreamFailed:
    deltas = read(pieces)
    assert isinstance(deltas[-1], StreamFailed)
    assert sum(isinstance(delta, Finished | StreamFailed) for delta in deltas) == 1
    return deltas[-1]


@pytest.mark.req("X-23", "X-42")
def test_an_answer_with_everything():
    items = [reasoning("rs_1", "E1", "First.", "Then."), message("Hi.", phase="commentary"), call("call_1", '{"id":1}', namespace="n")]
    deltas = read(
        [
            CREATED,
            added(0, reasoning("rs_1", "partial")),
            summed(0, "Fir"),
            summed(0, "st."),
            summed(0, "Then.", 1),
            done(0, items[0]),
            added(1, message(phase="commentary")),
            said(1, "H"),
            said(1, "i."),
            done(1, items[1]),
            added(2, call("call_1", "")),
            argued(2, '{"id"'),
            argued(2, ":1}"),
            done(2, items[2]),
            ended("completed", *items, usage=USAGE, model="m-2026"),
        ]
    )
    answer = fold(deltas)
    thought, text, asked = answer.parts()
    assert thought == Reasoning("First.\n\nThen.", json.dumps(items[0], separators=(",", ":")), PRODUCER)
    assert isinstance(text, Text)
    assert text.text == "Hi."
    assert json.loads(text.opaque or "") == {
        "item": items[1] | {"content": []},
        "index": 0,
        "part": {"type": "output_text", "annotations": [], "text": ""},
        "after": "rs_1",
    }
    assert isinstance(asked, ToolCall)
    assert (asked.provider_id, asked.name, asked.arguments, asked.producer) == ("call_1", "lookup", '{"id":1}', PRODUCER)
    assert json.loads(asked.opaque or "") == {"item": items[2] | {"arguments": ""}, "after": "rs_1"}
    assert answer.finished == Finished("tool_calls", "completed")
    assert answer.usage == Usage(10, 4, 3, 5, 2)
    kept = {"id": "resp_1", "status": "completed", "model": "m-2026", "usage": USAGE}
    assert json.loads(answer.usage_raw) == {"type": "response.completed", "response": kept}, "neither request nor answer again"
    assert [delta.part for delta in deltas if isinstance(delta, TextDelta | ToolCallStarted | ToolCallDelta)] == [1, 1, 2, 2, 2]


@pytest.mark.req("X-42")
def test_usage_that_never_came_is_unknown_and_not_zero():
    assert fold(read([whole(message("x"))])).usage is None
    assert fold(read([whole(message("x"), usage={"input_tokens": "many", "output_tokens": -1})])).usage == Usage()


def test_an_answer_that_comes_in_no_deltas_is_taken_from_its_items():
    answer = fold(read([whole(reasoning("rs_1", "E1", "T."), message("one", "two"), call(arguments="[1]"))]))
    thought, one, two, asked = answer.parts()
    assert isinstance(thought, Reasoning)
    assert isinstance(one, Text)
    assert isinstance(two, Text)
    assert isinstance(asked, ToolCall)
    assert (thought.text, one.text, two.text, asked.arguments) == ("T.", "one", "two", "[1]")
    assert [json.loads(part.opaque or "")["index"] for part in (one, two)] == [0, 1]


def test_items_that_only_the_terminal_event_has_belong_to_the_answer():
    answer = fold(read([CREATED, added(0, call("call_1", "")), argued(0, "{"), ended("completed", call("call_1", "{}"), message("x"))]))
    assert [part.text if isinstance(part, Text) else getattr(part, "arguments", "") for part in answer.parts()] == ["{}", "x"]
    assert answer.finished == Finished("tool_calls", "completed")


def test_items_are_not_taken_twice_when_the_terminal_event_has_them_in_another_order():
    one, two = reasoning("rs_1", None, "T."), message("x")
    answer = fold(read([CREATED, added(0, one), added(1, two), done(1, two), done(0, one), ended("completed", two, one)]))
    assert [type(part) for part in answer.parts()] == [Reasoning, Text]


def test_what_is_not_modelled_is_kept_whole_in_its_place():
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "score": 1e2, "big": 12345678901234567890}}
    stream = whole(search, message("x")).replace(b"100.0", b"1e2")
    assert b"1e2" in stream
    deltas = read([stream])
    block = json.dumps(search, separators=(",", ":")).replace("100.0", "1e2")
    assert deltas[0] == OpaqueBlock(0, "openai-responses", PRODUCER, block, "web_search_call")
    custom = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** x"}
    pieces = [added(0, custom | {"input": ""}), event("response.custom_tool_call_input.delta", output_index=0, delta="*** x"), done(0, custom)]
    (kept,) = fold(read([*pieces, ended("completed", custom)])).parts()
    assert isinstance(kept, Opaque)
    assert json.loads(kept.block) == custom


def test_a_part_of_a_message_that_is_not_modelled_stands_beside_an_empty_text():
    odd = {"type": "output_video", "url": "https://example.org/v"}
    item = message("x") | {"content": [odd, {"type": "output_text", "text": "x"}]}
    first, second = fold(read([whole(item)])).parts()
    assert isinstance(first, Text)
    assert (first.text, json.loads(first.opaque or "")["part"]) == ("", odd)
    assert isinstance(second, Text)
    assert (second.text, json.loads(second.opaque or "")["index"]) == ("x", 1)


def test_a_refusal_is_text_and_a_neutral_reason():
    item = message() | {"content": [{"type": "refusal", "refusal": "I won't"}]}
    pieces = [added(0, message()), said(0, "I ", "refusal"), said(0, "won't", "refusal"), done(0, item)]
    answer = fold(read([*pieces, ended("completed", item)]))
    (text,) = answer.parts()
    assert isinstance(text, Text)
    assert text.text == "I won't"
    assert json.loads(text.opaque or "")["part"] == {"type": "refusal", "refusal": ""}
    assert answer.finished == Finished("refused", "completed")


@pytest.mark.parametrize(
    ("reason", "neutral"),
    [("max_output_tokens", "length"), ("content_filter", "refused"), ("max_messages", "other"), ("steered", "other"), (None, "other")],
)
def test_an_incomplete_answer_says_why(reason: str | None, neutral: str):
    half = call("call_1", '{"a', status="incomplete")
    pieces = [CREATED, said(0, "par"), added(1, half), argued(1, '{"a'), ended("incomplete", incomplete_details={"reason": reason})]
    answer = fold(read(pieces))
    assert answer.finished == Finished(neutral, reason or "incomplete")
    assert [getattr(part, "text", None) or getattr(part, "arguments", None) for part in answer.parts()] == ["par", '{"a']


@pytest.mark.parametrize(
    "pieces",
    [[], [b"data: [DONE]\n\n"], [CREATED], [CREATED, said(0, "x")], [CREATED, said(0, "x"), b"data: [DONE]\n\n"], [whole(message("x"))[:-1]]],
    ids=["nothing", "done alone", "no item", "no end", "done appended to a cut", "end without its blank line"],
)
def test_a_stream_without_its_terminal_event_failed(pieces: list[bytes]):
    assert (failed(*pieces).code, failed(*pieces).retryable) == ("stream-truncated", True)


def test_an_answer_is_not_whole_while_a_call_is_open():
    assert failed(CREATED, added(0, call("call_1", "")), argued(0, '{"path":"/tm'), ended()).code == "stream-truncated"
    finished = event("response.function_call_arguments.done", output_index=0, arguments="{}")
    assert fold(read([CREATED, added(0, call("call_1", "")), finished, ended()])).finished == Finished("tool_calls", "completed")


def test_arguments_that_contradict_what_was_said_are_not_acted_on():
    assert failed(CREATED, added(0, call("call_1", "")), argued(0, '{"a":1'), done(0, call("call_1", '{"b":2}'))).code == "upstream-error"


def test_calls_are_told_apart_by_index_or_id_and_begin_with_their_name():
    def fragment(id: str, delta: str) -> bytes:
        return event("response.function_call_arguments.delta", item_id=id, delta=delta)

    def begin(item: Any) -> bytes:
        return event("response.output_item.added", item=item)

    one, two = call("a", "", id="fc_a"), call("b", "", id="fc_b", name="")
    ends = [event("response.output_item.done", item=item) for item in (call("a", "12", id="fc_a"), call("b", "34", id="fc_b", name="late"))]
    deltas = read([begin(one), begin(two), fragment("fc_a", "1"), fragment("fc_b", "3"), fragment("fc_a", "2"), *ends, ended()])
    calls = [part for part in fold(deltas).parts() if isinstance(part, ToolCall)]
    assert [(part.provider_id, part.name, part.arguments) for part in calls] == [("a", "lookup", "12"), ("b", "late", "34")]


def test_a_call_that_never_got_a_name_is_no_call_and_is_kept():
    item = {"id": "fc_1", "type": "function_call", "call_id": "c", "arguments": "{"}
    (kept,) = fold(read([whole(item)])).parts()
    assert isinstance(kept, Opaque)
    assert json.loads(kept.block) == item


def test_too_many_calls_end_the_stream():
    calls = [call(f"c{index}", id=f"fc_{index}") for index in range(TOOL_CALLS_PER_ANSWER_MAX + 1)]
    assert failed(whole(*calls)).code == "upstream-error"
    assert fold(read([whole(*calls[:-1])])).finished is not None


def test_reasoning_in_its_own_words_is_reasoning_too():
    pieces = [added(0, reasoning("rs_1", None)), said(0, "th", "reasoning_text"), said(0, "ink", "reasoning_text")]
    item = reasoning("rs_1", None) | {"content": [{"type": "reasoning_text", "text": "think."}]}
    (thought,) = fold(read([*pieces, done(0, item), ended("completed", item)])).parts()
    assert isinstance(thought, Reasoning)
    assert thought.text == "think."


def test_events_without_data_types_are_known_by_the_name_of_their_frame():
    frame = b'event: response.output_text.delta\ndata: {"output_index": 0, "content_index": 0, "delta": "x"}\n\n'
    (text,) = fold(read([frame, ended()])).parts()
    assert isinstance(text, Text)
    assert text.text == "x"


def test_unknown_events_comments_and_what_follows_the_end_do_no_harm():
    odd = [b": ping\n\n", event("response.future.thing", item=1), event("keepalive"), b"data: 7\n\n", b"data: [DONE]\n\n", added(0, None)]
    deltas = read([*odd, whole(message("x")), said(0, "more"), event("error", code="server_error", message="m")])
    assert deltas[-1] == Finished("finished", "completed")
    assert len(fold(deltas).parts()) == 1


FAILED = {"code": "server_error", "message": "The model said private things"}


@pytest.mark.parametrize(
    ("pieces", "code", "retryable"),
    [
        ([event("error", **FAILED, param=None)], "upstream-error", True),
        ([event("error", error=FAILED | {"type": "server_error", "param": None}), ended("failed", error=FAILED)], "upstream-error", True),
        ([ended("failed", error=FAILED)], "upstream-error", True),
        ([ended("failed", error={"code": "rate_limit_exceeded", "message": "m"})], "upstream-rate-limited", True),
        ([ended("failed", error={"code": "invalid_prompt", "message": "m"})], "upstream-error", False),
        ([ended("failed", error={"code": "bio_policy", "message": "m"})], "upstream-error", False),
        ([ended("failed", error=None)], "upstream-error", False),
        ([ended("cancelled")], "upstream-error", False),
        ([event("error", code="context_length_exceeded", message="m")], "upstream-overflow", False),
        ([event("error", code=None, message="Your input exceeds the context window of this model.")], "upstream-overflow", False),
        ([event("error", error={"type": "insufficient_quota", "code": "insufficient_quota"})], "upstream-rate-limited", False),
        ([b'data: {"error": {"code": 401, "message": "m"}}\n\n'], "upstream-auth", False),
    ],
)
def test_an_error_in_the_stream_is_a_failure_and_what_was_said_is_kept(pieces: list[bytes], code: str, retryable: bool):
    deltas = read([CREATED, said(0, "par"), *pieces, ended()])
    last = deltas[-1]
    assert isinstance(last, StreamFailed)
    assert (last.code, last.retryable) == (code, retryable)
    assert "private" not in last.detail
    assert fold(deltas).parts() == (Text("par"),)
    assert not any(isinstance(delta, Finished) for delta in deltas)


def test_usage_of_a_failed_answer_is_reported():
    assert fold(read([ended("failed", error=FAILED, usage=USAGE)])).usage == Usage(10, 4, 3, 5, 2)


@pytest.mark.parametrize("bad", [b"data: {not json\n\n", b"data: [" + b"[" * 100_000 + b"\n\n", b'data: {"a": NaN}\n\n'])
def test_an_event_that_is_no_json_ends_the_stream(bad: bytes):
    assert isinstance(read([CREATED, bad, ended()])[-1], StreamFailed)


def test_an_error_document_with_status_200_is_an_error():
    assert failed(b' \n{"error": {"message": "no credits for sk-abc", ', b'"code": 402}}').code == "upstream-rate-limited"
    assert failed(b'{"error": {"mess').code == "stream-truncated"
    assert failed(b'{"id": "resp_1"}').code == "stream-truncated"


def test_an_answer_that_comes_as_one_document_is_read():
    document = {"object": "response", "status": "completed", "error": None, "output": [message("Hi"), call()], "usage": USAGE}
    answer = fold(read([json.dumps(document).encode()]))
    assert [type(part) for part in answer.parts()] == [Text, ToolCall]
    assert answer.finished == Finished("tool_calls", "completed")
    assert answer.usage == Usage(10, 4, 3, 5, 2)
    assert failed(json.dumps(document | {"status": "failed", "error": FAILED}).encode()).retryable


def test_blocks_name_their_producer():
    blocks = [delta for delta in read([whole(reasoning(), message("x"), call())], "a/b/c") if isinstance(delta, PartBlock)]
    assert [block.producer for block in blocks] == ["a/b/c"] * 3
