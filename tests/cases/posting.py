"""Rows of a case, appended to its session."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tests.cases.done import Done
from tests.cases.rows import entries
from tests.services.world import World

APPEND_MAX = 256


async def posted(done: Done, given: list[dict[str, Any]], headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Entries appended together."""
    return await done.world.client.post(f"/sessions/{done.session}/entries", json={"entries": given}, headers=headers)


async def seeded(world: World, session: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows appended in as few requests as the contract allows."""
    given = entries(rows)
    for start in range(0, len(given), APPEND_MAX):
        await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": given[start : start + APPEND_MAX]})
