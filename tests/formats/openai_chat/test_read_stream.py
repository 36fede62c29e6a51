"""Chat streams to deltas: the shapes that servers really send, any cut of the bytes, and no failure that passes for an answer."""

import json

import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.deltas import Finished, OpaqueBlock, PartBlock, StreamFailed, Usage
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from tests.formats.openai_chat.streams import DONE, STOP, call, chunk, data, fold, read

SAID = chunk({"content": "x"})
TOOLS = chunk({}, "tool_calls")
A_AND_B = [{"id": "a", "function": {"name": "f", "arguments": "1"}}, {"id": "b", "function": {"name": "g", "arguments": "2"}}]


def calls_of(*pieces: bytes) -> list[tuple[str | None, str, str]]:
    answer = fold(read(pieces))
    assert answer.finished is not None
    return [(part.provider_id, part.name, part.arguments) for part in answer.parts() if isinstance(part, ToolCall)]


def test_text_usage_and_finish_come_in_this_order_wherever_usage_stood():
    usage = data({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}})
    deltas = read([chunk({"role": "assistant", "content": "H"}), chunk({"content": "i"}), STOP, usage, DONE])
    assert deltas[-1] == Finished("finished", "stop")
    answer = fold(deltas)
    assert answer.parts() == (Text("Hi"),)
    assert answer.usage == Usage(input=10, output=50)
    assert json.loads(answer.usage_raw)["usage"]["total_tokens"] == 60


def test_usage_that_never_came_is_unknown_and_not_zero():
    assert fold(read([chunk({"content": "x"}), STOP, DONE])).usage is None


def test_usage_figures_are_normalised():
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    assert fold(read([chunk({"content": "x"}, "stop", usage=usage), DONE])).usage == Usage(10, 4, 3, 5, 2)
    assert fold(read([chunk({"content": "x"}, "stop", usage={"prompt_tokens": "many", "completion_tokens": -1}), DONE])).usage == Usage()
    groq = {"x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}
    assert fold(read([chunk({"content": "x"}, "stop", **groq), DONE])).usage == Usage(input=1, output=2)


def test_choices_may_be_absent_null_or_empty_and_deltas_null():
    pieces = [data({"id": "c1"}), data({"choices": None}), data({"choices": [], "prompt_filter_results": [{}]}), chunk({"content": "Hi"})]
    pieces += [data({"choices": [{"index": 0}]}), data({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]})]
    pieces += [data([]), data(None), DONE]
    answer = fold(read(pieces))
    assert answer.parts() == (Text("Hi"),)
    assert answer.finished == Finished("finished", "stop")


def test_comments_and_named_events_do_no_harm():
    answer = fold(read([b": OPENROUTER PROCESSING\n\n", b":\n\n", chunk({"content": "ok"}), b": x\n" + STOP, DONE]))
    assert answer.parts() == (Text("ok"),)


@pytest.mark.parametrize("end", [b"", DONE])
def test_a_missing_done_is_no_truncation_once_there_is_a_finish_reason(end: bytes):
    assert read([chunk({"content": "x"}), STOP, end])[-1] == Finished("finished", "stop")


@pytest.mark.parametrize(
    "pieces",
    [[], [DONE], [b"\n\n"], [SAID], [SAID, DONE], [SAID, STOP[:-1]], [call(0, "c", "f", "{")]],
    ids=["nothing", "done alone", "blank", "no finish", "done appended to a cut", "finish without its blank line", "half a call"],
)
def test_a_stream_without_its_terminal_mark_failed(pieces: list[bytes]):
    last = read(pieces)[-1]
    assert isinstance(last, StreamFailed)
    assert (last.code, last.retryable) == ("stream-truncated", True)


