"""Frames are those that the official SDK reads; the fake's own reader agrees with it, also where a stream is cut."""

from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.aws_frames import last_border, read_frames, write_event, write_exception, write_frame

EVENTS = [
    ("messageStart", b'{"role":"assistant"}'),
    ("contentBlockDelta", '{"delta":{"text":"höhe 🍏"}}'.encode()),
    ("messageStop", b"{}"),
]
STREAM = b"".join(write_event(kind, payload) for kind, payload in EVENTS)


def official(stream: bytes) -> list[Any]:
    """What botocore's reader reads: headers and payload of each frame."""
    buffer: Any = EventStreamBuffer()
    buffer.add_data(stream)
    return [(dict(event.headers), event.payload) for event in buffer]


def test_the_official_reader_reads_them():
    seen = official(STREAM + write_exception("throttlingException", b'{"message":"x"}'))
    assert [(headers[":event-type"], payload) for headers, payload in seen[:3]] == EVENTS
    assert seen[3][0] == {":exception-type": "throttlingException", ":content-type": "application/json", ":message-type": "exception"}


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=40), max_size=5), st.binary(max_size=200))
def test_what_is_written_is_read_by_both(headers: dict[str, str], payload: bytes):
    frame = write_frame(headers, payload)
    assert list(read_frames(frame)) == official(frame) == [(headers, payload)]


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_a_cut_stream_is_read_up_to_its_last_whole_frame(cut: int):
    whole = list(read_frames(STREAM[:cut]))
    assert whole == list(read_frames(STREAM))[: len(whole)]
    border = last_border(STREAM[:cut])
    assert border <= cut
    assert list(read_frames(STREAM[:border])) == whole
