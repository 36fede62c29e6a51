"""The state that the sessions of one user share: seen by each, recorded before its next call, and lost by none."""

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.entries.ids import SESSION, parse_id
from app.entries.messages import NewEntry
from app.services.scope import LOCAL_TENANT
from app.storage.types import Append
from tests.api.conftest import running, talking
from tests.services.shared_states import CALLING, OPEN, SCHEMA, SPOKEN, TOOLS, changes, kinds, patch, sessions, state
from tests.services.world import World

SECRET = "s3cret-token-of-ann"


@pytest.mark.req("X-14")
async def test_a_change_of_one_session_is_recorded_by_the_users_other_before_its_next_call(world: World) -> None:
    one, other = await sessions(world)
    await patch(world, other, {"session": {"topic": "rash"}})
    changed = await patch(world, one, {"user": {"name": "Ann"}})
    assert (changed["seq"], changed["state"]) == (2, {"user": {"name": "Ann"}})
    assert await changes(world, one) == [("mutation", ["/user"], {"user": {"name": "Ann"}})]
    whole = {"session": {"topic": "rash"}, "user": {"name": "Ann"}}
    assert await state(world, other) == whole
    assert await state(world, other, at_seq=2) == {"session": {"topic": "rash"}}
    assert len(await kinds(world, other)) == 2, "a read writes nothing"
    await world.turn(other)
    assert await changes(world, other) == [("mutation", ["/session"], {"session": {"topic": "rash"}}), ("observation", ["/user"], whole)]
    assert (await kinds(world, other))[2:5] == ["state_changed", "user_message", "model_call_started"]
    await world.turn(other)
    await patch(world, one, {"user": {"visits": 2}})
    await world.turn(other)
    assert [source for source, _, _ in await changes(world, other)] == ["mutation", "observation", "observation"]
    assert (await changes(world, other))[-1][1] == ["/user/visits"]
    assert (await world.call("GET", f"/sessions/{other}/verify", 200)).json()["ok"]


