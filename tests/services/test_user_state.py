"""The state that the sessions of one user share: seen by each, recorded before its next call, and lost by none."""

import asyncio
from typing import Any

import pytest

from app.config.limits import USER_STATE_BYTES_MAX
from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.services.world import World

OPEN: dict[str, Any] = {"type": "object"}
SCHEMA: dict[str, Any] = {
    "session": {"type": "object", "properties": {"topic": {"type": "string"}}, "additionalProperties": False},
    "user": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "visits": {"type": "integer"}, "token": {"type": "string", "maxLength": 40, "writeOnly": True}},
        "additionalProperties": False,
    },
}
CALLING = {"tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}
SPOKEN = {"text": "Done."}
TOOLS = [{"name": "look"}]
SECRET = "s3cret-token-of-ann"


async def sessions(world: World, count: int = 2, user: str = "ann", schema: Any = SCHEMA, script: Any = (SPOKEN,), **more: Any) -> list[str]:
    agent = await world.agent(script, state_schema=schema, **more)
    return [await world.session(agent, user=user) for _ in range(count)]


async def patch(world: World, session: str, state: Any, expect: int = 200, **more: Any) -> Any:
    return (await world.call("PATCH", f"/sessions/{session}/state", expect, json=state, **more)).json()


async def state(world: World, session: str, **query: Any) -> Any:
    return (await world.call("GET", f"/sessions/{session}/state", 200, params=query)).json()["state"]


async def changes(world: World, session: str) -> list[tuple[Any, ...]]:
    """Source, changed places and state of each `state_changed` entry."""
    found = [entry["body"] for entry in await world.ledger(session) if entry["kind"] == "state_changed"]
    return [(body["source"], body["changed"], body["state"]) for body in found]


async def kinds(world: World, session: str) -> list[str]:
    return [entry["kind"] for entry in await world.ledger(session)]


@pytest.mark.req("X-14", "S4-42", "S4-46")
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


@pytest.mark.req("X-14", "S4-45", "S4-46", "S0-10", "T-31")
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


@pytest.mark.req("X-14", "X-05")
async def test_a_session_is_opened_with_what_its_user_has(world: World) -> None:
    agent = await world.agent(state_schema=SCHEMA)
    body = {"agent": agent, "user": "ann", "state": {"session": {"topic": "a"}, "user": {"name": "Ann", "visits": 1}}}
    first = (await world.call("POST", "/sessions", 201, json=body)).json()
    assert await changes(world, first["id"]) == [("direct", ["/session", "/user"], body["state"])]
    keyed = {"headers": {"idempotency-key": "k"}, "json": {"agent": agent, "user": "ann"}}
    second = (await world.call("POST", "/sessions", 201, **keyed)).json()
    assert second["head_seq"] == 2
    assert await changes(world, second["id"]) == [("observation", ["/user"], {"user": {"name": "Ann", "visits": 1}})]
    await patch(world, second["id"], {"user": {"visits": 2}})
    again = await world.call("POST", "/sessions", 201, **keyed)
    assert (again.json(), again.headers["idempotent-replayed"]) == (second, "true")
    third = await world.session(agent, user="ann", state={"user": {"visits": 9}})
    assert await state(world, third) == {"user": {"name": "Ann", "visits": 9}}
    assert (await state(world, first["id"]))["user"] == {"name": "Ann", "visits": 9}
    stranger = await world.session(agent, user="bob")
    assert await kinds(world, stranger) == ["session_opened"]
    await patch(world, first["id"], {"user": None})
    assert await state(world, third) == {}
    await world.turn(third)
    assert (await changes(world, third))[-1] == ("observation", ["/user"], {})
    await world.turn(third)
    assert len(await changes(world, third)) == 2


@pytest.mark.req("X-14")
async def test_sessions_opened_at_once_lose_nothing(world: World) -> None:
    agent = await world.agent(state_schema={"user": OPEN})
    found = await asyncio.gather(*[world.session(agent, user="ann", state={"user": {f"k{n}": n}}) for n in range(8)])
    assert await state(world, found[0]) == {"user": {f"k{n}": n for n in range(8)}}


@pytest.mark.req("X-14", "X-86")
async def test_what_does_not_fit_is_refused_with_its_place_and_changes_nothing(world: World) -> None:
    (session,) = await sessions(world, 1)
    agent = await world.agent(state_schema=SCHEMA)
    nobody = await world.session(agent)
    wrong = [
        (session, {"user": {"visits": "x"}}, "/user/visits", "wrong-type"),
        (session, {"user": {"zz": 1}}, "/user/zz", "unknown-field"),
        (session, {"user": 1}, "/user", "wrong-type"),
        (session, {"team": {"a": 1}}, "/team", "unknown-scope"),
        (session, {"temp": {"a": 1}}, "/temp", "unknown-scope"),
        (nobody, {"user": {"name": "Ann"}}, "/user", "no-user"),
    ]
    for place, body, pointer, code in wrong:
        problem = await patch(world, place, body, 422)
        assert [(one["pointer"], one["code"]) for one in problem["errors"]] == [(pointer, code)]
    opening = [
        ({"user": {"name": "Ann"}}, None, "/state/user", "no-user"),
        ({"user": {"visits": "x"}}, "ann", "/state/user/visits", "wrong-type"),
        ({"user": None}, "ann", "/state/user", "wrong-type"),
        ({"team": {}}, "ann", "/state/team", "unknown-scope"),
    ]
    for given, user, pointer, code in opening:
        answer = await world.call("POST", "/sessions", 422, json={"agent": agent, "user": user, "state": given})
        assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [(pointer, code)]
    large = await world.session(await world.agent(state_schema={"user": OPEN}), user="ann")
    problem = await patch(world, large, {"user": {"x": "y" * USER_STATE_BYTES_MAX}}, 422)
    assert [(one["pointer"], one["code"]) for one in problem["errors"]] == [("/user", "too-large")]
    assert await kinds(world, session) == await kinds(world, nobody) == await kinds(world, large) == ["session_opened"]
    assert await state(world, session) == await state(world, large) == {}
    await world.turn(nobody)


@pytest.mark.req("X-14")
async def test_a_full_session_takes_a_full_shared_state_and_goes_on(world: World) -> None:
    one, other = await sessions(world, schema={"session": OPEN, "user": OPEN})
    await patch(world, other, {"session": {str(n): "x" for n in range(5_000)}})
    await patch(world, one, {"user": {"y": "y" * (USER_STATE_BYTES_MAX - 100)}})
    assert (await world.turn(other))["status"] == "completed"
    assert len((await state(world, other))["user"]["y"]) == USER_STATE_BYTES_MAX - 100


@pytest.mark.req("X-14")
async def test_an_agent_that_does_not_share_looks_at_nothing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        (sharing,) = await sessions(world, 1)
        await patch(world, sharing, {"user": {"name": "Ann"}})
        looks: list[Any] = []
        rows = app.state.services.states._store.states
        read = rows.read

        async def counted(*given: Any) -> Any:
            looks.append(given)
            return await read(*given)

        monkeypatch.setattr(rows, "read", counted)
        own = await world.session(await world.agent(state_schema={"session": OPEN}), user="ann")
        await world.turn(own)
        assert looks == []
        assert "state_changed" not in await kinds(world, own)
        await world.turn(sharing)
        assert len(looks) == 2, "once when the turn is accepted and once before its call"


@pytest.mark.req("X-14", "S4-42")
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
