"""What one input sends that another does not, sends otherwise, or sends elsewhere: a difference of sources, not of texts.

Pure, over two finished compiles of any heads, models and dialects. The difference is whole: applied to what the first input sends it
gives what the second sends (`applied`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from app.context.compile import Compiled
from app.context.draft import Disposition, Reason
from app.context.listed import Listed, Place, listed


class Sent(NamedTuple):
    """A source that an input sends: in which list, how it came to be there, and the digest of what is sent of it."""

    id: str
    place: Place
    disposition: Disposition
    reason: Reason
    also: tuple[Reason, ...]
    content: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """A source and its rows in both accounts; None where an account does not have it. A row of what is not sent has no place."""

    before: Listed | None
    after: Listed | None


@dataclass(frozen=True, slots=True)
class Diff:
    """`added`: sent by the second input alone. `removed`: by the first alone; where the second has an account of it, that says why.

    `transformed`: sent by both, with other content or for another reason. `reordered`: sent by both, and no longer in the same order
    among the others; a source may be in both lists. What is in none of them is the same in both inputs.
    """

    added: tuple[Change, ...]
    removed: tuple[Change, ...]
    transformed: tuple[Change, ...]
    reordered: tuple[Change, ...]


def diff(first: Compiled, second: Compiled) -> Diff:
    """What leads from what the first input sends to what the second sends; O(n log n) in the sources."""
    before = {row.id: row for row in listed(first)}
    after = {row.id: row for row in listed(second)}
    added, transformed, common = [], [], []
    for row in _in_order(after.values()):
        old = before.get(row.id)
        if old is None or old.place != row.place:
            added.append(Change(old, row))
            continue
        common.append(Change(old, row))
        if _sent(old) != _sent(row):
            transformed.append(Change(old, row))
    removed = [Change(row, new) for row in _in_order(before.values()) if (new := after.get(row.id)) is None or new.place != row.place]
    return Diff(tuple(added), tuple(removed), tuple(transformed), tuple(_reordered(common)))


def sent(compiled: Compiled) -> list[Sent]:
    """What an input sends: its system sections, its tools, its messages, each in order."""
    return [_sent(row) for row in _in_order(listed(compiled))]


def applied(difference: Diff, first: Sequence[Sent]) -> list[Sent]:
    """What the second input sends, from what the first sends and the difference alone."""
    gone = {(row.place, row.id) for change in (*difference.removed, *difference.reordered) if (row := change.before) is not None}
    changed = {row.id: _sent(row) for change in difference.transformed if (row := change.after) is not None}
    come = [row for change in (*difference.added, *difference.reordered) if (row := change.after) is not None]
    found: list[Sent] = []
    for place in get_args(Place):
        stayed = [changed.get(one.id, one) for one in first if one.place == place and (place, one.id) not in gone]
        for row in sorted([row for row in come if row.place == place], key=lambda row: row.position or 0):
            stayed.insert(row.position or 0, _sent(row))
        found += stayed
    return found


def to_json(difference: Diff, pointers: Mapping[str, str | None], other: Mapping[str, str | None]) -> dict[str, Any]:
    """The four lists. `pointers` and `other` say where each source, by its id, stands in the first and in the second body."""

    def told(changes: Iterable[Change]) -> list[dict[str, Any]]:
        return [_change_json(change, pointers, other) for change in changes]

    return {name: told(getattr(difference, name)) for name in ("added", "removed", "transformed", "reordered")}


def _change_json(change: Change, pointers: Mapping[str, str | None], other: Mapping[str, str | None]) -> dict[str, Any]:
    named = change.after or change.before
    assert named is not None
    source = dict(named.decision.source)
    return {"id": named.id, "source": source, "from": _side(change.before, pointers), "to": _side(change.after, other)}


def _side(row: Listed | None, pointers: Mapping[str, str | None]) -> dict[str, Any] | None:
    if row is None:
        return None
    decision = row.decision
    return {
        "place": row.place,
        "position": row.position,
        "message_index": row.message_index,
        "disposition": decision.disposition,
        "reason": decision.reason,
        "also": list(decision.also),
        "tokens": decision.tokens_after,
        "digest": row.content,
        "pointer": pointers.get(row.id),
    }


def _in_order(rows: Iterable[Listed]) -> list[Listed]:
    """The rows of what is sent, in the order in which it is."""
    places = get_args(Place)
    return sorted([row for row in rows if row.place is not None], key=lambda row: (places.index(row.place), row.position or 0))


def _sent(row: Listed) -> Sent:
    assert row.place is not None
    decision = row.decision
    return Sent(row.id, row.place, decision.disposition, decision.reason, decision.also, row.content)


def _reordered(common: Sequence[Change]) -> list[Change]:
    """The fewest sources that have to be moved; `common` is in the second input's order. The others are a longest rising run of positions."""
    places = get_args(Place)
    ranks = [(places.index(row.place), row.position or 0) for change in common if (row := change.before) is not None and row.place is not None]
    ends: list[int] = []
    before: list[int | None] = []
    for at, rank in enumerate(ranks):
        length = bisect_left(ends, rank, key=ranks.__getitem__)
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [at]
    kept: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return [change for at, change in enumerate(common) if at not in kept]