@pytest.mark.req("X-14", "S0-10", "T-31")
async def test_a_change_between_two_steps_of_a_turn_is_in_the_next_call(world: World) -> None:
    agent = await world.agent([CALLING, SPOKEN], state_schema=SCHEMA, tools=TOOLS)
    one, other = await world.session(agent, user="ann"), await world.session(agent, user="ann")
    turn = await world.turn(other)
    assert turn["status"] == "requires_action"
    await patch(world, one, {"user": {"name": "Ann"}})
    await patch(world, one, {"user": {"visits": 1}})
    seen = await world.input(other)
    assert [row["source"] for row in seen["manifest"]["decisions"] if row["source"]["kind"] == "state"] == [{"kind": "state"}], "not recorded yet"
    turn = await world.results(other, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    assert turn["status"] == "completed"
    entries = await world.ledger(other)
    observed = [entry for entry in entries if entry["kind"] == "state_changed"]
    assert [(entry["turn"], entry["body"]["source"], entry["body"]["state"]) for entry in observed] == [
        (1, "observation", {"user": {"name": "Ann", "visits": 1}})
    ]
    at = entries.index(observed[0])
    assert [entry["kind"] for entry in entries[at - 1 : at + 2]] == ["tool_result", "state_changed", "model_call_started"]
    assert observed[0]["seq"] in turn["entry_seqs"]
    first, second = (await world.call("GET", f"/sessions/{other}/calls", 200)).json()["data"]
    for call, source in ((first, {"kind": "state"}), (second, {"kind": "state", "seq": observed[0]["seq"]})):
        shown = (await world.call("GET", f"/sessions/{other}/calls/{call['id']}", 200)).json()
        assert [row["source"] for row in shown["manifest"]["decisions"] if row["source"]["kind"] == "state"] == [source]
        assert (await world.call("GET", f"/sessions/{other}/calls/{call['id']}/model-input", 200)).json()["verified"] is True
    assert second["head_seq"] == observed[0]["seq"]


@pytest.mark.req("X-14", "X-01")
async def test_patches_of_several_sessions_at_once_lose_nothing(world: World) -> None:
    found = await sessions(world, 2, schema={"session": OPEN, "user": OPEN})
    done = await asyncio.gather(
        *[patch(world, found[n % 2], {"user": {f"k{n}": n, "deep": {f"d{n}": n}}, "session": {f"s{n}": n}}) for n in range(8)]
    )
    everything = {f"k{n}": n for n in range(8)} | {"deep": {f"d{n}": n for n in range(8)}}
    for at, session in enumerate(found):
        now = await state(world, session)
        assert now == {"session": {f"s{n}": n for n in range(8) if n % 2 == at}, "user": everything}
        assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
    assert sum(len(answer["state"]["user"]) == len(everything) for answer in done) == 1, "only the last one saw all"


@pytest.mark.req("X-14")
async def test_patches_beside_running_turns_of_both_sessions_lose_nothing(world: World) -> None:
    slow = {"text": "slow " * 10, "chunk_chars": 5, "delay_ms": 20}
    found = await sessions(world, 2, schema={"user": OPEN}, script=[slow])
    turns = [asyncio.create_task(world.turn(session)) for session in found for _ in range(1)]
    await asyncio.gather(*[patch(world, found[n % 2], {"user": {f"k{n}": n}}) for n in range(8)])
    assert {turn["status"] for turn in await asyncio.gather(*turns)} == {"completed"}
    for session in found:
        assert await state(world, session) == {"user": {f"k{n}": n for n in range(8)}}


@pytest.mark.req("X-14")
async def test_the_state_and_its_tags_survive_a_restart_and_show_on_another_replica(settings: Settings) -> None:
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        one, other = await sessions(world)
        await patch(world, one, {"user": {"name": "Ann"}})
    async with running(settings) as app, talking(app) as client, running(settings) as second, talking(second) as beside:
        world, replica = World(client), World(beside)
        assert await state(world, other) == await state(replica, other) == {"user": {"name": "Ann"}}
        await patch(replica, one, {"user": {"visits": 3}})
        await world.turn(other)
        assert await changes(world, other) == [("observation", ["/user"], {"user": {"name": "Ann", "visits": 3}})]


@pytest.mark.req("X-14")
async def test_entity_tags_tell_a_reader_of_what_other_sessions_did(world: World) -> None:
    one, other = await sessions(world)
    path, seen = f"/sessions/{other}/state", f"/sessions/{other}/model-input"
    tags = {p: (await world.call("GET", p, 200)).headers["etag"] for p in (path, seen)}
    assert tags[path] == '"1"'
    for asked, tag in tags.items():
        assert (await world.client.get(asked, headers={"if-none-match": tag})).status_code == 304
    await patch(world, one, {"user": {"name": "Ann"}})
    for asked, tag in tags.items():
        moved = await world.call("GET", asked, 200, headers={"if-none-match": tag})
        assert moved.headers["etag"] != tag
    tag = (await world.call("GET", path, 200)).headers["etag"]
    merged = await patch(world, other, {"user": {"visits": 1}}, headers={"if-match": tag})
    assert merged["state"] == {"user": {"name": "Ann", "visits": 1}}
    assert [source for source, _, _ in await changes(world, other)] == ["observation", "mutation"]
    await patch(world, other, {"user": {"visits": 2}}, 412, headers={"if-match": tag})


@pytest.mark.req("X-14")
async def test_what_an_earlier_release_or_an_import_recorded_stands_until_the_scope_is_written(settings: Settings) -> None:
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        one, other = await sessions(world)
        session = parse_id(SESSION, one)
        assert session is not None
        old = NewEntry("state_changed", '{"state":{"user":{"name":"Ann"}}}')
        await app.state.services.states._store.ledger.append(LOCAL_TENANT, session, Append(entries=(old,)))
        await world.turn(one)
        assert await state(world, one) == {"user": {"name": "Ann"}}
        assert (await kinds(world, one)).count("state_changed") == 1
        assert await state(world, other) == {}
        await patch(world, one, {"user": {"visits": 1}})
        assert await state(world, other) == {"user": {"name": "Ann", "visits": 1}}


@pytest.mark.req("X-14")
async def test_a_what_if_takes_state_by_scope_and_writes_nothing(world: World) -> None:
    session, _ = await sessions(world)
    path = f"/sessions/{session}/model-input"
    found = (await world.call("POST", path, 200, json={"input": "x", "state": {"user": {"name": "Eve"}, "session": {"topic": "t"}}})).json()
    assert found["head_seq"] == 1
    wrong = (await world.call("POST", path, 422, json={"input": "x", "state": {"user": {"visits": "many"}}})).json()
    assert [one["pointer"] for one in wrong["errors"]] == ["/state/user/visits"]
    assert await state(world, session) == {}


@pytest.mark.req("T-25", "X-86")
async def test_a_secret_key_is_in_no_error_manifest_event_or_body(world: World) -> None:
    one, other = await sessions(world, context=[{"renderer": "system", "text": "Be brief."}, {"renderer": "history"}])
    await patch(world, one, {"user": {"token": SECRET}})
    for wrong in ({"user": {"token": SECRET * 9}}, {"user": {"token": [SECRET]}}, {"user": {"token": SECRET, "visits": SECRET}}):
        for body in (await patch(world, one, wrong, 422), (await what_if(world, one, wrong)).json()):
            assert SECRET not in str(body)
            assert body["errors"][0]["pointer"].endswith(("/user/token", "/user/visits"))
    told = await world.stream(other)
    assert (await changes(world, other))[-1] == ("observation", ["/user"], {"user": {"token": SECRET}})
    assert SECRET not in str(told)
    assert SECRET not in str(await world.input(other)) + str(await world.raw(other))
    calls = (await world.call("GET", f"/sessions/{other}/calls", 200)).json()["data"]
    call = await world.call("GET", f"/sessions/{other}/calls/{calls[0]['id']}", 200)
    derived = await world.call("GET", f"/sessions/{other}/calls/{calls[0]['id']}/model-input", 200)
    assert SECRET not in call.text + derived.text
    assert await state(world, other) == {"user": {"token": SECRET}}, "the application's own read has it"


async def what_if(world: World, session: str, given: Any) -> Any:
    return await world.call("POST", f"/sessions/{session}/model-input", 422, json={"input": "x", "state": given})
