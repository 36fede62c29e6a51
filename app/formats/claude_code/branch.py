"""Which lines of a file belong to the conversation as it stood at the end.

Lines form a tree by `parentUuid`. The current branch is the path from the last conversational line to the root, through
`progress` and `system` lines, over a compact boundary by `logicalParentUuid`, and over a parent that is missing from the
file by the line before it. Parallel calls fork the tree without leaving the branch: what shares a response id with
the path belongs to it, and so do the results of its calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.formats.reading import mapping, word

Line = Mapping[str, Any]


def is_conversation(line: Line) -> bool:
    """Whether a line is a message of user or assistant."""
    return line.get("type") in ("user", "assistant") and isinstance(line.get("message"), Mapping)


def blocks(line: Line) -> list[Mapping[str, Any]]:
    """The content blocks of a message; none for plain text."""
    content = mapping(line.get("message")).get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def current_branch(records: Sequence[Line]) -> frozenset[int]:
    """The indexes of the conversational records on the current branch."""
    path = set(_path(records))
    responses = {word(records[index]["message"], "id") for index in path if is_conversation(records[index])} - {None}
    members = {
        index for index, record in enumerate(records) if is_conversation(record) and (index in path or word(record["message"], "id") in responses)
    }
    calls = {word(block, "id") for index in members for block in blocks(records[index]) if block.get("type") == "tool_use"}
    results = {
        index
        for index, record in enumerate(records)
        if is_conversation(record) and any(block.get("type") == "tool_result" and word(block, "tool_use_id") in calls for block in blocks(record))
    }
    return frozenset(members | results)


def _path(records: Sequence[Line]) -> Iterator[int]:
    first: dict[str, int] = {}
    for index, record in enumerate(records):
        if (uuid := word(record, "uuid")) is not None:
            first.setdefault(uuid, index)
    at = next((index for index in range(len(records) - 1, -1, -1) if is_conversation(records[index])), None)
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        yield at
        parent = word(records[at], "parentUuid") or word(records[at], "logicalParentUuid")
        if parent is None:
            return
        at = first[parent] if parent in first else next((index for index in range(at - 1, -1, -1) if is_conversation(records[index])), None)