def test_done_after_a_final_usage_report_ends_an_answer_of_servers_that_give_no_reason():
    usage = data({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    assert read([chunk({"content": "x"}), usage, DONE])[-1] == Finished("finished", "")
    assert isinstance(read([usage, DONE])[-1], StreamFailed)
    assert isinstance(read([chunk({"content": "x"}, usage={"prompt_tokens": 1}), DONE])[-1], StreamFailed)


@pytest.mark.req("X-74")
def test_calls_are_assembled_by_index():
    pieces = [call(0, "a", "f", ""), call(1, "b", "g", ""), call(0, None, None, '{"x"'), call(1, None, None, "{}"), call(0, None, None, ":1}"), TOOLS]
    assert calls_of(*pieces) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


@pytest.mark.req("X-74")
@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([call(None, "a", "f"), call(arguments="1"), call(None, "b", "g", "{"), call(arguments="}")], [("a", "f", "1"), ("b", "g", "{}")]),
        ([call(0, "a", "f", '{"q":'), call(0, None, None, "1}"), call(0, "b", "f", "{}")], [("a", "f", '{"q":1}'), ("b", "f", "{}")]),
        ([call(0, None, "ls", "{"), call(0, None, None, "}")], [(None, "ls", "{}")]),
        ([call(0, "a", "f", "1"), call(0, "a", "f", "2"), call(0, "a", None, "3")], [("a", "f", "123")]),
        ([call(0, "a", "f", "1"), call(0, "", "f", "2")], [("a", "f", "12")]),
        ([call(None, None, "f", "{}"), call(None, None, "f", "[]")], [(None, "f", "{}"), (None, "f", "[]")]),
        ([call(0, "null", "f", "{}")], [(None, "f", "{}")]),
        ([call(0, "a", None, "{"), call(0, None, "f", "}")], [("a", "f", "{}")]),
        ([call(0, "a", "f", {"x": [1]})], [("a", "f", '{"x":[1]}')]),
        ([call(0, "a", "f"), call(1, "b", "g")], [("a", "f", ""), ("b", "g", "")]),
        ([chunk({"tool_calls": A_AND_B})], [("a", "f", "1"), ("b", "g", "2")]),
        ([chunk({"function_call": {"name": "f", "arguments": "{"}}), chunk({"function_call": {"arguments": "}"}})], [(None, "f", "{}")]),
        ([chunk({"tool_calls": [None, "x", {}, {"index": 0}, {"function": None}]}), call(3, "a", "f", "{}")], [("a", "f", "{}")]),
    ],
    ids=["no index", "all index 0", "no id", "id and name repeated", "name repeated with an empty id", "neither index nor id", "id null as text",
         "name after arguments", "arguments as an object", "no arguments", "whole calls in one chunk", "the old form", "fragments of nothing"],
)  # fmt: skip
def test_calls_as_servers_really_send_them(pieces: list[bytes], expected: list[tuple[str | None, str, str]]):
    assert calls_of(*pieces, TOOLS, DONE) == expected


@pytest.mark.req("X-74")
def test_a_slot_without_a_name_is_no_call_and_is_kept():
    answer = fold(read([call(0, "a", None, '{"half"'), call(1, "b", "g", "{}"), TOOLS, DONE]))
    assert [part.name for part in answer.parts() if isinstance(part, ToolCall)] == ["g"]
    kept = [json.loads(part.block) for part in answer.parts() if isinstance(part, Opaque)]
    assert kept == [{"tool_calls": [{"id": "a", "arguments": '{"half"'}]}]


def test_too_many_calls_end_the_stream():
    last = read([call(index, f"c{index}", "f", "{}") for index in range(TOOL_CALLS_PER_ANSWER_MAX + 1)])[-1]
    assert isinstance(last, StreamFailed)
    assert last.code == "upstream-error"


@pytest.mark.parametrize(
    ("reason", "neutral"), [("stop", "finished"), ("length", "length"), ("content_filter", "refused"), ("model_length", "length"), ("odd", "other")]
)
def test_stop_reasons_are_neutral_and_an_unknown_one_is_not_taken_for_finished(reason: str, neutral: str):
    assert read([chunk({"content": "x"}, reason), DONE])[-1] == Finished(neutral, reason)


def test_stop_with_calls_means_calls():
    assert read([call(0, "a", "f", "{}"), STOP, DONE])[-1] == Finished("tool_calls", "stop")
    assert read([call(0, "a", "f", "{"), chunk({}, "length"), DONE])[-1] == Finished("length", "length")


def test_a_refusal_is_text_and_a_neutral_reason():
    answer = fold(read([chunk({"refusal": "I "}), chunk({"refusal": "won't"}), STOP, DONE]))
    assert answer.parts() == (Text("I won't"),)
    assert answer.finished == Finished("refused", "stop")


