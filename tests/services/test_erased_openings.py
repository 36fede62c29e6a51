"""A user erased while a session of theirs is opened: nothing of what was erased is left in the new one, whoever is quicker."""

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI

from app.entries.ids import SESSION, format_id
from app.entries.messages import NewEntry
from app.services.minting import new_uuid
from app.services.scope import LOCAL_TENANT
from app.storage.append_arguments import APPEND, arguments
from app.storage.types import Append, OpenSession, UserStateWrite
from tests.database.copies import connect
from tests.services.shared_states import SCHEMA, patch, sessions, state
from tests.services.traces import tables_with
from tests.services.world import World

SHARED = "zqsharedxk"


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("given", [{}, {"user": {"visits": 1}}])
async def test_an_opening_whose_user_is_erased_meanwhile_looks_again(
    app: FastAPI, world: World, monkeypatch: pytest.MonkeyPatch, migrate_url: str, given: Any, anew: bool
) -> None:
    (first,) = await sessions(world, 1)
    await patch(world, first, {"user": {"name": SHARED}})
    rows = app.state.services.states._store.states
    shared = rows.shared

    async def overtaken(*asked: Any) -> Any:
        found = await shared(*asked)
        monkeypatch.setattr(rows, "shared", shared)
        assert (await world.call("DELETE", "/users/ann", 200)).json()["erased"]["states"] == 1
        if anew:
            await world.session("agent-1", user="ann", state={"user": {"token": "t"}})
        return found

    monkeypatch.setattr(rows, "shared", overtaken)
    opened = await world.session("agent-1", user="ann", state=given)
    expected = {**({"token": "t"} if anew else {}), **given.get("user", {})}
    assert (await state(world, opened)).get("user", {}) == expected
    assert await tables_with(migrate_url, SHARED) == set()


async def test_an_erasure_that_did_not_see_a_session_yet_looks_again(app: FastAPI, world: World, database_url: str, migrate_url: str) -> None:
    (first,) = await sessions(world, 1, schema=SCHEMA)
    await patch(world, first, {"user": {"name": SHARED}})
    second = new_uuid()
    entry = NewEntry("state_changed", f'{{"changed":["/user"],"source":"observation","state":{{"user":{{"name":"{SHARED}"}}}}}}')
    seen = (await app.state.services.states._store.states.shared(LOCAL_TENANT, "ann")).version
    append = Append(entries=(entry,), open=OpenSession(agent="agent-1", agent_revision=1, user="ann"), user_state=UserStateWrite(seen))
    opening = await connect(database_url)
    try:
        async with opening.transaction():
            await opening.fetchrow(APPEND, *arguments(LOCAL_TENANT, second, append))
            erasing = asyncio.create_task(world.call("DELETE", "/users/ann", 200))
            await asyncio.wait([erasing], timeout=0.5)
            assert not erasing.done(), "it waits for what the opening saw"
        receipt = (await erasing).json()
    finally:
        await opening.close()
    assert set(receipt["session_ids"]) == {first, format_id(SESSION, second)}
    assert await tables_with(migrate_url, SHARED) == set()
