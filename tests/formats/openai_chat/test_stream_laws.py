"""Laws of reading Chat streams: cut anywhere, broken anywhere, any shape, and every recorded stream."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.deltas import Finished, StreamFailed
from app.entries.parts import Reasoning, Text, ToolCall
from app.formats.framing.sse import SseReader
from tests.formats.openai_chat.judge import sdk_answer, sdk_calls
from tests.formats.openai_chat.streams import DONE, STOP, call, chunk, data, fold, read, recorded

TOOLS = chunk({}, "tool_calls")
FRAGMENTS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "é🌍\u2028 nul \x00"}),
    chunk({"reasoning_content": "th"}),
    call(0, "a", "f", '{"x"'),
    call(0, None, None, ":1}"),
    call(1, "b", "g", "{}"),
    b": comment\r\n\r\n",
    chunk({"content": "x"}).replace(b"\n", b"\r\n"),
    data({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
]
FAILS_ITSELF = {"groq/test_tool_use_failed_error_streaming.0.sse.txt"}
NO_REASON = {"snowflake/test_snowflake_thinking_streaming.0.sse.txt"}


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    return [stream[a:b] for a, b in pairwise([0, *sorted(places), len(stream)])]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.data())
def test_bytes_may_be_cut_anywhere(fragments: list[bytes], drawn: st.DataObject):
    stream = b"".join([*fragments, TOOLS, DONE])
    places = drawn.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    assert read(cut(stream, places)) == read([stream]) == read([stream[i : i + 1] for i in range(len(stream))])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.data())
def test_broken_off_anywhere_before_the_finish_reason_it_failed_and_nothing_follows(fragments: list[bytes], drawn: st.DataObject):
    body = b"".join(fragments) + TOOLS
    deltas = read([body[: drawn.draw(st.integers(0, len(body) - 1))]])
    assert isinstance(deltas[-1], StreamFailed)
    assert sum(isinstance(delta, Finished | StreamFailed) for delta in deltas) == 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(noise: bytes):
    assert isinstance(read([noise])[-1], StreamFailed)
    assert isinstance(read([b"data: " + noise + b"\n\n"])[-1], StreamFailed)


plain = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
anything = st.recursive(plain, lambda inner: st.lists(inner, max_size=3), max_leaves=5)


def objects(*keys: str, **shapes: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Anything, or an object with some of these keys, each of them of its shape or of any."""
    return anything | st.fixed_dictionaries({}, optional=dict.fromkeys(keys, anything) | {key: anything | shape for key, shape in shapes.items()})


pieces = objects("index", "id", "type", "text", "thinking", "extra_content", function=objects("name", "arguments"))
listed = st.lists(pieces, max_size=3)
deltas_of_any_shape = objects("role", "reasoning", "refusal", content=listed, tool_calls=listed, reasoning_details=listed, function_call=pieces)
choices = st.lists(objects("index", "finish_reason", delta=deltas_of_any_shape), max_size=2)
chunks = objects("error", "object", usage=objects("prompt_tokens", "prompt_tokens_details"), x_groq=objects("usage", "error"), choices=choices)


@settings(max_examples=300, deadline=None)
@given(st.lists(chunks, max_size=4))
def test_no_shape_of_chunk_breaks_the_reader(values: list[object]):
    found = read([data(value) for value in values] + [STOP, DONE])
    assert isinstance(found[-1], Finished | StreamFailed)
    fold(found).parts()


@pytest.mark.req("X-90")
def test_every_recorded_stream_is_read_to_its_end(shared: Path):
    streams = recorded(shared)
    assert len(streams) >= 50
    for name, stream in streams.items():
        answer = fold(read([stream]))
        if name in FAILS_ITSELF:
            assert answer.failed is not None
            continue
        assert answer.failed is None, name
        assert answer.finished is not None, name
        assert any(isinstance(part, Text | ToolCall) for part in answer.parts()), name


@pytest.mark.req("X-90")
def test_recorded_streams_say_what_the_sdk_reads_from_them(shared: Path):
    compared = 0
    for name, stream in recorded(shared).items():
        if name.split("/")[0] not in ("openai", "azure", "groq", "deepseek", "crusoe") or name in FAILS_ITSELF:
            continue
        whole = sdk_answer(stream)
        expected = whole.choices[0].message
        parts = fold(read([stream])).parts()
        assert "".join(part.text for part in parts if isinstance(part, Text)) == (expected.content or "") + (expected.refusal or ""), name
        calls = [(part.provider_id, part.name, part.arguments) for part in parts if isinstance(part, ToolCall)]
        assert calls == sdk_calls(whole), name
        reasoning = "".join(part.text for part in parts if isinstance(part, Reasoning))
        extra = expected.model_extra or {}
        assert reasoning == (extra.get("reasoning_content") or extra.get("reasoning") or ""), name
        compared += 1
    assert compared >= 20


@pytest.mark.req("X-90")
def test_recorded_streams_may_be_cut_at_every_byte(shared: Path):
    """Each of the small ones at every byte; the large ones at a sample of places, prime steps apart."""
    for name, stream in recorded(shared).items():
        whole = read([stream])
        step = 1 if len(stream) < 2_000 else len(stream) // 40 | 1
        for place in range(0, len(stream), step):
            assert read([stream[:place], stream[place:]]) == whole, (name, place)
        small = 7 if len(stream) < 60_000 else 1_009
        assert read([stream[i : i + small] for i in range(0, len(stream), small)]) == whole, name


@pytest.mark.req("X-90")
def test_recorded_streams_broken_off_before_their_finish_reason_failed(shared: Path):
    for name, stream in recorded(shared).items():
        if name in FAILS_ITSELF | NO_REASON:
            continue
        for place in range(0, _finish(stream), max(1, len(stream) // 25)):
            last = read([stream[:place]])[-1]
            assert isinstance(last, StreamFailed), (name, place)
            assert last.code == "stream-truncated", (name, place)


def _finish(stream: bytes) -> int:
    """Where the event with the first finish reason begins."""
    for place in (i for i in range(len(stream)) if stream.startswith(b"data:", i)):
        event = SseReader().feed(stream[place : stream.find(b"\n\n", place) + 2] or stream[place:] + b"\n\n")
        if event and '"finish_reason":' in event[0].data.replace(" ", "") and '"finish_reason":null' not in event[0].data.replace(" ", ""):
            return place
    return len(stream)
