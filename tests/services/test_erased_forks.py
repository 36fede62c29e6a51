"""Erasure among sessions that share a past: forks go before their parents, and what is redacted is redacted in all that share it."""

import asyncio
from typing import Any

from app.entries.ids import SESSION, parse_id
from app.services.scope import LOCAL_TENANT
from app.storage.store import Store, open_store
from tests.services.test_redactions import INPUT, SUMMED, checkpoint, readable, redact, seq_of, spoken
from tests.services.traces import tables_with
from tests.services.world import World

KEPT = {"agent_revisions"}
PLAIN = {"model": {"params": {"script": [{"text": "well"}] * 9}}}
"""A fork begins its model's script anew: this one asks for no tool."""


async def fork_of(world: World, session: str, **body: Any) -> str:
    return str((await world.call("POST", f"/sessions/{session}/fork", 201, json=body)).json()["id"])


async def key_of(store: Store, session: str) -> str:
    row = await store.sessions.get(LOCAL_TENANT, parse_id(SESSION, session) or LOCAL_TENANT)
    assert row is not None
    return row.prefix_key


async def test_a_parent_is_erased_after_its_forks(world: World, migrate_url: str) -> None:
    parent = await spoken(world)
    fork = await fork_of(world, parent)
    inner = await fork_of(world, fork)
    for session, named in ((parent, fork), (fork, inner)):
        refused = (await world.call("DELETE", f"/sessions/{session}", 409)).json()
        assert refused["code"] == "has-forks"
        assert named in refused["detail"]
    for session in (inner, fork, parent):
        await world.call("DELETE", f"/sessions/{session}", 200)
        await world.call("POST", f"/sessions/{session}/fork", 410, json={})
    assert await tables_with(migrate_url, INPUT) == set()


async def test_a_user_is_erased_with_forks_of_forks_at_once(world: World, migrate_url: str) -> None:
    parent = await spoken(world, user="ann")
    inner = await fork_of(world, await fork_of(world, parent))
    erased = (await world.call("DELETE", "/users/ann", 200)).json()["session_ids"]
    assert len(erased) == 3
    assert {parent, inner} < set(erased)
    assert await tables_with(migrate_url, INPUT) == set()


async def test_a_fork_and_an_erasure_at_once(world: World) -> None:
    for _ in range(6):
        parent = await spoken(world)
        made, erased = await asyncio.gather(world.client.post(f"/sessions/{parent}/fork", json={}), world.client.delete(f"/sessions/{parent}"))
        assert (made.status_code, erased.status_code) in ((201, 409), (410, 200)), (made.text, erased.text)
        if made.status_code == 201:
            assert (await world.call("GET", f"/sessions/{made.json()['id']}/verify", 200)).json()["ok"]


async def test_an_entry_is_redacted_in_the_session_that_holds_it_and_everywhere(world: World, migrate_url: str) -> None:
    parent = await spoken(world)
    seq = await seq_of(world, parent, "user_message")
    before = await fork_of(world, parent, at_seq=seq - 1)
    fork = await fork_of(world, parent)
    inner = await fork_of(world, fork)
    for session in (before, inner):
        await world.turn(session, "in the fork", overrides=PLAIN)
    assert (await redact(world, inner, seq, 409))["detail"].count(parent) == 1
    tags = {session: (await world.call("GET", f"/sessions/{session}/raw", 200)).headers["etag"] for session in (parent, fork, inner)}
    untouched = (await world.call("GET", f"/sessions/{before}/calls", 200)).json()["data"]
    receipt = await redact(world, parent, seq)
    assert set(receipt["session_ids"]) == {parent, fork, inner}
    assert await tables_with(migrate_url, INPUT) <= KEPT
    await readable(world, inner, seq)
    for session in (parent, fork, inner):
        assert (await world.call("GET", f"/sessions/{session}/raw", 200, headers={"if-none-match": tags[session]})).headers["etag"] != tags[session]
        (told,) = [one["body"] for one in await world.ledger(session) if one["kind"] == "redaction"]
        assert (told["seq"], told["redacted_kind"]) == (seq, "user_message")
        (entry,) = [one for one in await world.ledger(session) if one["seq"] == seq]
        assert entry["body"] is None
        seen = await world.input(session)
        assert not seen["violations"]
        assert [row["reason"] for row in seen["manifest"]["decisions"] if row["source"].get("seq") == seq] == ["redacted"]
        assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
        assert (await world.turn(session, "go on", overrides=PLAIN))["status"] == "completed"
    assert (await world.call("GET", f"/sessions/{before}/calls", 200)).json()["data"] == untouched


async def test_a_checkpoint_that_forks_go_on_under_is_deselected_in_each(world: World, database_url: str, migrate_url: str) -> None:
    parent = await spoken(world)
    seq = await seq_of(world, parent, "user_message")
    store = await open_store(database_url, pool_size=2)
    try:
        await checkpoint(store, world, parent)
        fork = await fork_of(world, parent)
        keys = {await key_of(store, session) for session in (parent, fork)}
        assert len(keys) == 1
        assert (await world.call("GET", f"/sessions/{fork}", 200)).json()["checkpoint"] == "chk_1"
        receipt = await redact(world, parent, seq)
        after = {await key_of(store, session) for session in (parent, fork)}
    finally:
        await store.close()
    assert receipt["erased"]["summaries"] == 1
    assert len(after) == 1
    assert not after & keys
    assert await tables_with(migrate_url, SUMMED) == set()
    for session in (parent, fork):
        last = (await world.ledger(session))[-1]
        assert (last["kind"], last["body"]) == ("checkpoint_selected", {"checkpoint_id": None, "redacted": True})
        assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] is None
        assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
        await readable(world, session, seq)


async def test_a_fork_that_runs_keeps_what_it_shares(socket_world: World) -> None:
    world = socket_world
    parent = await world.session(script=[{"text": "one"}])
    await world.turn(parent, INPUT)
    fork = await fork_of(world, parent)
    slow = {"model": {"params": {"script": [{"text": "slowly", "delay_ms": 30_000}]}}}
    await world.stream(fork, until="turn.started", overrides=slow)
    refused = await redact(world, parent, await seq_of(world, parent, "user_message"), 409)
    assert refused["code"] == "session-busy"
