"""Deltas to a Chat stream: read back by our reader as they were, and by the SDK's own client."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.deltas import (
    Delta,
    Finished,
    OpaqueBlock,
    ReasoningDelta,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from app.entries.parts import Part, Reasoning, Text, ToolCall
from app.formats.framing.sse import SseReader
from app.formats.openai_chat.write_stream import ChatStreamWriter
from tests.formats.openai_chat.judge import sdk_answer, sdk_calls
from tests.formats.openai_chat.streams import fold, read


def write(*deltas: Delta) -> bytes:
    writer = ChatStreamWriter("m", "chatcmpl-1", 1_764_400_000)
    return b"".join(writer.write(delta) for delta in deltas) + writer.end()


@pytest.mark.req("X-90")
def test_the_official_client_reads_it():
    stream = write(
        ReasoningDelta(0, "think"),
        TextDelta(1, "said\u2028\r\n"),
        ToolCallStarted(2, "f", "p1"),
        ToolCallDelta(2, '{"a"'),
        ToolCallStarted(3, "g", "", "ours"),
        ToolCallDelta(2, ":1}"),
        UsageReport(Usage(10, 4, None, 5, 2)),
        Finished("tool_calls"),
    )
    answer = sdk_answer(stream)
    message = answer.choices[0].message
    assert message.content == "said\u2028\r\n"
    assert (message.model_extra or {})["reasoning_content"] == "think"
    assert sdk_calls(answer) == [("p1", "f", '{"a":1}'), ("ours", "g", "")]
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (10, 5, 15)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 4


def test_the_order_on_the_wire_is_the_providers():
    events = [event.data for event in SseReader().feed(write(UsageReport(Usage(1, None, None, 2)), Finished("finished"), TextDelta(0, "x")))]
    assert [('"role"' in event, '"usage"' in event, '"finish_reason":"stop"' in event, event == "[DONE]") for event in events] == [
        (True, False, False, False),
        (False, False, True, False),
        (False, True, False, False),
        (False, False, False, True),
    ]


def test_a_stream_without_finished_is_cut_and_one_that_failed_says_so():
    assert isinstance(read([write(TextDelta(0, "x"))])[-1], StreamFailed)
    stream = write(TextDelta(0, "x"), StreamFailed("upstream-error", "It broke."), TextDelta(0, "y"), Finished("finished"))
    deltas = read([stream])
    assert isinstance(deltas[-1], StreamFailed)
    assert fold(deltas).parts() == (Text("x"),)


def test_what_the_format_has_no_word_for_is_left_out():
    assert write(OpaqueBlock(0, "f", "p", "{}"), ToolCallDelta(7, "no such call")) == b""


said = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
answers = st.builds(
    lambda reasoning, text, calls, stop: (reasoning, text, calls, stop),
    st.lists(said, max_size=3),
    st.lists(said, max_size=3),
    st.lists(st.tuples(st.from_regex("[a-z_]{1,8}", fullmatch=True), st.lists(said, max_size=3)), max_size=3),
    st.sampled_from(["finished", "length", "refused"]),
)


@settings(max_examples=300, deadline=None)
@given(answers, st.none() | st.builds(Usage, *[st.none() | st.integers(0, 99)] * 5))
def test_what_is_written_is_read_back(answer: tuple[list[str], list[str], list[tuple[str, list[str]]], str], usage: Usage | None):
    reasoning, text, calls, stop = answer
    deltas: list[Delta] = [*(ReasoningDelta(0, piece) for piece in reasoning), *(TextDelta(1, piece) for piece in text)]
    for index, (name, arguments) in enumerate(calls):
        deltas += [ToolCallStarted(2 + index, name, f"id{index}"), *(ToolCallDelta(2 + index, piece) for piece in arguments)]
    deltas += [UsageReport(usage)] if usage is not None else []
    found = fold(read([write(*deltas, Finished("tool_calls" if calls else stop))]))
    assert found.finished is not None
    assert found.finished.stop_reason == ("tool_calls" if calls else stop)
    expected: list[Part] = [Reasoning("".join(reasoning))] if reasoning else []
    expected += [Text("".join(text))] if text else []
    expected += [ToolCall("", name, "".join(arguments), f"id{index}") for index, (name, arguments) in enumerate(calls)]
    assert found.parts() == tuple(expected)
    if usage is not None:
        assert found.usage == Usage(usage.input or 0, usage.cached, usage.cache_write, usage.output or 0, usage.reasoning)
