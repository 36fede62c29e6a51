"""Deltas to a Messages stream: read back by our reader as they were, and by the SDK's own client."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries import lossless
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
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.anthropic.write_stream import MessagesStreamWriter
from app.formats.framing.sse import SseReader
from tests.formats.anthropic.judge import sdk_answer
from tests.formats.anthropic.streams import PRODUCER, fold, read


def write(*deltas: Delta) -> bytes:
    writer = MessagesStreamWriter("m", "msg_1", 1_764_400_000)
    return b"".join(writer.write(each) for each in deltas) + writer.end()


def signed(said: str, signature: str = "SIG") -> str:
    return lossless.dumps({"type": "thinking", "thinking": said, "signature": signature})


@pytest.mark.req("X-90")
def test_the_official_client_reads_it():
    stream = write(
        ReasoningDelta(0, "think"),
        PartBlock(0, signed("think"), PRODUCER),
        TextDelta(1, "said\u2028\r\n"),
        ToolCallStarted(2, "f", "p1"),
        ToolCallDelta(2, '{"a"'),
        ToolCallStarted(3, "g", "", "ours"),
        ToolCallDelta(2, ":1}"),
        UsageReport(Usage(10, 4, 1, 5, 2)),
        Finished("tool_calls"),
    )
    answer = sdk_answer(stream)
    content: list[Any] = [block.to_dict() for block in answer.content]
    assert content[0] == {"type": "thinking", "thinking": "think", "signature": "SIG"}
    assert content[1]["text"] == "said\u2028\r\n"
    assert [(block["id"], block["name"], block["input"]) for block in content[2:]] == [("p1", "f", {"a": 1}), ("ours", "g", {})]
    assert answer.stop_reason == "tool_use"
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens) == (5, 4, 1, 5)


def test_the_order_on_the_wire_is_the_providers():
    stream = write(
        UsageReport(Usage(7, None, None, 1)), TextDelta(0, "x"), UsageReport(Usage(7, None, None, 2)), Finished("length"), TextDelta(0, "y")
    )
    events = SseReader().feed(stream)
    assert [event.name for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(json.loads(event.data)["type"] == event.name for event in events)
    assert json.loads(events[0].data)["message"]["usage"] == {"input_tokens": 7, "output_tokens": 1}
    assert json.loads(events[5].data) == {
        "type": "message_delta",
        "delta": {"stop_reason": "max_tokens", "stop_sequence": None},
        "usage": {"input_tokens": 7, "output_tokens": 2},
    }


def test_a_block_ends_where_another_begins_and_what_comes_late_is_a_block_of_its_own():
    deltas = read([write(TextDelta(0, "a"), ToolCallStarted(1, "f", "c1"), TextDelta(0, "b"), ReasoningDelta(2, "c"), Finished("tool_calls"))])
    assert fold(deltas).parts() == (Text("a"), ToolCall("", "f", "", "c1"), Text("b"), Reasoning("c"))


def test_unknown_figures_are_left_out():
    assert fold(read([write(TextDelta(0, "x"), Finished("finished"))])).usage is None
    assert sdk_answer(write(TextDelta(0, "x"), Finished("finished"))).stop_reason == "end_turn"


def test_a_stream_without_finished_is_cut_and_one_that_failed_says_so():
    assert isinstance(read([write(TextDelta(0, "x"), ToolCallStarted(1, "f", "c"))])[-1], StreamFailed)
    stream = write(TextDelta(0, "x"), StreamFailed("overloaded_error", "It broke."), TextDelta(0, "y"), Finished("finished"))
    failed = read([stream])[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.retryable
    assert fold(read([stream])).parts() == (Text("x"),)


def test_what_the_format_has_no_word_for_is_left_out():
    silent: list[Delta] = [OpaqueBlock(0, "gemini", "p", "{}"), OpaqueBlock(0, "anthropic-messages", "p", "[]"), PartBlock(1, "not json", "p")]
    silent += [ToolCallDelta(7, "no such call"), PartBlock(2, '{"signature": 1}', "p")]
    assert write(*silent) == b""
    late = write(TextDelta(0, "a"), TextDelta(1, "b"), PartBlock(0, '{"citations": [1]}', PRODUCER), Finished("finished"))
    assert fold(read([late])).parts() == (Text("a"), Text("b"))


def test_an_answer_of_nothing_and_a_reason_of_nobody():
    assert read([write(Finished("refused"))]) == [Finished("refused", "refusal")]
    assert read([write(Finished("other", "news"))]) == [Finished("other", "news")]


said = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
words = st.lists(said, max_size=3)
names = st.from_regex("[a-z_]{1,8}", fullmatch=True)
citations = st.lists(st.fixed_dictionaries({"type": st.just("char_location"), "cited_text": said, "n": st.integers(0, 9)}), min_size=1, max_size=2)


def whole_text(pieces: list[str], cited: list[dict[str, Any]] | None) -> tuple[list[Delta], Part]:
    text = "".join(pieces)
    block = None if cited is None else lossless.dumps({"type": "text", "text": text, "citations": cited})
    deltas: list[Delta] = [TextDelta(0, piece) for piece in pieces]
    return deltas + ([] if block is None else [PartBlock(0, block, PRODUCER)]), Text(text, None, block, None if block is None else PRODUCER)


def whole_thinking(pieces: list[str], signature: str) -> tuple[list[Delta], Part]:
    block = signed("".join(pieces), signature)
    return [*(ReasoningDelta(0, piece) for piece in pieces), PartBlock(0, block, PRODUCER)], Reasoning("".join(pieces), block, PRODUCER)


def plain_thinking(pieces: list[str]) -> tuple[list[Delta], Part]:
    return [ReasoningDelta(0, piece) for piece in pieces], Reasoning("".join(pieces))


def redacted(data: str) -> tuple[list[Delta], Part]:
    block = lossless.dumps({"type": "redacted_thinking", "data": data})
    return [PartBlock(0, block, PRODUCER)], Reasoning("", block, PRODUCER)


def whole_call(name: str, pieces: list[str], beside: bool) -> tuple[list[Delta], Part]:
    block = '{"caller":{"type":"direct"}}' if beside else None
    deltas: list[Delta] = [ToolCallStarted(0, name, "p_" + name)]
    deltas += [PartBlock(0, block, PRODUCER)] if block else []
    deltas += [ToolCallDelta(0, piece) for piece in pieces]
    return deltas, ToolCall("", name, "".join(pieces), "p_" + name, block, None, PRODUCER if block else None)


def opaque(name: str, count: int) -> tuple[list[Delta], Part]:
    block = lossless.dumps({"type": "server_tool_use", "id": "s", "name": name, "input": {"n": count}})
    made = ("anthropic-messages", PRODUCER, block, "server_tool_use")
    return [OpaqueBlock(0, *made)], Opaque(*made)


whole_parts = st.one_of(
    st.builds(whole_text, st.lists(said, min_size=1, max_size=3), st.none() | citations),
    st.builds(whole_thinking, words, st.from_regex("[A-Za-z0-9+/]{4,8}==", fullmatch=True)),
    st.builds(plain_thinking, st.lists(said, min_size=1, max_size=3)),
    st.builds(redacted, said),
    st.builds(whole_call, names, words, st.booleans()),
    st.builds(opaque, names, st.integers(0, 9)),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(whole_parts, max_size=5),
    st.none() | st.builds(Usage, *[st.none() | st.integers(0, 99)] * 5),
    st.sampled_from(["finished", "length", "refused", "paused", "window_full"]),
)
def test_what_is_written_is_read_back(made: list[tuple[list[Delta], Part]], usage: Usage | None, stop: str):
    placed = [placed_at(index, each) for index, (given, _) in enumerate(made) for each in given]
    reported: list[Delta] = [UsageReport(usage)] if usage is not None else []
    found = fold(read([write(*placed, *reported, Finished(stop))]))
    expected = [part for _, part in made]
    assert found.parts() == tuple(expected)
    assert found.finished is not None
    calls = any(isinstance(part, ToolCall) for part in expected)
    assert found.finished.stop_reason == ("tool_calls" if calls and stop == "finished" else stop)
    assert found.usage == told(usage)


def placed_at(part: int, delta: Any) -> Delta:
    """The delta of another part."""
    moved: Delta = replace(delta, part=part)
    return moved


def told(usage: Usage | None) -> Usage | None:
    """What the format can say of figures: of input alone where it is known, and there no less than what the cache had of it."""
    if usage is None or usage == Usage():
        return None
    if usage.input is None:
        return usage
    return Usage(max(usage.input, (usage.cached or 0) + (usage.cache_write or 0)), *[getattr(usage, key) for key in Usage.__slots__[1:]])
