"""Converse streams as Bedrock sends them: blocks to parts, what goes back to the provider, and every way to end."""

import json
from typing import Any

import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.deltas import Finished, OpaqueBlock, PartBlock, ReasoningDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted, Usage
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.framing.aws import frame
from tests.formats.bedrock.streams import END, METADATA, PRODUCER, START, delta, event, exception, fold, opened, read, stop


def parts(*pieces: bytes) -> tuple[Any, ...]:
    answer = fold(read([START, *pieces, END, METADATA]))
    assert answer.finished is not None
    return answer.parts()


def test_text_and_calls_in_the_order_of_their_blocks():
    call = opened(1, toolUse={"toolUseId": "t1", "name": "lookup"})
    deltas = read([START, delta(0, text="Hel"), delta(0, text="lo"), stop(0), call, delta(1, toolUse={"input": '{"a"'}), METADATA, END])
    assert deltas[:4] == [TextDelta(0, "Hel"), TextDelta(0, "lo"), ToolCallStarted(1, "lookup", "t1"), ToolCallDelta(1, '{"a"')]
    answer = fold(deltas)
    assert answer.usage == Usage(3, None, None, 4, None)
    assert json.loads(answer.usage_raw)["usage"]["totalTokens"] == 7
    assert answer.finished == Finished("tool_calls", "end_turn"), "calls were made, whatever the word is"


def test_no_text_is_no_part():
    assert parts(delta(0, text=""), stop(0), delta(1, text="x"), stop(1)) == (Text("x"),)


def test_a_call_without_arguments_keeps_none():
    call = opened(0, toolUse={"toolUseId": "t1", "name": "now"})
    assert parts(call, delta(0, toolUse={"input": ""}), stop(0)) == (ToolCall("", "now", "", "t1"),)


@pytest.mark.req("X-23")
def test_signed_reasoning_is_kept_as_the_block_that_goes_back():
    thought = [delta(0, reasoningContent={"text": piece}) for piece in ("I th", "ink")]
    found = parts(*thought, delta(0, reasoningContent={"signature": "c2ln"}), stop(0), delta(1, text="x"))
    block = '{"reasoningContent":{"reasoningText":{"text":"I think","signature":"c2ln"}}}'
    assert found == (Reasoning("I think", block, PRODUCER), Text("x"))


@pytest.mark.req("X-23")
def test_redacted_reasoning_is_kept_as_received_and_reasoning_without_a_signature_is_words():
    found = parts(delta(0, reasoningContent={"redactedContent": "cnNu+/=="}), stop(0), delta(1, reasoningContent={"text": "plain"}), stop(1))
    assert found == (Reasoning("", '{"reasoningContent":{"redactedContent":"cnNu+/=="}}', PRODUCER), Reasoning("plain"))
    joined = parts(delta(0, reasoningContent={"redactedContent": "YQ=="}), delta(0, reasoningContent={"redactedContent": "Yg=="}))
    assert json.loads(joined[0].opaque) == {"reasoningContent": {"redactedContent": "YWI="}}


def test_citations_stay_with_the_text_that_they_are_of():
    cited = '{"title":"t","location":{"documentPage":{"start":1,"end":2}},"weight":1e2}'
    raw = frame({":event-type": "contentBlockDelta", ":message-type": "event"}, f'{{"contentBlockIndex":1,"delta":{{"citation":{cited}}}}}'.encode())
    found = parts(delta(0, text="As "), stop(0), raw, delta(1, text="written"), stop(1), delta(2, text="."))
    assert [part.text for part in found] == ["As ", "written", "."]
    assert found[1].opaque == f'{{"citationsContent":{{"content":[{{"text":"written"}}],"citations":[{cited}]}}}}'
    assert found[0].opaque is None


def test_what_the_provider_runs_itself_is_no_call_of_ours():
    """As recorded of Nova's code interpreter: a call, its result, and the answer's own call behind them."""
    call = opened(0, toolUse={"toolUseId": "s1", "name": "nova_code_interpreter", "type": "server_tool_use"})
    raw = b'{"contentBlockIndex":1,"delta":{"toolResult":[{"json":{"out":"7","big":123456789012345678901234567890,"e":1e2}}]}}'
    result = [
        opened(1, toolResult={"toolUseId": "s1", "status": "success", "type": "nova_code_interpreter_result"}),
        frame({":event-type": "contentBlockDelta", ":message-type": "event"}, raw),
        stop(1),
    ]
    ours = [opened(2, toolUse={"toolUseId": "t1", "name": "final"}), delta(2, toolUse={"input": "{}"}), stop(2)]
    found = parts(call, delta(0, toolUse={"input": '{ "snippet":"1.0" }'}), stop(0), *result, *ours)
    head = '"toolUseId":"s1"'
    assert found[0] == Opaque(
        "bedrock-converse",
        PRODUCER,
        f'{{"toolUse":{{{head},"name":"nova_code_interpreter","type":"server_tool_use","input":{{ "snippet":"1.0" }}}}}}',
        "nova_code_interpreter",
    )
    said = '[{"json":{"out":"7","big":123456789012345678901234567890,"e":1e2}}]'
    block = f'{{"toolResult":{{{head},"status":"success","type":"nova_code_interpreter_result","content":{said}}}}}'
    assert found[1] == Opaque("bedrock-converse", PRODUCER, block, "nova_code_interpreter_result")
    assert found[2] == ToolCall("", "final", "{}", "t1")


