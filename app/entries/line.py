"""Which pieces of the ledger are current.

A line is a list of ranges, oldest first; the last one is open. Rewind, clear (and later fork and checkpoint) each set a
new one. A plain session has the plain line: everything from 1 on.
"""

from dataclasses import dataclass

import orjson


@dataclass(frozen=True, slots=True)
class Piece:
    """Entries `from_seq` … `through_seq` (inclusive; None: to the head). `session` is None for the session itself."""

    from_seq: int
    through_seq: int | None = None
    session: str | None = None

    def holds(self, seq: int) -> bool:
        return self.from_seq <= seq and (self.through_seq is None or seq <= self.through_seq)


@dataclass(frozen=True, slots=True)
class Line:
    pieces: tuple[Piece, ...] = (Piece(1),)

    def holds(self, seq: int) -> bool:
        """Whether the entry of this session with that seq is current."""
        return any(piece.holds(seq) for piece in self.pieces if piece.session is None)

    def encode(self) -> str | None:
        """JSON text `[[from, through, session], …]`; None for the plain line."""
        if self == PLAIN:
            return None
        return orjson.dumps([[piece.from_seq, piece.through_seq, piece.session] for piece in self.pieces]).decode()


PLAIN = Line()


def decode_line(text: str | None) -> Line:
    """The line that `encode` wrote."""
    return PLAIN if text is None else Line(tuple(Piece(*piece) for piece in orjson.loads(text)))


def rewound(line: Line, through_seq: int, next_seq: int) -> Line:
    """The line cut after `through_seq` (0: before everything), going on at `next_seq`, the seq of the entry that rewinds.

    `line` is the line as it stood when `through_seq` was appended, so that a turn that was left can be made current
    again. Raises `ValueError` when the cut is not older than where the line goes on.
    """
    if not 0 <= through_seq < next_seq:
        raise ValueError("a line is cut before the entry that cuts it")
    kept: list[Piece] = []
    for piece in line.pieces:
        if piece.from_seq > through_seq:
            break
        end = through_seq if piece.through_seq is None else min(piece.through_seq, through_seq)
        kept.append(Piece(piece.from_seq, end, piece.session))
    return Line((*kept, Piece(next_seq)))
