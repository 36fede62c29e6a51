"""Which entries are current."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.entries.kinds import KINDS, MESSAGE_KINDS, SETTINGS_KINDS, Family, kind_of
from app.entries.line import PLAIN, Covered, Piece, cleared, covered, decode_line, forked, rewound, same_until


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


PARENT = "0190a0b0-0000-7000-8000-000000000000"


def test_a_fork_holds_what_it_shares():
    line = forked(rewound(PLAIN, 3, 6), 9, PARENT)
    assert line.pieces == (Piece(1, 3, PARENT), Piece(6, 9, PARENT), Piece(10))
    assert decode_line(line.encode()) == line
    assert [seq for seq in range(1, 12) if line.holds(seq)] == [1, 2, 3, 6, 7, 8, 9, 10, 11]
    again = forked(line, 12, "other")
    assert again.pieces == (Piece(1, 3, PARENT), Piece(6, 9, PARENT), Piece(10, 12, "other"), Piece(13))
    assert forked(line, 7, "other").pieces == (Piece(1, 3, PARENT), Piece(6, 7, PARENT), Piece(8)), "left before the fork's own entries"


@given(histories(), st.data())
def test_what_is_covered_and_what_is_sent_are_the_line(history, data):
    line, current, head = history
    assume(head >= line.first_seq)
    through = data.draw(st.integers(line.first_seq, head))
    marked = covered(line, Covered("chk_a", head, through))
    assert decode_line(marked.encode()) == marked
    sent = [seq for seq in range(1, head + 1) if any(piece.holds(seq) for piece in marked.window)]
    assert [seq for seq in current if seq <= through] + sent == current, "disjoint, and together the line"
    assert covered(marked, None) == line
    child = forked(marked, head, PARENT)
    assert child.covered == Covered("chk_a", head, through, PARENT)
    assert same_until(marked, line, head)


@given(histories(), st.data())
def test_a_rewind_goes_back_to_the_checkpoint_of_its_time(history, data):
    line, _, head = history
    assume(head >= line.first_seq)
    marked = covered(line, Covered("chk_a", head, line.first_seq))
    cut = data.draw(st.integers(0, head))
    assert rewound(marked, cut, head + 1).covered == (marked.covered if cut >= line.first_seq else None)
    with pytest.raises(ValueError, match="covers"):
        covered(cleared(head + 1), marked.covered)


def test_lines_part_where_their_pieces_do():
    line = rewound(PLAIN, 3, 6)
    assert same_until(line, PLAIN, 3)
    assert not same_until(line, PLAIN, 4)
    assert not same_until(line, forked(line, 9, PARENT), 3), "the same numbers of another session are other entries"


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


def test_the_plain_line_is_spelled_where_an_entry_leads_back_to_it():
    assert PLAIN.encode() is None
    assert decode_line(PLAIN.spelled()) == PLAIN
    marked = covered(PLAIN, Covered("chk_1", 7, 4))
    assert marked.spelled() == marked.encode()
    assert decode_line(covered(marked, None).spelled()) == PLAIN
