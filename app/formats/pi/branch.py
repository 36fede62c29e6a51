"""Which lines of a pi session lie on the branch that was current at the end.

Since version 2 lines form a tree by `id` and `parentId`, and the next line goes behind the last one of the file: the current branch is
the way from there to the root. Version 1 has neither; all of it is one branch. A parent that is missing from the file is taken to
be the line before.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.formats.reading import word


def current_branch(records: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The indexes of the records on the current branch."""
    places: dict[str, int] = {}
    for index, record in enumerate(records):
        if (id := word(record, "id")) is not None and record.get("type") != "session":
            places.setdefault(id, index)
    if not places:
        return frozenset(range(len(records)))
    found: set[int] = set()
    at: int | None = max(places.values())
    while at is not None and at >= 0 and at not in found:
        found.add(at)
        parent = word(records[at], "parentId")
        at = None if parent is None else places.get(parent, at - 1)
    return frozenset(found)
