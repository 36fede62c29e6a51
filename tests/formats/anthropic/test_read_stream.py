"""Messages streams to deltas: every kind of block, what the provider wants back, and no failure that passes for an answer."""

import json
from typing import Any

import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.deltas import Finished, PartBlock, StreamFailed, TextDelta, Usage
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.anthropic.read_stream import MessagesStreamReader
from tests.formats.anthropic.streams import END, PING, PRODUCER, begin, call, delta, event, finish, fold, read, start, stop, text, thinking

SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web_search_result", "score": 1e2, "url": "u"}]}


def parts(*pieces: bytes) -> tuple[Any, ...]:
    answer = fold(read([begin(), *pieces, finish()]))
    assert answer.failed is None
    return answer.parts()


def test_text_thinking_and_calls_are_parts_in_their_order():
    answer = fold(read([begin(), PING, thinking(0, "Hm. "), text(1, "I ", "look."), call(2, "toolu_1", "f", "", '{"a"', ":1}"), finish("tool_use")]))
    assert answer.parts() == (
        Reasoning("Hm. ", '{"type":"thinking","thinking":"Hm. ","signature":"SIG"}', PRODUCER),
        Text("I look."),
        ToolCall("", "f", '{"a":1}', "toolu_1"),
    )
    assert answer.finished == Finished("tool_calls", "tool_use")
    assert answer.usage == Usage(input=5, output=9)


def test_thinking_that_is_not_shown_has_its_signature_all_the_same():
    (thought,) = parts(thinking(0, "", "EqQBabc+/=="))
    assert thought == Reasoning("", '{"type":"thinking","thinking":"","signature":"EqQBabc+/=="}', PRODUCER)


def test_thinking_without_a_signature_is_never_sent_back():
    assert parts(start(0, type="thinking", thinking=""), delta(0, "thinking_delta", thinking="x"), stop(0)) == (Reasoning("x"),)


def test_redacted_thinking_comes_whole():
    block = {"type": "redacted_thinking", "data": "ENC=="}
    assert parts(start(0, **block), stop(0), text(1, "said")) == (Reasoning("", json.dumps(block, separators=(",", ":")), PRODUCER), Text("said"))


def test_a_text_with_citations_goes_back_whole_and_one_without_is_plain():
    cited = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 1e1}
    pieces = [start(0, type="text", text="", citations=[]), delta(0, "text_delta", text="see"), delta(0, "citations_delta", citation=cited), stop(0)]
    deltas = read([begin(), *pieces, start(1, type="text", text="", citations=[]), delta(1, "text_delta", text="plain"), stop(1), finish()])
    assert [each for each in deltas if isinstance(each, PartBlock)] == [
        PartBlock(
            0,
            '{"type":"text","text":"see","citations":[{"type":"char_location","cited_text":"x","document_index":0,"start_char_index":10.0}]}',
            PRODUCER,
        )
    ]
    assert fold(deltas).parts()[1] == Text("plain")


def test_what_stands_beside_a_call_goes_back_with_it():
    start_of_call = start(0, type="tool_use", id="toolu_1", name="f", input={}, caller={"type": "direct"})
    assert parts(start_of_call, delta(0, "input_json_delta", partial_json="{}"), stop(0)) == (
        ToolCall("", "f", "{}", "toolu_1", '{"caller":{"type":"direct"}}', None, PRODUCER),
    )


def test_blocks_that_are_not_modelled_are_kept_whole_in_their_place():
    asked = [start(0, type="server_tool_use", id="srv_1", name="web_search", input={}), delta(0, "input_json_delta", partial_json='{"q"')]
    asked += [delta(0, "input_json_delta", partial_json=":1.50}"), stop(0)]
    raw = b"event: content_block_start\ndata: " + json.dumps({"type": "content_block_start", "index": 1, "content_block": SEARCHED}).encode()
    searched, spelled = raw.replace(b"100.0", b"1e2") + b"\n\n" + stop(1), json.dumps(SEARCHED, separators=(",", ":")).replace("100.0", "1e2")
    found = parts(*asked, searched, text(2, "said"))
    assert found == (
        Opaque("anthropic-messages", PRODUCER, '{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"q":1.50}}', "server_tool_use"),
        Opaque("anthropic-messages", PRODUCER, spelled, "web_search_tool_result"),
        Text("said"),
    )


def test_a_block_of_a_type_nobody_knows_takes_pieces_of_any_key():
    pieces = [start(0, type="compaction", content="a"), delta(0, "compaction_delta", content="b", note=None, size=7), stop(0)]
    assert [json.loads(part.block) for part in parts(*pieces)] == [{"type": "compaction", "content": "ab", "size": 7}]


def test_arguments_are_the_exact_text_and_none_is_empty():
    found = parts(call(0, "a", "f"), call(1, "b", "f", ""), call(2, "c", "f", "{not", " json"), call(3, "d", "f", '{"x": 1e2}'))
    assert [part.arguments for part in found] == ["", "", "{not json", '{"x": 1e2}']