@pytest.mark.parametrize(("said", "kept"), [("", "{}"), ("not json", '{"rawInvalidInput":"not json"}'), ("[1]", '{"rawInvalidInput":"[1]"}')])
def test_the_input_of_a_providers_own_call_is_always_an_object(said: str, kept: str):
    call = opened(0, toolUse={"toolUseId": "s1", "name": "n", "type": "server_tool_use"})
    (found,) = parts(call, delta(0, toolUse={"input": said}), stop(0))
    assert found.block.endswith(f'"input":{kept}}}}}')


def test_a_picture_is_kept_whole():
    (found,) = parts(opened(0, image={"format": "png"}), delta(0, image={"source": {"bytes": "iVBO"}}), stop(0))
    assert found == Opaque("bedrock-converse", PRODUCER, '{"image":{"format":"png","source":{"bytes":"iVBO"}}}', "image")


def test_blocks_that_nothing_ends_end_with_the_answer():
    deltas = read([delta(0, reasoningContent={"text": "a"}), delta(0, reasoningContent={"signature": "s"}), delta(1, text="b"), END])
    assert [type(one) for one in deltas] == [ReasoningDelta, TextDelta, PartBlock, Finished]


def test_a_begin_without_content_and_an_index_that_is_used_twice():
    reused = [opened(0, toolUse={"toolUseId": "t1", "name": "f"}), delta(0, toolUse={"input": "{}"}), delta(0, text="x")]
    assert parts(event("contentBlockStart", contentBlockIndex=0, start={}), *reused) == (ToolCall("", "f", "{}", "t1"), Text("x"))


def test_usage_behind_and_before_the_stop_and_the_end_without_it():
    for pieces in ([END, METADATA], [METADATA, END]):
        deltas = read([delta(0, text="x"), *pieces, delta(0, text="late")])
        assert isinstance(deltas[-1], Finished)
        assert fold(deltas).parts() == (Text("x"),)
        assert fold(deltas).usage == Usage(3, None, None, 4, None)
    assert read([delta(0, text="x"), END])[-1] == Finished("finished", "end_turn")


@pytest.mark.req("X-33", "X-42")
def test_the_input_includes_what_was_cached_and_what_is_not_said_stays_unknown():
    usage = {"inputTokens": 4, "outputTokens": 37, "totalTokens": 1592, "cacheReadInputTokens": 1551, "cacheWriteInputTokens": 0}
    assert fold(read([END, event("metadata", usage=usage)])).usage == Usage(1555, 1551, 0, 37, None)
    assert fold(read([END, event("metadata", usage={"outputTokens": True, "inputTokens": -1})])).usage == Usage()
    assert fold(read([END, event("metadata", metrics={"latencyMs": 1})])).usage is None


@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ("end_turn", "finished"),
        ("stop_sequence", "finished"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "window_full"),
        ("content_filtered", "refused"),
        ("guardrail_intervened", "refused"),
        ("malformed_model_output", "malformed"),
        ("malformed_tool_use", "malformed"),
        ("something_new", "other"),
    ],
)
def test_every_stop_reason(native: str, reason: str):
    assert read([event("messageStop", stopReason=native)])[-1] == Finished(reason, native)


@pytest.mark.parametrize(
    ("name", "message", "code", "retryable"),
    [
        ("internalServerException", "x", "upstream-error", True),
        ("modelStreamErrorException", "x", "upstream-error", True),
        ("serviceUnavailableException", "x", "upstream-error", True),
        ("throttlingException", "Too many tokens, please wait", "upstream-rate-limited", True),
        ("throttlingException", "Too many tokens per day", "upstream-rate-limited", False),
        ("validationException", "The model returned: Input is too long for requested model.", "upstream-overflow", False),
        ("validationException", "x", "upstream-error", False),
        ("somethingNewException", "x", "upstream-error", False),
    ],
)
def test_an_exception_ends_the_stream_classified_and_without_the_vendors_words(name: str, message: str, code: str, retryable: bool):
    deltas = read([START, delta(0, text="x"), exception(name, message), END, METADATA])
    assert deltas[-1] == StreamFailed(code, f"The stream ended with an error ({name}).", retryable)
    assert fold(deltas).parts() == (Text("x"),)
    assert message == "x" or message not in str(deltas[-1])


def test_an_error_frame_of_the_transport_is_one_too():
    broken = frame({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "secret"}, b"")
    assert read([START, broken])[-1] == StreamFailed("upstream-error", "The stream ended with an error (InternalFailure).", True)


