"""The reader and writer of AWS event streams, against botocore's own, any cut of the bytes and every corrupted byte."""

import struct
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.limits import SSE_EVENT_BYTES_MAX
from app.formats.framing.aws import HEADERS_BYTES_MAX, BrokenFrame, Frame, FrameReader, HeaderValue, frame

EVENT: Mapping[str, HeaderValue] = {":event-type": "messageStop", ":content-type": "application/json", ":message-type": "event"}
HELLO = frame(EVENT, b'{"stopReason":"end_turn"}')


def read(*pieces: bytes) -> list[Frame]:
    reader = FrameReader()
    return [found for piece in pieces for found in reader.feed(piece)]


def botocores(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    messages: Any = buffer
    return [(dict(message.headers), bytes(message.payload)) for message in messages]


def plain(frames: list[Frame]) -> list[tuple[dict[str, Any], bytes]]:
    return [(dict(found.headers), found.payload) for found in frames]


def raw(headers: bytes, payload: bytes = b"", total: int | None = None, head_bytes: int | None = None) -> bytes:
    """A frame with these very bytes as headers, whose checksums hold."""
    lengths = struct.pack(">II", 16 + len(headers) + len(payload) if total is None else total, len(headers) if head_bytes is None else head_bytes)
    body = lengths + struct.pack(">I", crc32(lengths)) + headers + payload
    return body + struct.pack(">I", crc32(body))


values = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.binary(max_size=20)
frames = st.tuples(st.dictionaries(st.text("abc:-é", min_size=1, max_size=6), values, max_size=4), st.binary(max_size=60))


@settings(max_examples=200, deadline=None)
@given(st.lists(frames, max_size=4), st.data())
def test_botocore_reads_what_we_write_and_so_do_we_cut_anywhere(sent: list[tuple[dict[str, HeaderValue], bytes]], drawn: st.DataObject):
    data = b"".join(frame(headers, payload) for headers, payload in sent)
    assert botocores(data) == sent
    places = sorted(drawn.draw(st.lists(st.integers(0, len(data)), max_size=5)))
    assert plain(read(*[data[a:b] for a, b in pairwise([0, *places, len(data)])])) == sent
    assert plain(read(*[data[i : i + 1] for i in range(len(data))])) == sent


def test_every_type_of_header_is_read_as_botocore_reads_it():
    headers = b"".join(
        bytes((len(name),)) + name + value
        for name, value in (
            (b"yes", b"\x00"),
            (b"no", b"\x01"),
            (b"byte", b"\x02\xff"),
            (b"short", b"\x03\xff\xfe"),
            (b"int", b"\x04\x80\x00\x00\x00"),
            (b"long", b"\x05" + b"\x7f" + b"\xff" * 7),
            (b"bytes", b"\x06\x00\x02\x00\xff"),
            (b"text", b"\x07\x00\x02\xc3\xa9"),
            (b"time", b"\x08" + struct.pack(">q", 1_764_400_000_000)),
            (b"uuid", b"\x09" + bytes(range(16))),
        )
    )
    (found,) = read(raw(headers, b"p"))
    assert plain([found]) == botocores(raw(headers, b"p"))
    assert found.headers == {
        "yes": True,
        "no": False,
        "byte": -1,
        "short": -2,
        "int": -(2**31),
        "long": 2**63 - 1,
        "bytes": b"\x00\xff",
        "text": "é",
        "time": 1_764_400_000_000,
        "uuid": bytes(range(16)),
    }


@pytest.mark.req("X-90")
def test_a_recorded_stream_is_read_as_botocore_reads_it_cut_at_every_byte(shared: Path):
    found = sorted((shared / "corpus" / "streams" / "bedrock").glob("*.bin"))
    assert len(found) >= 8
    for path in found:
        data = path.read_bytes()
        expected = botocores(data)
        assert plain(read(data)) == expected, path.name
        for place in range(0, len(data), 1 if len(data) < 10_000 else 97):
            assert plain(read(data[:place], data[place:])) == expected, (path.name, place)
        assert b"".join(frame(headers, payload) for headers, payload in expected) == data, path.name


def test_no_corrupted_byte_passes():
    whole = HELLO + HELLO
    for place in range(len(HELLO)):
        for flip in (1, 0x80):
            broken = bytearray(whole)
            broken[place] ^= flip
            with pytest.raises(BrokenFrame):
                read(bytes(broken))


def test_what_came_before_a_broken_frame_is_given_however_the_bytes_are_cut():
    broken = HELLO + HELLO[:-1] + bytes((HELLO[-1] ^ 1,))
    for pieces in ([broken], [broken[:7], broken[7:]], [broken[i : i + 1] for i in range(len(broken))]):
        found = list[Frame]()
        with pytest.raises(BrokenFrame):
            collect(pieces, found)
        assert len(found) == 1


def collect(pieces: list[bytes], found: list[Frame]) -> None:
    reader = FrameReader()
    for piece in pieces:
        found.extend(reader.feed(piece))


@pytest.mark.parametrize(
    "data",
    [
        raw(b"", total=SSE_EVENT_BYTES_MAX + 1),
        raw(b"", total=2**32 - 1),
        raw(b"", total=15),
        raw(b"", total=0),
        raw(b"", b"12", head_bytes=3),
        raw(b"", head_bytes=HEADERS_BYTES_MAX + 1, total=HEADERS_BYTES_MAX + 17),
    ],
)
def test_lengths_that_cannot_be_are_refused_before_anything_is_waited_for(data: bytes):
    with pytest.raises(BrokenFrame):
        read(data[:12])


@pytest.mark.parametrize(
    "headers",
    [
        b"\x01a",
        b"\x05a",
        b"\x01a\x0a",
        b"\x01a\x04\x00",
        b"\x01a\x07\x00\x05abc",
        b"\x01a\x07\x00",
        b"\x01a\x09" + bytes(15),
        b"\x01a\x07\x00\x01\xff",
        b"\x01\xff\x00",
        b"\x01a\x00\x01a\x01",
    ],
)
def test_headers_that_cannot_be_are_refused(headers: bytes):
    with pytest.raises(BrokenFrame):
        read(raw(headers))


def test_a_frame_that_did_not_come_to_its_end_is_not_given():
    for place in range(len(HELLO)):
        assert read(HELLO[:place]) == []
    assert read(raw(b"")) == [Frame({}, b"")]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80))
def test_noise_is_broken_or_waited_for(noise: bytes):
    for data in (noise, raw(noise)):
        try:
            read(data)
        except BrokenFrame:
            continue


@pytest.mark.parametrize(
    ("headers", "payload"),
    [({"": 1}, b""), ({"a" * 256: 1}, b""), ({"a": 2**63}, b""), ({"a": "x" * 65536}, b""), ({f"h{n}": b"x" * 65535 for n in range(3)}, b"")],
)
def test_a_header_without_a_form_is_not_written(headers: dict[str, HeaderValue], payload: bytes):
    with pytest.raises(ValueError, match="header"):
        frame(headers, payload)


def test_a_great_frame_and_many_small_ones_behind_it_come_in_pieces():
    data = frame(EVENT, b"x" * 2**20) + HELLO * 5_000
    assert len(read(*[data[i : i + 1_000] for i in range(0, len(data), 1_000)])) == 5_001
