"""Laws of reading Messages streams: cut anywhere, broken anywhere, any shape, and every recorded stream as the official SDK reads it."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries import lossless
from app.entries.answer import AnswerFold
from app.entries.deltas import Finished, StreamFailed
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from tests.formats.anthropic.judge import plain, sdk_answer
from tests.formats.anthropic.streams import END, PING, PRODUCER, begin, call, event, finish, fold, read, recorded, start, stop, text, thinking

FRAGMENTS = [
    PING,
    text(0, "é🌍\u2028 nul \x00", "x"),
    thinking(1, "th", "S"),
    call(2, "a", "f", '{"x"', ":1}"),
    start(3, type="server_tool_use", id="s", name="n", input={}) + stop(3),
    b": comment\r\n\r\n",
    text(4, "y").replace(b"\n", b"\r\n"),
    event("message_delta", delta={}, usage={"output_tokens": 4}),
]
SECOND_ANSWER = {"aisdk-spliced-message-start.chunks.txt"}
"""Made malformed on purpose: a gateway that tries again in the middle of an answer. The SDK puts the second one's pieces into the first's blocks."""


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    return [stream[a:b] for a, b in pairwise([0, *sorted(places), len(stream)])]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.data())
def test_bytes_may_be_cut_anywhere(fragments: list[bytes], drawn: st.DataObject):
    stream = b"".join([begin(), *fragments, finish("tool_use")])
    places = drawn.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    assert read(cut(stream, places)) == read([stream]) == read([stream[i : i + 1] for i in range(len(stream))])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.data())
def test_broken_off_anywhere_before_its_end_it_failed_and_nothing_follows(fragments: list[bytes], drawn: st.DataObject):
    body = b"".join([begin(), *fragments, finish()]).rstrip(b"\n")
    deltas = read([body[: drawn.draw(st.integers(0, len(body) - 1))]])
    assert isinstance(deltas[-1], StreamFailed)
    assert sum(isinstance(each, Finished | StreamFailed) for each in deltas) == 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(noise: bytes):
    assert isinstance(read([noise])[-1], StreamFailed)
    assert isinstance(read([b"data: " + noise + b"\n\n"])[-1], StreamFailed)


values = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
anything = st.recursive(values, lambda inner: st.lists(inner, max_size=3), max_leaves=5)


def objects(*keys: str, **shapes: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Anything, or an object with some of these keys, each of them of its shape or of any."""
    return anything | st.fixed_dictionaries({}, optional=dict.fromkeys(keys, anything) | {key: anything | shape for key, shape in shapes.items()})


block_types = st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "news"])
delta_types = st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "news_delta"])
blocks = objects("text", "thinking", "signature", "id", "name", "input", "data", "citations", type=block_types)
pieces = objects("text", "thinking", "signature", "partial_json", "citation", "stop_reason", type=delta_types)
events = objects(
    type=st.sampled_from(["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"]),
    index=st.integers(0, 2),
    content_block=blocks,
    delta=pieces,
    message=objects("id", usage=objects("input_tokens", "output_tokens", "output_tokens_details")),
    usage=objects("input_tokens", "cache_read_input_tokens"),
    error=objects("type", "message", "details"),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(events, max_size=6))
def test_no_shape_of_event_breaks_the_reader(given_events: list[object]):
    found = read([b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in given_events) + END])
    assert isinstance(found[-1], Finished | StreamFailed)
    fold(found).parts()
    read([json.dumps({"content": given_events}).encode()])


@pytest.mark.req("X-90")
def test_recorded_streams_say_what_the_sdk_reads_from_them(shared: Path):
    compared = 0
    for name, stream in recorded(shared).items():
        answer = fold(read([stream]))
        if name in SECOND_ANSWER:
            assert answer.failed is not None
            assert answer.failed.code == "stream-truncated"
            continue
        assert answer.failed is None, name
        whole = sdk_answer(stream)
        said = [as_block(part) for part in answer.parts()]
        assert said == [told for told in map(as_told, whole.content) if told is not None], name
        assert answer.finished is not None, name
        assert answer.finished.native == whole.stop_reason, name
        assert_usage(answer, whole.usage, name)
        compared += 1
    assert compared >= 44


def as_block(part: Part) -> Any:
    """A part as the block that it came as, by what would go back."""
    match part:
        case Text(said, _, opaque):
            return plain(json.loads(opaque)) if opaque else {"type": "text", "text": said}
        case Reasoning(said, opaque):
            found = plain(json.loads(opaque or '{"type":"thinking","signature":""}'))
            return found if found["type"] == "redacted_thinking" else {**found, "thinking": said}
        case ToolCall():
            beside = json.loads(part.opaque or "{}")
            return {"type": "tool_use", "id": part.provider_id, "name": part.name, "input": repaired(part.arguments), **beside}
        case Opaque():
            assert part.producer == PRODUCER
            return plain(lossless.loads(part.block))
        case other:
            raise AssertionError(other)


def repaired(arguments: str) -> Any:
    """The SDK shows what it could read of a call that was cut."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return "cut"


def as_told(block: Any) -> Any:
    """A block of the SDK's as the same; None for one that says nothing."""
    told = plain(block.to_dict())
    told.pop("parsed_output", None)
    if told["type"] == "text" and not told.get("citations"):
        return {"type": "text", "text": told["text"]} if told["text"] else None
    if told["type"] == "thinking":
        return {"signature": "", **told} if told["thinking"] or told.get("signature") else None
    if told["type"] == "tool_use" and told["name"] == "make_file":
        told["input"] = "cut"
    return told


def assert_usage(answer: AnswerFold, usage: Any, name: str) -> None:
    found = answer.usage
    assert found is not None, name
    read_tokens, written_tokens = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    assert (found.cached, found.cache_write, found.output) == (read_tokens, written_tokens, usage.output_tokens), name
    assert found.input == usage.input_tokens + (read_tokens or 0) + (written_tokens or 0), name
    assert found.reasoning == (None if usage.output_tokens_details is None else usage.output_tokens_details.thinking_tokens), name


@pytest.mark.req("X-90")
def test_recorded_streams_may_be_cut_at_every_byte(shared: Path):
    """Each of the small ones at every byte; the large ones at a sample of places, prime steps apart."""
    for name, stream in recorded(shared).items():
        whole = read([stream])
        step = 1 if len(stream) < 1_500 else len(stream) // 40 | 1
        for place in range(0, len(stream), step):
            assert read([stream[:place], stream[place:]]) == whole, (name, place)
        small = 7 if len(stream) < 30_000 else 1_009
        assert read([stream[i : i + small] for i in range(0, len(stream), small)]) == whole, name


@pytest.mark.req("X-90")
def test_recorded_streams_broken_off_before_their_end_failed_and_keep_what_was_said(shared: Path):
    for name, stream in recorded(shared).items():
        whole = "".join(part.text for part in fold(read([stream])).parts() if isinstance(part, Text))
        end = stream.rfind(b"message_stop") if name not in SECOND_ANSWER else 600
        for place in range(0, end, max(1, len(stream) // 25)):
            deltas = read([stream[:place]])
            last = deltas[-1]
            assert isinstance(last, StreamFailed), (name, place)
            assert last.code == "stream-truncated", (name, place)
            said = "".join(part.text for part in fold(deltas).parts() if isinstance(part, Text))
            assert whole.startswith(said), (name, place)
