"""Laws of reading Gemini streams: cut anywhere, broken anywhere, any shape, and every recorded stream."""

import json
from itertools import pairwise
from pathlib import Path
from time import process_time_ns

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.deltas import Finished, StreamFailed
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.framing.sse import SseReader
from tests.formats.gemini.judge import sdk_answer, signature
from tests.formats.gemini.streams import STOP, call, data, event, fold, read, recorded, text

FRAGMENTS = [
    event(text("é🌍\u2028 nul \x00")),
    event(text("hm", thought=True)),
    event(call("f", {"x": 1}, "a", thoughtSignature="Zm9v"), call("g")),
    event(text("", thoughtSignature="Zm9v")).replace(b"\r\n", b"\n"),
    b": comment\r\n\r\n",
    event({"executableCode": {"code": "1"}}),
    event(text("x"), usage={"promptTokenCount": 3, "candidatesTokenCount": 4}).replace(b"\r\n", b"\r"),
]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    return [stream[a:b] for a, b in pairwise([0, *sorted(places), len(stream)])]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.data())
def test_bytes_may_be_cut_anywhere(fragments: list[bytes], drawn: st.DataObject):
    stream = b"".join([*fragments, STOP])
    places = drawn.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    assert read(cut(stream, places)) == read([stream]) == read([stream[i : i + 1] for i in range(len(stream))])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.data())
def test_broken_off_anywhere_before_the_finish_reason_it_failed_and_nothing_follows(fragments: list[bytes], drawn: st.DataObject):
    body = b"".join(fragments) + STOP
    deltas = read([body[: drawn.draw(st.integers(0, len(body) - 3))]])  # without its blank line an event is none
    assert isinstance(deltas[-1], StreamFailed)
    assert sum(isinstance(delta, Finished | StreamFailed) for delta in deltas) == 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(noise: bytes):
    for pieces in ([noise], [b"data: " + noise + b"\n\n"], [b"[" + noise], [b"{" + noise], [event(text("x")), b"{" + noise]):
        assert isinstance(read(pieces)[-1], StreamFailed)


plain = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
anything = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2), max_leaves=5)


