"""Sessions that are opened with state, what does not fit, and what sharing costs those that do not share."""

import asyncio
from typing import Any

import pytest

from app.config.limits import USER_STATE_BYTES_MAX
from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.services.shared_states import OPEN, SCHEMA, changes, kinds, patch, sessions, state
from tests.services.world import World


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