@pytest.mark.req("X-74")
def test_blocks_may_come_between_one_another():
    pieces = [start(0, type="tool_use", id="a", name="f", input={}), start(1, type="tool_use", id="b", name="g", input={})]
    pieces += [delta(1, "input_json_delta", partial_json="{}"), delta(0, "input_json_delta", partial_json="[]"), stop(1), stop(0)]
    assert [(part.provider_id, part.arguments) for part in parts(*pieces)] == [("a", "[]"), ("b", "{}")]


@pytest.mark.parametrize(
    ("reason", "neutral"),
    [
        ("end_turn", "finished"),
        ("stop_sequence", "finished"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "window_full"),
        ("refusal", "refused"),
        ("pause_turn", "paused"),
        ("compaction", "other"),
    ],
)
def test_stop_reasons_are_neutral_and_an_unknown_one_is_not_taken_for_finished(reason: str, neutral: str):
    assert read([begin(), text(0, "x"), finish(reason)])[-1] == Finished(neutral, reason)


def test_an_end_without_a_reason_is_not_taken_for_finished():
    assert read([begin(), text(0, "x"), finish(None)])[-1] == Finished("other", "")
    assert read([begin(), text(0, "x"), END])[-1] == Finished("other", "")


def test_an_end_with_calls_means_calls():
    assert read([begin(), call(0, "a", "f", "{}"), finish("end_turn")])[-1] == Finished("tool_calls", "end_turn")
    assert read([begin(), call(0, "a", "f", "{"), finish("max_tokens")])[-1] == Finished("length", "max_tokens")


@pytest.mark.req("X-33")
def test_later_figures_replace_earlier_ones_and_absent_ones_do_not():
    cached: dict[str, Any] = {"input_tokens": 15, "cache_creation_input_tokens": 7_000, "cache_read_input_tokens": 110_000}
    assert fold(read([begin(**cached), text(0, "x"), finish(output_tokens=500)])).usage == Usage(117_015, 110_000, 7_000, 500)
    late: dict[str, Any] = {"input_tokens": 21, "output_tokens": 433, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8_981}
    assert fold(read([begin(input_tokens=9_002, output_tokens=0), text(0, "x"), finish(**late)])).usage == Usage(9_002, 8_981, 0, 433)
    part = finish(input_tokens=12, cache_read_input_tokens=None, output_tokens_details={"thinking_tokens": 3})
    assert fold(read([begin(cache_read_input_tokens=100), text(0, "x"), part])).usage == Usage(112, 100, None, 9, 3)


def test_the_frame_of_the_figures_is_kept():
    assert json.loads(fold(read([begin(), text(0, "x"), finish(service_tier="standard")])).usage_raw)["usage"]["service_tier"] == "standard"


def test_usage_that_never_came_is_unknown_and_not_zero():
    bare = event("message_start", message={"id": "m"}) + text(0, "x") + event("message_delta", delta={"stop_reason": "end_turn"}) + END
    assert fold(read([bare])).usage is None
    assert fold(read([begin(input_tokens="many", output_tokens=-1), text(0, "x"), finish(output_tokens=None)])).usage == Usage()


@pytest.mark.parametrize(
    "pieces",
    [[], [b"\n\n"], [begin()], [begin(), text(0, "x")], [begin(), text(0, "x"), finish().replace(END, b"")], [begin(), finish()[:-4]]],
    ids=["nothing", "blank", "begun", "said", "a reason without the end", "half an end"],
)
def test_a_stream_without_its_terminal_event_failed(pieces: list[bytes]):
    last = read(pieces)[-1]
    assert isinstance(last, StreamFailed)
    assert (last.code, last.retryable) == ("stream-truncated", True)


def test_the_last_event_needs_no_blank_line_once_the_connection_is_closed():
    assert read([begin(), text(0, "x"), finish()[:-2]])[-1] == Finished("finished", "end_turn")
    assert read([begin(), text(0, "x"), finish()[:-1]])[-1] == Finished("finished", "end_turn")


def test_what_was_said_before_the_cut_is_kept_and_what_was_not_whole_is_not_sent_back():
    pieces = [begin(), start(0, type="thinking", thinking="", signature=""), delta(0, "thinking_delta", thinking="th")]
    pieces += [delta(0, "signature_delta", signature="HALF"), start(1, type="server_tool_use", id="s", name="n", input={})]
    assert fold(read(pieces)).parts() == (Reasoning("th"),)


def test_a_second_answer_in_the_middle_of_the_first_is_a_cut():
    last = read([begin(), thinking(0, "x"), begin("msg_2"), text(0, "y"), finish()])[-1]
    assert isinstance(last, StreamFailed)
    assert last.code == "stream-truncated"
    assert parts(begin(), text(0, "x")) == (Text("x"),), "the same beginning once more does no harm"
    assert parts(begin("msg_2"), text(0, "x")) == (Text("x"),), "nor another, while nothing was said"


