"""Deltas to a Converse stream: read back by our reader as they were, and by the SDK's own client."""

import json

import pytest
from botocore.exceptions import EventStreamError
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
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.bedrock.write_stream import ConverseStreamWriter
from app.formats.framing.aws import FrameReader
from tests.formats.bedrock.judge import assembled, client
from tests.formats.bedrock.streams import PRODUCER, fold, read


def write(*deltas: Delta) -> bytes:
    writer = ConverseStreamWriter("m", "stream-1", 1_764_400_000)
    return b"".join(writer.write(delta) for delta in deltas) + writer.end()


def signed(text: str, signature: str) -> str:
    return json.dumps({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.req("X-90")
def test_the_official_client_reads_it():
    stream = write(
        ReasoningDelta(0, "think"),
        PartBlock(0, signed("think", "c2ln"), PRODUCER),
        TextDelta(1, "said\u2028\r\n"),
        ToolCallStarted(2, "f", "p1"),
        ToolCallDelta(2, '{"a"'),
        ToolCallStarted(3, "g", "", "ours"),
        ToolCallDelta(2, ":1}"),
        UsageReport(Usage(10, 4, None, 5, 2)),
        Finished("tool_calls"),
    )
    found = assembled(client().events(stream))
    assert (found["text"], found["reasoning"], found["signatures"]) == ("said\u2028\r\n", "think", ["c2ln"])
    assert found["calls"] == [[2, "p1", "f", '{"a":1}'], [3, "ours", "g", ""]]
    assert found["stop"] == "tool_use"
    assert found["usage"] == {"inputTokens": 6, "outputTokens": 5, "totalTokens": 15, "cacheReadInputTokens": 4}


def test_the_order_on_the_wire_is_the_providers():
    stream = write(UsageReport(Usage(1, None, None, 2)), Finished("finished"), TextDelta(0, "x"), ToolCallStarted(1, "f", "t"))
    assert [frame.headers[":event-type"] for frame in FrameReader().feed(stream)] == [
        "messageStart",
        "contentBlockDelta",
        "contentBlockStop",
        "contentBlockStart",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]


@pytest.mark.parametrize(
    ("code", "retryable"), [("upstream-error", True), ("upstream-rate-limited", True), ("upstream-overflow", False), ("upstream-auth", True)]
)
def test_a_stream_without_finished_is_cut_and_one_that_failed_says_so(code: str, retryable: bool):
    assert isinstance(read([write(TextDelta(0, "x"))])[-1], StreamFailed)
    stream = write(TextDelta(0, "x"), StreamFailed(code, "It broke."), TextDelta(0, "y"), Finished("finished"))
    deltas = read([stream])
    failed = deltas[-1]
    assert isinstance(failed, StreamFailed)
    assert (failed.code, failed.retryable) == ("upstream-error" if code == "upstream-auth" else code, retryable)
    assert fold(deltas).parts() == (Text("x"),)
    with pytest.raises(EventStreamError):
        client().events(stream)


def test_a_failure_in_the_providers_own_word_is_said_in_it():
    assert read([write(StreamFailed("throttlingException", "x"))]) == [
        StreamFailed("upstream-rate-limited", "The stream ended with an error (throttlingException).", True)
    ]


def test_what_the_format_has_no_word_for_is_left_out():
    blocks = ["{}", '{"image":{}}', "no json", "[]"]
    assert write(*[OpaqueBlock(0, "f", "p", block) for block in blocks], ToolCallDelta(7, "no such call")) == b""
    assert write(*[PartBlock(0, block, "p") for block in [*blocks, '{"reasoningContent":{"reasoningText":{"text":"x"}}}']]) == b""


@pytest.mark.req("X-23")
@pytest.mark.parametrize(
    ("delta", "part"),
    [
        (
            PartBlock(0, '{"reasoningContent":{"redactedContent":"YQ=="}}', PRODUCER),
            Reasoning("", '{"reasoningContent":{"redactedContent":"YQ=="}}', PRODUCER),
        ),
        (
            OpaqueBlock(0, "bedrock-converse", PRODUCER, '{"toolUse":{"toolUseId":"s","name":"n","type":"server_tool_use","input":{"e":1e2}}}', "n"),
            Opaque("bedrock-converse", PRODUCER, '{"toolUse":{"toolUseId":"s","name":"n","type":"server_tool_use","input":{"e":1e2}}}', "n"),
        ),
        (
            OpaqueBlock(0, "bedrock-converse", PRODUCER, '{"toolResult":{"toolUseId":"s","type":"r","content":[{"json":{"e":1e2}}]}}', "r"),
            Opaque("bedrock-converse", PRODUCER, '{"toolResult":{"toolUseId":"s","type":"r","content":[{"json":{"e":1e2}}]}}', "r"),
        ),
    ],
)
def test_a_providers_blocks_are_read_back_as_they_were(delta: Delta, part: Part):
    assert fold(read([write(delta, Finished("finished"))])).parts() == (part,)


def test_cited_text_is_read_back():
    block = '{"citationsContent":{"content":[{"text":"x"}],"citations":[{"title":"t"}]}}'
    found = fold(read([write(TextDelta(0, "x"), PartBlock(0, block, PRODUCER), TextDelta(1, "y"), Finished("finished"))]))
    assert found.parts() == (Text("x", None, block, PRODUCER), Text("y"))


said = st.text(min_size=1, max_size=8)
thoughts = st.tuples(st.lists(said, min_size=1, max_size=3), st.none() | st.text("abcXYZ+/=", min_size=1, max_size=8))
calls = st.lists(st.tuples(st.from_regex("[a-z_]{1,8}", fullmatch=True), st.lists(said, max_size=3)), max_size=3)
stops = st.sampled_from(["finished", "length", "refused", "window_full", "malformed"])
usages = st.none() | st.builds(Usage, st.integers(50, 99), *[st.none() | st.integers(0, 20)] * 2, st.integers(0, 99))


@settings(max_examples=300, deadline=None)
@given(st.none() | thoughts, st.lists(said, max_size=3), calls, stops, usages)
def test_what_is_written_is_read_back(
    thought: tuple[list[str], str | None] | None, text: list[str], made: list[tuple[str, list[str]]], stop: str, usage: Usage | None
):
    deltas: list[Delta] = []
    expected: list[Part] = []
    if thought is not None:
        whole, signature = "".join(thought[0]), thought[1]
        deltas += [ReasoningDelta(0, piece) for piece in thought[0]]
        deltas += [PartBlock(0, signed(whole, signature), PRODUCER)] if signature else []
        expected.append(Reasoning(whole, signed(whole, signature) if signature else None, PRODUCER if signature else None))
    deltas += [TextDelta(1, piece) for piece in text]
    expected += [Text("".join(text))] if text else []
    for index, (name, arguments) in enumerate(made):
        deltas += [ToolCallStarted(2 + index, name, f"id{index}"), *(ToolCallDelta(2 + index, piece) for piece in arguments)]
        expected.append(ToolCall("", name, "".join(arguments), f"id{index}"))
    deltas += [UsageReport(usage)] if usage is not None else []
    stop = "tool_calls" if made else stop
    found = fold(read([write(*deltas, Finished(stop))]))
    assert found.finished is not None
    assert found.finished.stop_reason == stop
    assert [_plain(part) for part in found.parts()] == [_plain(part) for part in expected]
    if usage is not None:
        assert found.usage == usage


def _plain(part: Part) -> Part:
    """A block's text may be escaped in one way or another; what it says counts."""
    if isinstance(part, Reasoning) and part.opaque is not None:
        return Reasoning(part.text, repr(json.loads(part.opaque)), part.producer)
    return part