def objects(*keys: str, **shapes: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Anything, or an object with some of these keys, each of them of its shape or of any."""
    return anything | st.fixed_dictionaries({}, optional=dict.fromkeys(keys, anything) | {key: anything | shape for key, shape in shapes.items()})


calls = objects("id", "willContinue", name=st.text(max_size=3), args=st.dictionaries(st.sampled_from(["args", "a", "\ud83d"]), anything, max_size=2))
parts = objects("thought", "thoughtSignature", "inlineData", "x", text=st.text(max_size=3), functionCall=calls)
contents = objects("role", parts=st.lists(parts, max_size=3))
candidates = st.lists(objects("index", "finishReason", "finishMessage", "groundingMetadata", content=contents), max_size=2)
chunks = objects(
    "error", usageMetadata=objects("promptTokenCount", "thoughtsTokenCount"), promptFeedback=objects("blockReason"), candidates=candidates
)


@settings(max_examples=500, deadline=None)
@given(st.lists(chunks | st.lists(chunks, min_size=1, max_size=2), max_size=4))
def test_no_shape_of_response_breaks_the_reader(values: list[object]):
    found = read([data(value) for value in values] + [STOP])
    assert isinstance(found[-1], Finished | StreamFailed)
    fold(found).parts()
    single = [one for value in values for one in (value if isinstance(value, list) else [value])]
    whole = read([json.dumps([*single, json.loads(STOP[6:])]).encode()])
    if isinstance(found[-1], Finished):
        assert fold(whole).parts() == fold(found).parts(), "a list of responses says what a stream of them says"


@pytest.mark.req("X-90")
def test_recorded_streams_say_what_the_sdk_reads_from_them(shared: Path):
    streams = recorded(shared)
    assert len(streams) >= 45
    for name, stream in streams.items():
        theirs = sdk_answer(stream)
        answer = fold(read([stream]))
        assert answer.failed is None, name
        assert answer.finished is not None, name
        assert answer.finished.native == theirs.finish_reason, name
        assert (answer.finished.stop_reason == "tool_calls") == bool(theirs.calls), name
        found = answer.parts()
        assert "".join(part.text for part in found if isinstance(part, Text)) == theirs.text, name
        assert "".join(part.text for part in found if isinstance(part, Reasoning)) == theirs.thoughts, name
        assert [(part.name, part.provider_id or None, json.loads(part.arguments)) for part in found if isinstance(part, ToolCall)] == theirs.calls, (
            name
        )
        blocks = [part.block if isinstance(part, Opaque) else part.opaque for part in found if isinstance(part, Text | Reasoning | ToolCall | Opaque)]
        assert [one for block in blocks if block and (one := signature(block))] == theirs.signatures, name
        figures = theirs.figures
        if answer.usage is not None:
            assert answer.usage.input == figures["promptTokenCount"] + figures.get("toolUsePromptTokenCount", 0), name
            assert answer.usage.cached == figures.get("cachedContentTokenCount"), name
            assert (answer.usage.output or 0) == figures.get("candidatesTokenCount", 0) + figures.get("thoughtsTokenCount", 0), name
        assert (answer.usage is None) == (not figures), name


@pytest.mark.req("X-90")
def test_recorded_streams_may_be_cut_at_every_byte(shared: Path):
    """Each of the small ones at every byte; the large ones at a sample of places, prime steps apart."""
    for name, stream in recorded(shared).items():
        whole = read([stream])
        step = 1 if len(stream) < 1_000 else len(stream) // 40 | 1
        for place in range(0, len(stream), step):
            assert read([stream[:place], stream[place:]]) == whole, (name, place)
        small = 7 if len(stream) < 20_000 else 1_009
        assert read([stream[i : i + small] for i in range(0, len(stream), small)]) == whole, name


@pytest.mark.req("X-90")
def test_recorded_streams_broken_off_before_their_finish_reason_failed(shared: Path):
    for name, stream in recorded(shared).items():
        finish = stream.rindex(b"data:")
        for place in range(0, finish, max(1, finish // 25)):
            deltas = read([stream[:place]])
            last = deltas[-1]
            assert isinstance(last, StreamFailed), (name, place)
            assert (last.code, last.retryable) == ("stream-truncated", True), (name, place)
            said = "".join(part.text for part in fold(deltas).parts() if isinstance(part, Text))
            assert sdk_text(stream).startswith(said), (name, place)


def sdk_text(stream: bytes) -> str:
    return "".join(part.text for part in fold(read([stream])).parts() if isinstance(part, Text))


def test_reading_costs_little_more_than_parsing_the_same_events():
    """1.5 times by the target; twice here, where other work disturbs the clock. Figures stand in every event, as Google sends them."""
    frames = []
    for count in range(1_000):
        usage = {"promptTokenCount": 29, "candidatesTokenCount": count, "totalTokenCount": 331 + count, "thoughtsTokenCount": 302}
        one = {"content": {"parts": [text(f"words of an answer {count} as they come ")], "role": "model"}, "index": 0}
        details = [{"modality": "TEXT", "tokenCount": 29}]
        head = {"modelVersion": "gemini-3-pro-preview", "responseId": "M3iLaY-AI7zTxN8P3Piw4Qg"}
        frames.append(data({"candidates": [one], "usageMetadata": usage | {"promptTokensDetails": details}, **head}))
    stream = b"".join([*frames, STOP])
    events = [one.data for one in SseReader().feed(stream)]

    def least(work) -> int:
        spent = []
        for _ in range(9):
            start = process_time_ns()
            work()
            spent.append(process_time_ns() - start)
        return min(spent)

    assert least(lambda: read([stream])) <= 2 * least(lambda: [json.loads(one) for one in events])
