"""Rows of a case, appended to its session."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import httpx

from tests.cases.blocks import archived, has_blocks
from tests.cases.done import Done
from tests.cases.rows import entries
from tests.services.world import World

APPEND_MAX = 256


async def posted(done: Done, given: list[dict[str, Any]], headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Entries appended together."""
    return await done.world.client.post(f"/sessions/{done.session}/entries", json={"entries": given}, headers=headers)


async def seeded(world: World, session: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows put in as few requests as the contract allows: appended, or, where they hold what a provider put into an answer, imported."""
    for blocks, group in groupby(rows, has_blocks):
        given = list(group)
        if blocks:
            await archived(world, session, given)
            continue
        for start in range(0, len(given), APPEND_MAX):
            appended = {"entries": entries(given[start : start + APPEND_MAX])}
            headers = {"content-type": "application/json"}  # spelled in ASCII, as half a surrogate pair can be sent in no other way
            await world.call("POST", f"/sessions/{session}/entries", 201, content=json.dumps(appended), headers=headers)
