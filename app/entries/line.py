"""Which pieces of the ledger are current, and which of them a checkpoint stands for.

A line is a list of ranges, oldest first; the last one is open. Rewind, clear, fork, checkpoint and un-compact each set a new one. A plain
session has the plain line: everything from 1 on. Along a line seqs rise, also from one session to the next: a fork goes on at the seq at
which it left its parent. So one seq says how far a checkpoint covers, and one seq names one entry of a fork's whole ledger.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Piece:
    """Entries `from_seq` … `through_seq` (inclusive; None: to the head). `session` is a UUID's text, None for the session itself."""

    from_seq: int
    through_seq: int | None = None
    session: str | None = None

    def holds(self, seq: int) -> bool:
        return self.from_seq <= seq and (self.through_seq is None or seq <= self.through_seq)


@dataclass(frozen=True, slots=True)
class Covered:
    """What stands for the oldest messages of a line: the checkpoint (TypeID), its entry, and the last seq that no window reads behind it. What the
    checkpoint covers ends there, or at the skills that stand there for the first message that is kept.

    `session` is the one that holds the entry, as in `Piece`. The entry need not lie on the line: another line may have made it.
    """

    checkpoint_id: str
    seq: int
    through_seq: int
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """`pieces` is what a person sees; a model sees them behind what `covered` stands for (`window`)."""

    pieces: tuple[Piece, ...] = (Piece(1),)
    covered: Covered | None = None

    def holds(self, seq: int) -> bool:
        """Whether the entry of that seq is current, covered or not."""
        return any(piece.holds(seq) for piece in self.pieces)

    @property
    def first_seq(self) -> int:
        """Where the line begins, covered or not."""
        return self.pieces[0].from_seq

    @property
    def window(self) -> tuple[Piece, ...]:
        """The pieces that a model is sent as they are: those behind the last seq that is covered."""
        return self.pieces if self.covered is None else _cut(self.pieces, from_seq=self.covered.through_seq + 1)

    def encode(self) -> str | None:
        """JSON text `[[from, through, session], …]`, a `{"checkpoint", "seq", "through", "session"}` behind them where one covers; None for the
        plain line."""
        return None if self == PLAIN else self.spelled()

    def spelled(self) -> str:
        """The same text, of the plain line too: what an entry bears that leads back to it."""
        rows: list[Any] = [[piece.from_seq, piece.through_seq, piece.session] for piece in self.pieces]
        if self.covered is not None:
            one = self.covered
            rows.append({"checkpoint": one.checkpoint_id, "seq": one.seq, "through": one.through_seq, "session": one.session})
        return orjson.dumps(rows).decode()


PLAIN = Line()


def decode_line(text: str | None) -> Line:
    """The line that `encode` wrote."""
    if text is None:
        return PLAIN
    rows = orjson.loads(text)
    pieces = tuple([Piece(*row) for row in rows if isinstance(row, list)])
    marks = [Covered(row["checkpoint"], row["seq"], row["through"], row["session"]) for row in rows if isinstance(row, dict)]
    return Line(pieces, marks[0] if marks else None)


def rewound(line: Line, through_seq: int, next_seq: int) -> Line:
    """The line cut after `through_seq` (0: before everything), going on at `next_seq`, the seq of the entry that rewinds.

    `line` is the line as it stood when `through_seq` was appended, so that a turn that was left can be made current again, with the
    checkpoint that was in force then. Raises `ValueError` when the cut is not older than where the line goes on.
    """
    if not 0 <= through_seq < next_seq:
        raise ValueError("a line is cut before the entry that cuts it")
    kept = _cut(line.pieces, through_seq=through_seq)
    return Line((*kept, Piece(next_seq)), line.covered if kept else None)


def covered(line: Line, mark: Covered | None) -> Line:
    """The same line with what `mark` says standing for its oldest messages; None: with none (un-compact).

    Raises `ValueError` for a checkpoint that covers nothing of the line.
    """
    if mark is not None and mark.through_seq < line.first_seq:
        raise ValueError("a checkpoint covers messages of its line")
    return replace(line, covered=mark)


def forked(line: Line, at_seq: int, parent: str) -> Line:
    """The line of a fork that leaves session `parent` behind `at_seq`: the parent's as it stood then, going on at `at_seq` + 1."""
    own = [replace(piece, session=piece.session or parent) for piece in _cut(line.pieces, through_seq=at_seq)]
    mark = None if line.covered is None else replace(line.covered, session=line.covered.session or parent)
    return Line((*own, Piece(at_seq + 1)), mark)


def cleared(next_seq: int) -> Line:
    """The line that begins anew at the entry that clears."""
    return Line((Piece(next_seq),))


def same_until(one: Line, other: Line, through_seq: int) -> bool:
    """Whether two lines hold the same entries up to `through_seq`: a checkpoint that one was given then stands for the other's too."""
    return _joined(_cut(one.pieces, through_seq=through_seq)) == _joined(_cut(other.pieces, through_seq=through_seq))


def _cut(pieces: Iterable[Piece], from_seq: int = 1, through_seq: int | None = None) -> tuple[Piece, ...]:
    """What of the pieces lies in a range of seqs."""
    found = []
    for piece in pieces:
        first = max(piece.from_seq, from_seq)
        bounds = [bound for bound in (piece.through_seq, through_seq) if bound is not None]
        last = min(bounds) if bounds else None
        if last is None or first <= last:
            found.append(Piece(first, last, piece.session))
    return tuple(found)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with those that touch made one."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].session == piece.session and found[-1].through_seq == piece.from_seq - 1:
            found[-1] = replace(found[-1], through_seq=piece.through_seq)
        else:
            found.append(piece)
    return found