def test_a_stream_that_stops_is_truncated_and_keeps_what_it_said():
    call = opened(1, toolUse={"toolUseId": "t1", "name": "lookup"})
    deltas = read([START, delta(0, text="x"), call, delta(1, toolUse={"input": '{"a'}), METADATA])
    assert deltas[-1] == StreamFailed("stream-truncated", "The stream ended without its stop event.", True)
    assert fold(deltas).parts() == (Text("x"), ToolCall("", "lookup", '{"a', "t1"))
    assert read([])[-1] == deltas[-1]


def test_broken_bytes_fail_and_unknown_events_do_not():
    broken = bytearray(delta(0, text="y"))
    broken[-1] ^= 1
    last = read([delta(0, text="x"), bytes(broken), END])[-1]
    assert last == StreamFailed("upstream-error", "The stream holds a frame that cannot be read.", True)
    assert isinstance(read([frame({":event-type": "messageStop", ":message-type": "event"}, b"no json"), END])[-1], StreamFailed)
    unknown = [event("somethingNew", x=1), frame({}, b"{}"), frame({":event-type": "contentBlockDelta"}, b"[]"), event("contentBlockDelta")]
    assert read([*unknown, END])[-1] == Finished("finished", "end_turn")


def test_there_is_an_end_to_calls_and_bytes(monkeypatch: pytest.MonkeyPatch):
    calls = [opened(index, toolUse={"toolUseId": f"t{index}", "name": "f"}) for index in range(TOOL_CALLS_PER_ANSWER_MAX + 1)]
    deltas = read([*calls, END])
    assert deltas[-1] == StreamFailed("upstream-error", "The answer is larger than the service takes.")
    assert len(fold(deltas).parts()) == TOOL_CALLS_PER_ANSWER_MAX
    monkeypatch.setattr("app.formats.answer_reader.ANSWER_BYTES_MAX", 100)
    assert read([delta(0, text="x" * 200), END])[-1] == StreamFailed("upstream-error", "The answer is larger than the service takes.")


def test_an_answer_that_came_as_one_document():
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"reasoningContent": {"reasoningText": {"text": "unsigned"}}},
        {"reasoningContent": {"redactedContent": "YQ=="}},
        {"text": ""},
        {"text": "Hello"},
        {"citationsContent": {"content": [{"text": "ci"}, {"text": "ted"}], "citations": [{"title": "t"}]}},
        {"toolUse": {"toolUseId": "t1", "name": "lookup", "input": {"b": 1.50, "a": [1]}, "type": "tool_use"}},
        {"toolUse": {"toolUseId": "s1", "name": "n", "input": {}, "type": "server_tool_use"}},
    ]
    usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
    document = json.dumps({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use", "usage": usage}).encode()
    deltas = read([b" \n", document[:40], document[40:]])
    answer = fold(deltas)
    assert answer.parts() == (
        Reasoning("hm", '{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}}', PRODUCER),
        Reasoning("unsigned"),
        Reasoning("", '{"reasoningContent":{"redactedContent":"YQ=="}}', PRODUCER),
        Text("Hello"),
        Text("cited", None, '{"citationsContent":{"content":[{"text":"ci"},{"text":"ted"}],"citations":[{"title":"t"}]}}', PRODUCER),
        ToolCall("", "lookup", '{"b":1.5,"a":[1]}', "t1"),
        Opaque("bedrock-converse", PRODUCER, '{"toolUse":{"toolUseId":"s1","name":"n","input":{},"type":"server_tool_use"}}', "toolUse"),
    )
    assert answer.usage == Usage(1, None, None, 2)
    assert answer.finished == Finished("tool_calls", "tool_use")
    assert read([document[:-3]])[-1] == StreamFailed("stream-truncated", "The answer is no whole document.", True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"message": "Input is too long for requested model."}, "upstream-overflow"),
        ({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "x"}, "upstream-auth"),
        ({"Output": {"__type": "com.amazon.coral.service#UnknownOperationException"}, "Version": "1.0"}, "upstream-error"),
        ({"output": {"message": {"content": []}}}, "upstream-error"),
    ],
)
def test_an_error_under_a_good_status_is_an_error(body: Any, code: str):
    (failed,) = read([json.dumps(body).encode()])
    assert isinstance(failed, StreamFailed)
    assert failed.code == code


def test_a_document_with_too_many_calls_is_refused():
    block = {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}
    body = {"output": {"message": {"content": [block] * (TOOL_CALLS_PER_ANSWER_MAX + 1)}}, "stopReason": "tool_use"}
    assert read([json.dumps(body).encode()]) == [StreamFailed("upstream-error", "The answer is larger than the service takes.")]


def test_lone_surrogates_in_escapes_arrive():
    payload = b'{"contentBlockIndex":0,"delta":{"text":"a\\ud83d"}}'
    raw = frame({":event-type": "contentBlockDelta", ":message-type": "event"}, payload)
    assert read([raw, END])[0] == TextDelta(0, "a\ud83d")
    assert OpaqueBlock(0, "bedrock-converse", PRODUCER, "{}") not in read([raw, END])
