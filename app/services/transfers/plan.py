"""The appends that store a session: within the limits of one, and, for our own export, with the turns and lines that the entries tell of.

A turn's row is not in an export; what it says of a turn follows from the turn's entries. A turn that was still open when the
session was exported ends as interrupted.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from app.config.limits import ENTRIES_PER_APPEND_MAX
from app.entries import lossless
from app.entries.folds import Rewound
from app.entries.line import PLAIN, Line, rewound
from app.entries.messages import NewEntry
from app.entries.trace import TurnSettled
from app.services.minting import new_uuid
from app.storage.types import NEW_TURN, NewBlob, TurnWrite

BATCH_BYTES_MAX = 8 * 2**20
"""Payloads and blobs of one append, unless a single entry is larger."""
OPEN_AT_EXPORT = '{"code":"lease-lost","detail":"The turn was still open when the session was exported."}'


class BrokenExport(ValueError):
    """The entries contradict themselves; the message says where."""


@dataclass(frozen=True, slots=True)
class Step:
    """One append. `turn` opens or settles the turn of its entries; `last_turn` is the last turn of the current line after it."""

    entries: tuple[NewEntry, ...]
    turn: TurnWrite | None = None
    last_turn: int | None = None


def plain_steps(entries: Sequence[NewEntry], blobs: Mapping[str, NewBlob]) -> Iterator[Step]:
    """Appends for messages without turns."""
    for start, end in _cuts(entries, blobs, frozenset()):
        yield Step(tuple(entries[start:end]))


def archive_steps(entries: Sequence[NewEntry], blobs: Mapping[str, NewBlob], stored: int = 0, opened: int = 0) -> Iterator[Step]:
    """Appends for all entries of an export, seq 1 first, of which `stored` are there and `opened` turns with them.

    Raises `BrokenExport` where turn numbers do not rise by one, or a line cannot be cut where an entry cuts it.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    borders: set[int] = set()
    running: int | None = None
    for at, entry in enumerate(entries):
        if entry.turn is not None:
            first.setdefault(entry.turn, at)
            last[entry.turn] = at
            if entry.turn != running:
                borders.add(at)
                running = entry.turn
    borders.update([at + 1 for at in last.values()])
    if list(first) != list(range(1, len(first) + 1)):
        raise BrokenExport("The turn numbers of the entries do not rise by one.")
    lined, followed, current = _lines(entries, first)
    for start, end in _cuts(entries, blobs, borders):
        piece = lined[max(start, stored) : end]
        if not piece:
            continue
        number = next((entry.turn for entry in piece if entry.turn is not None), None)
        write = None if number is None else _turn(piece, number, followed, new=number > opened, ends=last[number] < end)
        if number is not None and number > opened:
            opened = number
            piece = [entry if entry.turn is None else replace(entry, turn=NEW_TURN) for entry in piece]
        yield Step(tuple(piece), write, current[end - 1])


def _lines(entries: Sequence[NewEntry], first: Mapping[int, int]) -> tuple[list[NewEntry], dict[int, int], list[int]]:
    """The entries with the lines that they set; which turn each turn follows; and the last turn of the current line after each entry."""
    lines: list[tuple[int, Line]] = [(0, PLAIN)]
    found: list[NewEntry] = []
    followed: dict[int, int] = {}
    current: list[int] = []
    last_turn = 0
    for at, entry in enumerate(entries):
        seq = at + 1
        if entry.turn is not None and first[entry.turn] == at:
            followed[entry.turn] = last_turn
            last_turn = entry.turn
        if entry.kind == Rewound.kind:
            body = Rewound.decode(entry.payload)
            if entry.turn is None:
                last_turn = body.follows
            else:
                followed[entry.turn] = body.follows
            try:
                line = rewound(next(line for since, line in reversed(lines) if since <= body.through_seq), body.through_seq, seq)
            except ValueError:
                raise BrokenExport(f"Entry {seq} rewinds to an entry that is not before it.") from None
            lines.append((seq, line))
            entry = replace(entry, line=line.encode())
        found.append(entry)
        current.append(last_turn)
    return found, followed, current


def _turn(piece: Sequence[NewEntry], number: int, followed: Mapping[int, int], *, new: bool, ends: bool) -> TurnWrite | None:
    settled = next((TurnSettled.decode(entry.payload) for entry in piece if entry.kind == TurnSettled.kind), None)
    if not new and not ends:
        return None
    status, error = "running", None
    if ends and settled is None:
        status, error = "interrupted", OPEN_AT_EXPORT
    elif settled is not None:
        status, error = settled.status, None if settled.error is None else lossless.dumps(settled.error.to_json())
    if not new:
        return TurnWrite(number=number, status=status, error=error, settled=ends)
    spoken = next((at for at, entry in enumerate(piece) if entry.kind == "user_message"), None)
    return TurnWrite(
        new=True,
        turn_id=new_uuid(),
        status=status,
        follows=min(followed[number], number - 1),
        input_offset=spoken,
        error=error,
        settled=ends,
    )


def _cuts(entries: Sequence[NewEntry], blobs: Mapping[str, NewBlob], borders: Set[int]) -> Iterator[tuple[int, int]]:
    """Ranges that stay within the limits of an append and do not cross a border."""
    start = size = 0
    for at, entry in enumerate(entries):
        bytes_of = len(entry.payload) + sum(len(blobs[digest].body) for digest in entry.blobs if digest in blobs)
        if at > start and (at in borders or at - start == ENTRIES_PER_APPEND_MAX or size + bytes_of > BATCH_BYTES_MAX):
            yield start, at
            start, size = at, 0
        size += bytes_of
    if start < len(entries):
        yield start, len(entries)
