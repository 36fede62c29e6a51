"""Laws of reading that hold in every dialect: a stream may be cut anywhere, and one that is broken, anywhere, failed."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta, Finished, StreamFailed
from app.entries.parts import Text
from tests.formats.streamed import STREAMED, Streamed

pytestmark = pytest.mark.parametrize("dialect", STREAMED.values(), ids=STREAMED)


def drawn_fragments(dialect: Streamed, drawn: st.DataObject) -> bytes:
    return b"".join([dialect.begin, *drawn.draw(st.lists(st.sampled_from(dialect.fragments), max_size=8))])


def said(deltas: list[Delta]) -> str:
    answer = AnswerFold()
    for delta in deltas:
        answer.add(delta)
    return "".join(part.text for part in answer.parts() if isinstance(part, Text))


@settings(max_examples=100, deadline=None)
@given(drawn=st.data())
def test_bytes_may_be_cut_anywhere(dialect: Streamed, drawn: st.DataObject):
    stream = drawn_fragments(dialect, drawn) + dialect.end
    places = drawn.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    cut = [stream[a:b] for a, b in pairwise([0, *sorted(places), len(stream)])]
    assert dialect.read(cut) == dialect.read([stream]) == dialect.read([stream[i : i + 1] for i in range(len(stream))])


@settings(max_examples=100, deadline=None)
@given(drawn=st.data())
def test_broken_off_anywhere_before_its_end_it_failed_and_nothing_follows(dialect: Streamed, drawn: st.DataObject):
    stream = drawn_fragments(dialect, drawn) + dialect.needed
    deltas = dialect.read([stream[: drawn.draw(st.integers(0, len(stream) - 1))]])
    assert isinstance(deltas[-1], StreamFailed)
    assert sum(isinstance(delta, Finished | StreamFailed) for delta in deltas) == 1


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(max_size=200))
def test_no_bytes_break_the_reader(dialect: Streamed, noise: bytes):
    for pieces in dialect.noisy(noise):
        assert isinstance(dialect.read(pieces)[-1], StreamFailed)


@pytest.mark.req("X-90")
def test_recorded_streams_may_be_cut_at_every_byte(dialect: Streamed, shared: Path):
    """Each of the small ones at every byte; the large ones at a sample of places, prime steps apart."""
    for name, stream in dialect.recorded(shared).items():
        whole = dialect.read([stream])
        step = 1 if dialect.small is None or len(stream) < dialect.small else len(stream) // 40 | 1
        for place in range(0, len(stream), step):
            assert dialect.read([stream[:place], stream[place:]]) == whole, (name, place)
        size = 7 if dialect.middling is None or len(stream) < dialect.middling else 1_009
        assert dialect.read([stream[i : i + size] for i in range(0, len(stream), size)]) == whole, name


@pytest.mark.req("X-90")
def test_recorded_streams_broken_off_before_their_end_failed_and_keep_what_was_said(dialect: Streamed, shared: Path):
    for name, stream in dialect.recorded(shared).items():
        whole = said(dialect.read([stream]))
        end = dialect.recorded_end(name, stream)
        for place in range(0, end, max(1, end // dialect.breaks)):
            deltas = dialect.read([stream[:place]])
            assert deltas[-1] == dialect.failure, (name, place)
            assert not any(isinstance(delta, Finished) for delta in deltas), (name, place)
            assert whole.startswith(said(deltas)), (name, place)
