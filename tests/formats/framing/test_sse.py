"""The SSE reader and writer, against the standard's own examples, a plain second reader, and any cut of the bytes."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.framing.sse import EventTooLong, SseEvent, SseReader, comment, frame


def read(*pieces: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)]


def plain(data: bytes) -> list[SseEvent]:
    """The standard read literally, all at once: a reader of another making."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    found, held = list[SseEvent](), list[str]()
    name = last_id = ""
    lines = re.split("\r\n|\n|\r", text)
    for line in lines[:-1]:
        if line == "":
            if held:
                found.append(SseEvent("\n".join(held), name or "message", last_id))
            name, held = "", []
            continue
        field, colon, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            held.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
        assert colon or value == ""
    return found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [SseEvent("YHOO\n+2\n10")]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", [
            SseEvent("first event", id="1"), SseEvent("second event"), SseEvent(" third event")]),
        (b"data\n\ndata\ndata\n\ndata:", [SseEvent(""), SseEvent("\n")]),
        (b"data:test\n\ndata: test\n\n", [SseEvent("test"), SseEvent("test")]),
        (b"event: ping\n\nevent: x\ndata: 1\n\ndata: 2\n\n", [SseEvent("1", "x"), SseEvent("2")]),
        (b"\xef\xbb\xbfdata: bom\n\n", [SseEvent("bom")]),
        (b"data: a\xef\xbb\xbf\n\n", [SseEvent("a\ufeff")]),
        (b"data: one\r\n\r\ndata: two\r\rdata: three\n\n", [SseEvent("one"), SseEvent("two"), SseEvent("three")]),
        (b"retry: 10\nfoo: bar\nid: a\0b\ndata: x\n\n", [SseEvent("x")]),
        (b"data: cut", []),
        (b"data: cut\n", []),
        (b"data: \xff\xfe\n\n", [SseEvent("\ufffd\ufffd")]),
        ("data: a\u2028b\u0085c\x0bd\x0ce\n\n".encode(), [SseEvent("a\u2028b\u0085c\x0bd\x0ce")]),
    ],
)  # fmt: skip
def test_the_standards_examples_and_the_known_traps(data: bytes, expected: list[SseEvent]):
    assert read(data) == expected
    assert read(*[data[i : i + 1] for i in range(len(data))]) == expected


TOKENS = [b"data", b"event", b"id", b": ", b":", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"\0", "é".encode(), "🌍".encode(), b"\xef\xbb\xbf", b"\xf0"]
streams = st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join)


@settings(deadline=None)
@given(streams, st.lists(st.integers(0, 200), max_size=6))
def test_bytes_may_be_cut_anywhere_and_mean_what_the_standard_says(data: bytes, cuts: list[int]):
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]
    assert read(*pieces) == read(data) == plain(data)


@settings(deadline=None)
@given(st.text(), st.none() | st.integers(0, 10**9), st.sampled_from([None, "text.delta", "COMPACTION_STARTED"]))
def test_what_is_written_is_read_back(data: str, id: int | None, event: str | None):
    sent = frame(id, event, data)
    expected = re.sub("\r\n|\r", "\n", data)
    assert read(sent) == [SseEvent(expected, event or "message", "" if id is None else str(id))]
    assert sent.endswith(b"\n\n")


def test_a_json_payload_stays_one_line_and_lone_surrogates_are_no_error():
    assert frame(1, "x", '{"a":"\u2028"}').count(b"\n") == 4
    assert read(frame(None, None, "a\ud800b")) == [SseEvent("a\ufffdb")]


@pytest.mark.parametrize("value", ["5\ndata: forged", "a\rb", "nul\0", "\u2028"])
def test_id_event_and_comment_cannot_forge_fields(value: str):
    with pytest.raises(ValueError, match="printable"):
        frame(value, None, "x")
    with pytest.raises(ValueError, match="printable"):
        frame(None, value, "x")
    with pytest.raises(ValueError, match="printable"):
        comment(value)


def test_comments_reach_nobody():
    assert read(comment("ping"), comment(), b"data: x\n: PROCESSING\n\n") == [SseEvent("x")]


@pytest.mark.parametrize("data", [b"data: " + b"x" * 101, b"data: " + b"x" * 95 + b"\n", b"data: 0123456789\n" * 11, b"event: " + b"x" * 100 + b"\n"])
def test_lines_and_events_are_bounded(data: bytes):
    reader = SseReader(event_bytes_max=100)

    def feed() -> None:
        for index in range(len(data)):
            reader.feed(data[index : index + 1])

    with pytest.raises(EventTooLong):
        feed()
