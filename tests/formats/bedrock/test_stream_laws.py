"""Laws of reading Converse streams that are its own: no shape breaks it, and every recorded stream says what the SDK reads."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EventStreamError
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.deltas import Finished, StreamFailed
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.bedrock.rules import STOP_REASONS
from app.formats.framing.aws import FrameReader
from tests.formats.bedrock.judge import assembled, client
from tests.formats.bedrock.streams import END, METADATA, START, delta, event, exception, fold, read, recorded
from tests.formats.shapes import anything, objects

calls = objects("toolUseId", "name", "input", type=st.just("server_tool_use"))
starts = objects(toolUse=calls, toolResult=objects("toolUseId", "type"), image=objects("format"))
thoughts = objects("text", "signature", "redactedContent")
said = objects("text", "citation", "image", toolUse=calls, reasoningContent=thoughts, toolResult=st.lists(objects("text", "json"), max_size=2))
indexes = st.integers(0, 2)
shaped = st.one_of(
    st.tuples(st.just("contentBlockStart"), st.fixed_dictionaries({"contentBlockIndex": indexes, "start": starts})),
    st.tuples(st.just("contentBlockDelta"), st.fixed_dictionaries({"contentBlockIndex": indexes, "delta": said})),
    st.tuples(st.just("contentBlockStop"), st.fixed_dictionaries({"contentBlockIndex": anything})),
    st.tuples(st.just("messageStop"), st.fixed_dictionaries({"stopReason": anything})),
    st.tuples(st.just("metadata"), st.fixed_dictionaries({"usage": objects("inputTokens", "cacheReadInputTokens")})),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(shaped, max_size=6))
def test_no_shape_of_event_breaks_the_reader(events: list[tuple[str, dict[str, Any]]]):
    found = read([*[event(name, **value) for name, value in events], END, METADATA])
    assert isinstance(found[-1], Finished | StreamFailed)
    for part in fold(found).parts():
        if isinstance(part, Opaque):
            json.loads(part.block)


@pytest.mark.req("X-90")
def test_every_recorded_stream_says_what_the_sdk_reads_from_it(shared: Path):
    streams = recorded(shared)
    assert len(streams) >= 14
    for name, stream in streams.items():
        answer, expected = fold(read([stream])), assembled(client().events(stream))
        assert answer.failed is None, name
        assert answer.finished is not None, name
        parts = answer.parts()
        assert "".join(part.text for part in parts if isinstance(part, Text)) == expected["text"], name
        assert "".join(part.text for part in parts if isinstance(part, Reasoning)) == expected["reasoning"], name
        made = [[part.provider_id, part.name, part.arguments] for part in parts if isinstance(part, ToolCall)]
        assert made == [call[1:] for call in expected["calls"]], name
        signed = [json.loads(part.opaque)["reasoningContent"] for part in parts if isinstance(part, Reasoning) and part.opaque]
        assert [block["reasoningText"]["signature"] for block in signed] == expected["signatures"], name
        assert (answer.finished.native, answer.finished.stop_reason) == (expected["stop"], STOP_REASONS[expected["stop"]]), name
        usage = None if answer.usage is None else (answer.usage.input, answer.usage.output)
        assert usage == (expected["usage"] and (expected["usage"]["inputTokens"], expected["usage"]["outputTokens"])), name


@pytest.mark.req("X-90")
def test_streams_of_another_api_are_framed_whole_and_are_no_answer(shared: Path):
    """InvokeModel's streams carry each vendor's own events in `chunk` frames: this dialect never asks for them."""
    others = [path for path in (shared / "corpus" / "streams" / "bedrock").glob("*.bin") if b"messageStop" not in path.read_bytes()]
    assert len(others) == 2
    for path in others:
        assert {frame.headers[":event-type"] for frame in FrameReader().feed(path.read_bytes())} == {"chunk"}
        assert read([path.read_bytes()]) == [StreamFailed("stream-truncated", "The stream ended without its stop event.", True)]


def test_the_sdk_fails_where_we_do():
    stream = START + delta(0, text="x") + exception("throttlingException")
    assert isinstance(read([stream])[-1], StreamFailed)
    with pytest.raises(EventStreamError):
        client().events(stream)


@pytest.mark.req("X-90")
def test_reading_costs_little_more_than_parsing_the_same_events():
    """At most 1.5 times `json.loads` of the payloads (issue 3, 8), in the calmest of some rounds."""
    stream = b"".join([START, *[delta(0, text=f"word {n} ") for n in range(2_000)], END, METADATA])
    payloads = [frame.payload for frame in FrameReader().feed(stream)]
    pieces = [stream[i : i + 4_096] for i in range(0, len(stream), 4_096)]
    ratios = []
    for _ in range(25):
        begin = time.perf_counter()
        read(pieces)
        middle = time.perf_counter()
        for payload in payloads:
            json.loads(payload)
        ratios.append((middle - begin) / (time.perf_counter() - middle))
    assert min(ratios) < 1.5, ratios
