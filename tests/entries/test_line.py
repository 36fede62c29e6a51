"""Which entries are current."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries.kinds import KINDS, MESSAGE_KINDS, SETTINGS_KINDS, Family, kind_of
from app.entries.line import PLAIN, Line, Piece, decode_line, rewound


@st.composite
def histories(draw):
    """A line after some rewinds, with what is current by a simple list, and the head."""
    line, current, head = PLAIN, list[int](), 0
    for _ in range(draw(st.integers(0, 8))):
        for _ in range(draw(st.integers(0, 4))):
            head += 1
            current.append(head)
        cut = draw(st.integers(0, head))
        head += 1
        line = rewound(line, cut, head)
        current = [seq for seq in current if seq <= cut] + [head]
    return line, current, head


@given(histories())
def test_a_rewound_line_holds_what_came_before_the_cut_and_what_comes_after(history):
    line, current, head = history
    assert [seq for seq in range(1, head + 1) if line.holds(seq)] == current
    assert line.holds(head + 1)
    assert not line.holds(0)


@given(histories())
def test_lines_come_back(history):
    line, _, _ = history
    assert decode_line(line.encode()) == line


@given(histories())
def test_pieces_are_in_order_apart_and_only_the_last_is_open(history):
    line, _, _ = history
    *closed, last = line.pieces
    assert last.through_seq is None
    edge = 0
    for piece in closed:
        assert piece.through_seq is not None
        assert edge < piece.from_seq <= piece.through_seq
        edge = piece.through_seq
    assert last.from_seq > edge


def test_the_plain_line_needs_no_text():
    assert PLAIN.encode() is None
    assert decode_line(None) == PLAIN
    assert all(PLAIN.holds(seq) for seq in (1, 10**9))


def test_a_shared_prefix_is_not_of_this_session():
    line = Line((Piece(1, 9, "ses_a"), Piece(10)))
    assert decode_line(line.encode()) == line
    assert not line.holds(9)
    assert line.holds(10)


@pytest.mark.parametrize(("through", "next_seq"), [(-1, 5), (5, 5), (6, 5)])
def test_a_cut_lies_before_where_the_line_goes_on(through, next_seq):
    with pytest.raises(ValueError, match="cut"):
        rewound(PLAIN, through, next_seq)


def test_the_table_of_kinds():
    assert set(MESSAGE_KINDS) == {"user_message", "assistant_message", "tool_result", "agent_message", "system_message"}
    assert {kind.name for kind in KINDS.values() if kind.beside} == {"state_changed", "agent_adopted", "model_switched", "stop_requested"}
    assert not KINDS["system_message"].sent
    assert all(KINDS[name].family is Family.SETTINGS for name in SETTINGS_KINDS)
    assert all(kind.family is Family.MESSAGE for kind in KINDS.values() if kind.sent or kind.posted)


def test_readers_fail_closed():
    assert kind_of("user_message").family is Family.MESSAGE
    for name, version in (("hologram", 1), ("user_message", 2)):
        with pytest.raises(KeyError):
            kind_of(name, version)
