"""One call of a turn: what it is compiled from, whether it leaves, and what comes of an answer that is cut, broken or whole."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.config.upstreams import Upstream
from app.outbound.exchange import Outgoing
from app.services.relays import Relay
from app.storage.types import Append, Appended
from tests.services.turns.faulty import Real, around_appends, inside, kinds
from tests.services.turns.test_tools import CALL, DONE, TOOLS, waiting
from tests.services.world import World, text

RENAMED = [{"name": "lookup", "description": "The second revision's."}]


@pytest.mark.req("S1-09", "T-12", "S3-39")
@pytest.mark.parametrize("change", [{"agent": "second"}, {"agent_revision": 2}, {"agent_revision": "latest"}])
async def test_a_turn_goes_on_under_the_agent_that_it_began_with(world: World, change: dict[str, Any]) -> None:
    first = [{"renderer": "system", "text": "FIRST"}, {"renderer": "history"}]
    second = [{"renderer": "system", "text": "SECOND"}, {"renderer": "history"}]
    agent = await world.agent([CALL, DONE], name="first", tools=TOOLS, context=first)
    session = (await world.call("POST", "/sessions", 201, json={"agent": agent, "agent_revision": 1})).json()["id"]
    turn = await world.turn(session)
    await world.agent([DONE], name="first", tools=RENAMED, context=second)
    await world.agent([DONE], name="second", tools=[], context=second)
    await world.call("PATCH", f"/sessions/{session}", 200, json=change)
    next_input = await world.input(session)
    assert next_input["body"]["messages"][0]["content"] == "FIRST"
    view = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    assert view["status"] == "completed"
    for call_id in view["calls"]:
        call = (await world.call("GET", f"/sessions/{session}/calls/{call_id}", 200)).json()
        seen = (await world.call("GET", f"/sessions/{session}/calls/{call_id}/model-input", 200)).json()
        assert (call["agent"], seen["agent"], seen["verified"]) == ("first", {"name": "first", "revision": 1}, True)
        assert seen["body"]["messages"][0]["content"] == "FIRST"
    assert next_input["awaiting"] == "tool_results"
    after = await world.turn(session, "next")
    seen = (await world.call("GET", f"/sessions/{session}/calls/{after['calls'][0]}/model-input", 200)).json()
    assert seen["body"]["messages"][0]["content"] == "SECOND"


@pytest.mark.req("T-13")
async def test_a_model_switch_holds_from_the_next_call_on(world: World) -> None:
    session, turn = await waiting(world, [CALL, DONE])
    model = {"upstream": "scripted", "name": "other", "params": {"script": [CALL, {"text": "The other one."}]}}
    put = await world.call("PATCH", f"/sessions/{session}", 422, json={"model": model})
    assert put.json()["code"] == "unknown-capacity"
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {**model, "name": "gpt-4o"}})
    view = await world.results(session, turn, [{"tool_call_id": "c1", "content": "42"}])
    calls = [(await world.call("GET", f"/sessions/{session}/calls/{one}", 200)).json()["model"] for one in view["calls"]]
    assert calls == ["scripted", "gpt-4o"]


@pytest.mark.req("S2-30", "T-31")
@pytest.mark.parametrize("moment", ["before model_call_started", "after model_call_started"])
async def test_a_stop_that_comes_before_the_dispatch_keeps_the_call_at_home(settings: Settings, moment: str) -> None:
    async with inside(settings) as here:
        world = here.world
        stopping: list[Any] = []
        sent: list[Outgoing] = []
        desk: Any = here.desk
        channel_of = desk.loop._calls._channel_of

        def watched(upstream: Upstream) -> Any:
            sent.append(channel_of(upstream))
            return sent[-1]

        desk.loop._calls._channel_of = watched

        async def stopped(append: Append, real: Real) -> Appended:
            if kinds(append) == {"model_call_started"} and not stopping:
                done = await real() if moment.startswith("after") else None
                stopping.append(asyncio.create_task(world.call("POST", f"/sessions/{session}/stop", 200, json={})))
                await asyncio.sleep(0.3)
                return done or await real()
            return await real()

        around_appends(here.store.ledger, stopped)
        session = await world.session(script=[{"text": "Unheard."}])
        turn = await world.turn(session, expect=202, background=True)
        view = await world.until(session, turn["id"], "cancelled")
        await asyncio.gather(*stopping)
        assert sent == []
        assert len(view["calls"]) == (1 if moment.startswith("after") else 0)
        assert [entry["kind"] for entry in await world.raw(session)] == ["user_message"]


@pytest.mark.req("X-92")
async def test_an_answer_that_is_whole_stays_whole_whatever_ends_the_turn(settings: Settings) -> None:
    async with inside(settings) as here:
        world = here.world
        read = Relay._read

        async def lingering(*given: Any) -> None:
            await read(*given)
            next(iter(here.desk.running.values())).stop.set()
            await asyncio.sleep(5)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Relay, "_read", lingering)
            session = await world.session(script=[{"text": "Whole."}])
            assert (await world.turn(session))["status"] == "completed"
        answer = (await world.raw(session))[1]
        assert (text(answer), answer["body"]["status"]) == ("Whole.", "completed")


async def test_an_answer_that_cannot_be_read_fails_the_turn_with_what_came(settings: Settings) -> None:
    async with inside(settings) as here:
        world = here.world
        say, said = Relay._say, 0

        def broken(*given: Any) -> None:
            nonlocal said
            said += 1
            if said == 4:
                raise KeyError("a chunk that nobody expected")
            say(*given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Relay, "_say", broken)
            session = await world.session(script=[{"text": "Some words that come", "chunk_chars": 2}, DONE])
            turn = await world.turn(session)
        assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-error")
        assert "unexpected" not in turn["error"]["detail"]
        assert text((await world.raw(session))[1]) == "Some w"
        assert (await world.turn(session, "again"))["status"] == "completed"


async def test_a_model_that_is_not_configured_any_more_is_refused_before_and_within_a_turn(settings: Settings) -> None:
    gone = Upstream("gone", "openai-chat", "http://127.0.0.1:9/v1")
    before = replace(settings, upstreams={**settings.upstreams, "gone": gone})
    model = {"upstream": "gone", "name": "gpt-4o"}
    async with inside(before) as here:
        agent = await here.world.agent(name="elsewhere", model=model, tools=TOOLS)
        session = (await here.world.call("POST", "/sessions", 201, json={"agent": agent})).json()["id"]
        scripted, turn = await waiting(here.world, [CALL, DONE])
        await here.world.call("PATCH", f"/sessions/{scripted}", 200, json={"model": model})
    async with inside(settings) as here:
        refused = await here.world.turn(session, expect=422)
        assert refused["errors"][0]["code"] == "unknown-upstream"
        assert [entry["kind"] for entry in await here.world.ledger(session)] == ["session_opened"]
        view = await here.world.results(scripted, turn, [{"tool_call_id": "c1", "content": "42"}])
        assert (view["status"], view["error"]["code"]) == ("failed", "upstream-error")
        assert (await here.world.call("GET", f"/sessions/{scripted}/verify", 200)).json()["ok"] is True
