"""A turn whose holder is gone is settled by whoever writes next, whatever it writes; nobody is told to come back later."""

import asyncio
from uuid import UUID, uuid4

import pytest

from app.entries.ids import SESSION, TURN, format_id, parse_id
from app.entries.messages import Message, NewEntry, encode
from app.entries.parts import Text
from app.services.scope import LOCAL_TENANT
from app.storage.store import Store
from app.storage.types import NEW_TURN, Append, Claim, TurnWrite
from tests.services.world import World, text


async def orphaned(world: World, store: Store) -> tuple[str, str]:
    """A session with a settled turn and one that a process took and never ran."""
    session = await world.session()
    await world.turn(session, "settled")
    turn = uuid4()
    said = NewEntry("user_message", encode(Message((Text("left alone"),))), NEW_TURN)
    claim = Claim(NEW_TURN, uuid4(), 0.05)
    opening = TurnWrite(new=True, turn_id=turn, status="running", follows=1, input_offset=0)
    await store.ledger.append(LOCAL_TENANT, parse_id(SESSION, session) or UUID(int=0), Append(entries=(said,), claim=claim, turn=opening))
    await asyncio.sleep(0.1)
    return session, format_id(TURN, turn)


@pytest.mark.req("X-04", "X-06")
@pytest.mark.parametrize("key", [{}, {"idempotency-key": "k"}], ids=["without a key", "under a key"])
async def test_entries_come_behind_the_end_of_a_turn_that_was_left(world: World, store: Store, key: dict[str, str]) -> None:
    session, turn = await orphaned(world, store)
    entries = {"entries": [{"kind": "user_message", "parts": [{"type": "text", "text": "next"}]}]}
    await world.call("POST", f"/sessions/{session}/entries", 201, json=entries, headers=key)
    view = (await world.call("GET", f"/sessions/{session}/turns/{turn}", 200)).json()
    assert (view["status"], view["error"]["code"]) == ("interrupted", "lease-lost")
    assert [text(entry) for entry in await world.raw(session)] == ["settled", "Bonjour.", "left alone", "next"]


async def test_a_line_is_set_behind_the_end_of_a_turn_that_was_left(world: World, store: Store) -> None:
    session, _ = await orphaned(world, store)
    first = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"][0]
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": first["id"]})
    assert [text(entry) for entry in await world.raw(session)] == ["settled", "Bonjour."]


async def test_a_turn_comes_behind_the_end_of_one_that_was_left(world: World, store: Store) -> None:
    session, turn = await orphaned(world, store)
    new = await world.turn(session, "next")
    assert (new["status"], new["follows"]) == ("completed", turn)
