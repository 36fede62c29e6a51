"""Deltas to a Responses stream: read back by our reader as they were, and by the SDK's own client."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.deltas import (
    Delta,
    Finished,
    OpaqueBlock,
    PartBlock,
    ReasoningDelta,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall, with_block
from app.formats.framing.sse import SseReader
from app.formats.openai_responses.write_stream import ResponsesStreamWriter
from tests.formats.openai_responses.judge import event_judge, sdk_answer, sdk_calls, sdk_reasoning, sdk_text
from tests.formats.openai_responses.streams import call, fold, message, read, reasoning, whole

SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}


def write(*deltas: Delta) -> bytes:
    writer = ResponsesStreamWriter("m", "scripted-3", 1_764_400_000)
    return b"".join(writer.write(delta) for delta in deltas) + writer.end()


def bare(parts: tuple[Part, ...]) -> list[Part]:
    """The parts without what the provider put beside them."""
    return [with_block(part, None, None) for part in parts]


def types(stream: bytes) -> list[str]:
    events = SseReader().feed(stream)
    assert [json.loads(event.data)["sequence_number"] for event in events] == list(range(len(events)))
    assert [json.loads(event.data)["type"] for event in events] == [event.name for event in events]
    return [event.name.removeprefix("response.") for event in events]


@pytest.mark.req("X-90")
def test_the_official_client_reads_it():
    stream = write(
        ReasoningDelta(0, "think"),
        TextDelta(1, "said\u2028\r\n"),
        ToolCallStarted(2, "f", "p1"),
        ToolCallDelta(2, '{"a"'),
        ToolCallStarted(3, "g", "", "ours"),
        ToolCallDelta(2, ":1}"),
        UsageReport(Usage(10, 4, 1, 5, 2)),
        Finished("tool_calls"),
    )
    for event in SseReader().feed(stream):
        event_judge().validate_json(event.data)
    answer = sdk_answer(stream)
    assert sdk_text(answer) == "said\u2028\r\n"
    assert sdk_reasoning(answer) == ["think"]
    assert sdk_calls(answer) == [("p1", "f", '{"a":1}'), ("ours", "g", "")]
    assert answer.status == "completed"
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (10, 5, 15)
    assert (answer.usage.input_tokens_details.cached_tokens, answer.usage.output_tokens_details.reasoning_tokens) == (4, 2)


def test_the_order_on_the_wire_is_the_providers():
    stream = write(UsageReport(Usage(1, None, None, 2)), Finished("finished"), ReasoningDelta(0, "t"), TextDelta(1, "x"), TextDelta(1, "y"))
    assert types(stream) == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_a_stream_without_finished_is_cut_and_one_that_failed_says_so():
    assert isinstance(read([write(TextDelta(0, "x"))])[-1], StreamFailed)
    stream = write(TextDelta(0, "x"), StreamFailed("server_error", "It broke."), TextDelta(0, "y"), Finished("finished"))
    assert types(stream)[-1] == "error"
    deltas = read([stream])
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].retryable
    assert fold(deltas).parts() == (Text("x"),)
    assert isinstance(read([write(StreamFailed("upstream-error", "It broke."))])[-1], StreamFailed)


def test_an_answer_of_nothing_has_its_ends():
    assert types(write(Finished("finished"))) == ["created", "in_progress", "completed"]


@pytest.mark.parametrize("stop", ["length", "refused", "other", "paused"])
def test_an_unfinished_answer_is_incomplete(stop: str):
    stream = write(TextDelta(0, "x"), Finished(stop, "why"))
    assert types(stream)[-1] == "incomplete"
    finished = fold(read([stream])).finished
    assert finished is not None
    assert finished.stop_reason == (stop if stop in ("length", "refused") else "other")


def test_what_the_format_has_no_word_for_is_left_out():
    assert write(OpaqueBlock(0, "f", "p", "{}"), OpaqueBlock(0, "f", "p", "not json"), ToolCallDelta(7, "no such call")) == b""
    assert types(write(TextDelta(0, "x"), ToolCallStarted(0, "f"), ToolCallDelta(0, "{}"), Finished("finished"))).count("output_item.added") == 1


PRODUCER = "openai-responses/openai/m"


@pytest.mark.req("X-23")
def test_blocks_come_back_as_they_were():
    items = [reasoning("rs_9", "E9", "Why.", "And."), message("said", id="msg_9", phase="commentary"), SEARCH, call("c9", '{"a":1}', id="fc_9")]
    deltas = read([whole(*items)])
    again = read([write(*deltas)])
    assert fold(again).parts() == fold(deltas).parts()
    assert [type(part) for part in fold(again).parts()] == [Reasoning, Text, Opaque, ToolCall]


said = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
pieces = st.lists(said, min_size=1, max_size=3)
spoken = st.one_of(
    st.tuples(st.just("reasoning"), pieces),
    st.tuples(st.just("text"), pieces),
    st.tuples(st.from_regex("[a-z_]{1,8}", fullmatch=True), st.lists(said, max_size=3)),
    st.tuples(st.just("block"), st.none()),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(spoken, max_size=5),
    st.sampled_from(["finished", "length", "refused"]),
    st.none() | st.builds(Usage, *[st.none() | st.integers(0, 99)] * 5),
    st.booleans(),
)
def test_what_is_written_is_read_back(answer: list[tuple[str, list[str] | None]], stop: str, usage: Usage | None, alternate: bool):
    """Fragments of the calls may alternate; everything else comes one after another."""
    deltas: list[Delta] = []
    late: list[Delta] = []
    expected: list[Part] = []
    called = False
    for part, (kind, texts) in enumerate(answer):
        if texts is None:
            deltas.append(OpaqueBlock(part, "openai-responses", PRODUCER, json.dumps(SEARCH, separators=(",", ":")), "web_search_call"))
            expected.append(Opaque("openai-responses", PRODUCER, json.dumps(SEARCH, separators=(",", ":")), "web_search_call"))
        elif kind == "reasoning":
            deltas += [ReasoningDelta(part, piece) for piece in texts]
            expected.append(Reasoning("".join(texts)))
        elif kind == "text":
            deltas += [TextDelta(part, piece) for piece in texts]
            expected.append(Text("".join(texts)))
        else:
            called = True
            deltas.append(ToolCallStarted(part, kind, f"id{part}"))
            (late if alternate else deltas).extend(ToolCallDelta(part, piece) for piece in texts)
            expected.append(ToolCall("", kind, "".join(texts), f"id{part}"))
    deltas += late + ([UsageReport(usage)] if usage is not None else [])
    stop = "tool_calls" if called and stop == "finished" else stop
    found = fold(read([write(*deltas, Finished(stop))]))
    assert found.finished is not None
    assert found.finished.stop_reason == stop
    assert bare(found.parts()) == expected
    if usage is not None:
        assert found.usage == Usage(usage.input or 0, usage.cached, usage.cache_write, usage.output or 0, usage.reasoning)


def test_a_block_that_comes_before_any_word_of_its_part_begins_it():
    block = json.dumps(reasoning("rs_9", "E9"), separators=(",", ":"))
    parts = fold(read([write(PartBlock(0, block, PRODUCER), TextDelta(1, "x"), Finished("finished"))])).parts()
    assert parts[0] == Reasoning("", block, PRODUCER)