def test_blocks_whose_end_did_not_come_end_with_the_answer():
    pieces = [start(0, type="thinking", thinking="a", signature="S"), start(1, type="tool_use", id="a", name="f", input={})]
    pieces += [delta(1, "input_json_delta", partial_json='{"half')]
    answer = fold(read([begin(), *pieces, finish("max_tokens")]))
    assert answer.parts() == (Reasoning("a", '{"type":"thinking","thinking":"a","signature":"S"}', PRODUCER), ToolCall("", "f", '{"half', "a"))


def test_unknown_events_and_deltas_and_those_of_no_block_are_skipped():
    odd = [event("news", x=1), event("content_block_delta"), event("content_block_delta", index=[0], delta={"type": "text_delta", "text": "n"})]
    odd += [delta(0, "news_delta", text="n"), delta(0, "input_json_delta", partial_json="n"), delta(7, "signature_delta", signature="n"), stop(9)]
    odd += [event("content_block_start", index=3, content_block=None), b"data: []\n\n", b"data: null\n\n", b": comment\n\n", b"data: [DONE]\n\n"]
    assert parts(start(0, type="text", text=""), *odd, delta(0, "text_delta", text="x"), stop(0)) == (Text("x"),)


def test_text_whose_start_a_gateway_left_out_is_not_lost():
    assert parts(delta(0, "thinking_delta", thinking="th"), delta(1, "text_delta", text="x")) == (Reasoning("th"), Text("x"))


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [({"type": "overloaded_error", "message": "Overloaded"}, "upstream-error", True), (None, "upstream-error", False)],
)
def test_an_error_in_the_stream_is_a_failure(error: Any, code: str, retryable: bool):
    deltas = read([begin(), start(0, type="text", text=""), delta(0, "text_delta", text="par"), event("error", error=error), finish()])
    failed = deltas[-1]
    assert isinstance(failed, StreamFailed)
    assert (failed.code, failed.retryable) == (code, retryable)
    assert "Overloaded" not in failed.detail
    assert fold(deltas).parts() == (Text("par"),)
    assert fold(deltas).usage == Usage(input=5, output=1)


@pytest.mark.parametrize("noise", [b"data: {not json\n\n", b"data: [" + b"[" * 100_000 + b"\n\n", b'data: {"a": NaN}\n\n'])
def test_an_event_that_is_no_json_ends_the_stream(noise: bytes):
    assert isinstance(read([begin(), text(0, "x"), noise, finish()])[-1], StreamFailed)


def test_too_many_calls_end_the_stream():
    last = read([begin(), *(call(index, f"c{index}", "f", "{}") for index in range(TOOL_CALLS_PER_ANSWER_MAX + 1)), finish()])[-1]
    assert isinstance(last, StreamFailed)
    assert last.code == "upstream-error"
    many = [{"type": "tool_use", "id": str(index), "name": "f", "input": {}} for index in range(TOOL_CALLS_PER_ANSWER_MAX + 1)]
    assert isinstance(read([json.dumps({"type": "message", "content": many}).encode()])[-1], StreamFailed)


def test_an_answer_that_is_too_long_ends_the_stream(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.formats.answer_reader.ANSWER_BYTES_MAX", 100)
    assert isinstance(read([begin(), text(0, "x" * 200), finish()])[-1], StreamFailed)


def test_an_error_document_with_status_200_is_an_error():
    (failed,) = read([b' \n{"type": "error", "error": {"type": "billing_error", ', b'"message": "no credits for sk-abc"}}'])
    assert isinstance(failed, StreamFailed)
    assert failed.code == "upstream-rate-limited"
    assert isinstance(read([b'{"type": "err'])[-1], StreamFailed)
    assert isinstance(read([b'{"type": "message"}'])[-1], StreamFailed)


def test_an_answer_that_comes_as_one_document_is_read():
    content = [
        {"type": "thinking", "thinking": "th", "signature": "S"},
        {"type": "text", "text": "Hi", "citations": None},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        SEARCHED,
    ]
    usage = {"input_tokens": 1, "output_tokens": 2}
    answer = fold(read([json.dumps({"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}).encode()]))
    assert [type(part) for part in answer.parts()] == [Reasoning, Text, ToolCall, Opaque]
    assert answer.parts()[2] == ToolCall("", "f", '{"x":1}', "a")
    assert answer.finished == Finished("tool_calls", "tool_use")
    assert answer.usage == Usage(input=1, output=2)


def test_what_an_event_says_comes_out_with_it():
    reader = MessagesStreamReader(PRODUCER)
    reader.feed(begin() + start(0, type="text", text=""))
    assert reader.feed(delta(0, "text_delta", text="x")) == [TextDelta(0, "x")]
    assert reader.feed(delta(0, "text_delta", text="")) == []