def test_content_after_the_finish_reason_belongs_to_the_answer():
    assert fold(read([chunk({"content": "a"}), STOP, chunk({"content": "b"}), DONE, chunk({"content": "c"})])).parts() == (Text("ab"),)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_has_a_part_of_its_own(key: str):
    answer = fold(read([chunk({key: "th", "content": ""}), chunk({key: "ink"}), chunk({"content": "said"}), STOP, DONE]))
    assert answer.parts() == (Reasoning("think"), Text("said"))


def test_reasoning_details_are_kept_as_received_for_their_producer():
    details = [{"type": "reasoning.text", "text": "th", "signature": "s", "index": 0}]
    deltas = read([chunk({"reasoning_details": details}), chunk({"content": "said"}), STOP, DONE])
    assert PartBlock(0, json.dumps(details, separators=(",", ":")), "test/m") in deltas
    thought = fold(deltas).parts()[0]
    assert isinstance(thought, Reasoning)
    assert thought.text == "th"


def test_content_may_be_a_list_of_text_and_thinking():
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "th"}]}, {"type": "text", "text": "said"}, {"type": "image", "x": 1}, "odd"]
    answer = fold(read([chunk({"content": content}), STOP, DONE]))
    assert answer.parts()[:2] == (Reasoning("th"), Text("said"))
    assert isinstance(answer.parts()[2], Opaque)


def test_fields_that_are_not_modelled_are_kept_once():
    deltas = read([chunk({"content": "x", "channel": "final"}), chunk({"content": "y", "channel": "final", "obfuscation": "zzz"}), STOP, DONE])
    blocks = [delta for delta in deltas if isinstance(delta, OpaqueBlock)]
    assert [json.loads(block.block) for block in blocks] == [{"channel": ["final"]}]
    assert blocks[0].part == 1


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"error": {"message": "The server had an error", "type": "server_error", "code": 500}}, "upstream-error"),
        ({"error": {"message": "slow down", "code": 429}}, "upstream-rate-limited"),
        ({"error": "plain words"}, "upstream-error"),
        ({"object": "error", "message": "x", "code": 401}, "upstream-auth"),
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}, "upstream-error"),
        ({"error": {"message": "maximum context length is 8 tokens"}}, "upstream-overflow"),
        ({"x_groq": {"error": "tool_use_failed"}}, "upstream-error"),
    ],
)
def test_an_error_in_the_stream_is_a_failure_even_though_done_follows(event: object, code: str):
    deltas = read([chunk({"content": "par"}), data(event), STOP, DONE])
    failed = deltas[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.code == code
    assert "server had" not in failed.detail
    assert fold(deltas).parts() == (Text("par"),)
    assert not any(isinstance(delta, Finished) for delta in deltas)


def test_what_a_failed_generation_had_said_is_kept():
    (kept,) = fold(read([data({"error": {"code": "tool_use_failed", "failed_generation": "<call>"}})])).parts()
    assert isinstance(kept, Opaque)
    assert json.loads(kept.block) == {"failed_generation": ["<call>"]}


@pytest.mark.parametrize("event", [b"data: {not json\n\n", b"data: [" + b"[" * 100_000 + b"\n\n", b'data: {"a": NaN}\n\n'])
def test_an_event_that_is_no_json_ends_the_stream(event: bytes):
    assert isinstance(read([chunk({"content": "x"}), event, STOP, DONE])[-1], StreamFailed)


def test_an_error_document_with_status_200_is_an_error():
    pieces = [b' \n{"error": {"message": "no credits for sk-abc", ', b'"code": 402}}']
    (failed,) = read(pieces)
    assert isinstance(failed, StreamFailed)
    assert failed.code == "upstream-rate-limited"
    assert isinstance(read([b'{"error": {"mess'])[-1], StreamFailed)


def test_an_answer_that_comes_as_one_document_is_read():
    message = {"role": "assistant", "content": "Hi", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    document = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    answer = fold(read([json.dumps(document).encode()]))
    assert answer.parts() == (Text("Hi"), ToolCall("", "f", "{}", "a"))
    assert answer.finished == Finished("tool_calls", "tool_calls")
