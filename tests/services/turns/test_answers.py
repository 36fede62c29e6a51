"""What a request about a turn is answered with where something else happened first: conditions, repeats, races, purges."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.storage.store import Store
from app.storage.types import Append, Appended
from tests.api.conftest import on_socket
from tests.services.turns.faulty import Real, around_appends, inside
from tests.services.turns.test_tools import CALL, DONE, TOOLS, TWO, waiting
from tests.services.world import World, client_of, roles

FAILS = {"error": {"status": 400}}
SSE = {"accept": "text/event-stream"}


@pytest.mark.req("X-03")
@pytest.mark.parametrize("how", ["header", "body"])
async def test_results_retries_and_regenerations_expect_the_head_that_they_name(world: World, how: str) -> None:
    def condition(head: int) -> dict[str, Any]:
        return {"headers": {"if-match": f'"{head}"'}, "json": {}} if how == "header" else {"json": {"expected_head": head}}

    async def post(path: str, head: int, expect: int, **body: Any) -> Any:
        given = condition(head)
        return (await world.call("POST", path, expect, headers=given.get("headers"), json={**body, **given["json"]})).json()

    async def head(session: str) -> int:
        return int((await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"])

    session, turn = await waiting(world, [CALL, DONE])
    now = await head(session)
    results = {"results": [{"tool_call_id": "c1", "content": "42"}]}
    stale = await post(f"/sessions/{session}/turns/{turn}/tool-results", now - 1, 412, **results)
    assert (stale["code"], stale["head_seq"]) == ("head-mismatch", now)
    assert (await post(f"/sessions/{session}/turns/{turn}/tool-results", now, 200, **results))["status"] == "completed"
    failed = await world.session(script=[FAILS, FAILS, DONE])
    turn = (await world.turn(failed))["id"]
    for verb in ("retry", "regenerate"):
        now = await head(failed)
        await post(f"/sessions/{failed}/turns/{turn}/{verb}", now - 1, 412)
        again = await post(f"/sessions/{failed}/turns/{turn}/{verb}", now, 200)
        assert again["retry_of"] == turn
        turn = again["id"]


async def test_a_turn_that_runs_again_keeps_its_flags_but_for_those_that_the_request_names(world: World) -> None:
    agent = await world.agent([FAILS, DONE, DONE], tools=TOOLS)
    session = await world.session(agent)
    first = await world.turn(session, overrides={"masked_tools": ["lookup"]}, on_disconnect="cancel")
    path = f"/sessions/{session}/turns/{first['id']}"
    second = (await world.call("POST", f"{path}/retry", 200)).json()
    third = (await world.call("POST", f"/sessions/{session}/turns/{second['id']}/regenerate", 200, json={"overrides": {}})).json()
    tools = [(await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}", 200)).json()["tools"] for turn in (first, second, third)]
    assert tools == [[], [], ["lookup"]]


@pytest.mark.req("X-04")
async def test_of_two_retries_at_once_one_finds_the_turn_no_longer_the_last(settings: Settings) -> None:
    async with inside(settings) as here:
        world = here.world
        session = await world.session(script=[FAILS, DONE, DONE])
        failed = await world.turn(session)
        raced: list[Any] = []

        async def late(append: Append, real: Real) -> Appended:
            if append.turn is not None and append.turn.new and not raced:
                raced.append(None)
                raced[0] = (await world.call("POST", f"/sessions/{session}/turns/{failed['id']}/retry", 200)).json()
            return await real()

        around_appends(here.store.ledger, late)
        refused = (await world.call("POST", f"/sessions/{session}/turns/{failed['id']}/retry", 409)).json()
        assert (raced[0]["status"], refused["code"]) == ("completed", "not-retryable")
        assert roles((await world.input(session))["body"]) == ["user", "assistant"]


@pytest.mark.parametrize("verb", ["retry", "tool-results"])
async def test_a_client_that_leaves_ends_a_turn_that_asked_for_it_also_when_it_goes_on(settings: Settings, verb: str) -> None:
    slow = {"text": "slow words " * 40, "chunk_chars": 5, "delay_ms": 50}
    async with on_socket(settings) as url, client_of(url) as client:
        world = World(client)
        first = FAILS if verb == "retry" else CALL
        session = await world.session(await world.agent([first, slow], tools=TOOLS))
        turn = (await world.turn(session, on_disconnect="cancel"))["id"]
        body = {} if verb == "retry" else {"results": [{"tool_call_id": "c1", "content": "42"}]}
        async with client.stream("POST", f"/sessions/{session}/turns/{turn}/{verb}", json=body, headers=SSE) as answer:
            async for line in answer.aiter_lines():
                if line == "event: text.delta":
                    break
        last = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"][-1]
        assert (await world.until(session, last["id"], "cancelled", "completed"))["status"] == "cancelled"


async def test_results_that_were_given_already_are_answered_with_what_the_turn_waits_for(world: World) -> None:
    session, turn = await waiting(world, [TWO, DONE])
    results = {"results": [{"tool_call_id": "c1", "content": "one"}]}
    path = f"/sessions/{session}/turns/{turn}/tool-results"
    streams = [(await world.call("POST", path, 200, json=results, headers=SSE)).text for _ in range(2)]
    assert [text.count("event: turn.requires_action") for text in streams] == [1, 1]
    assert [text.count('"pending":[{"tool_call_id":"c2"') for text in streams] == [1, 1]


async def test_a_late_result_of_a_settled_turn_is_told_that_it_is_settled(world: World) -> None:
    session, turn = await waiting(world, [CALL, DONE])
    await world.call("POST", f"/sessions/{session}/turns/{turn}/cancel", 200, json={})
    assert (await world.results(session, turn, [{"tool_call_id": "c1", "content": "late"}], 409))["code"] == "turn-settled"


async def test_a_stream_whose_beginning_was_purged_is_gone_rather_than_cut(settings: Settings, store: Store) -> None:
    async with inside(replace(settings, flush_ms=50)) as here:
        world = here.world
        session, turn = await waiting(world, [{**CALL, "text": "Let me see."}, DONE])
        await store.deltas.purge(0, 10_000)
        gone = await world.call("GET", f"/sessions/{session}/turns/{turn}/events", 410)
        assert gone.json()["code"] == "resume-gap"
        await world.results(session, turn, [{"tool_call_id": "c1", "content": "42"}])
        assert (await world.call("GET", f"/sessions/{session}/turns/{turn}/events", 410)).json()["code"] == "resume-gap"
        rest = await world.events(session, turn, after=1_000_000)
        assert rest[-1].event == "turn.completed"


@pytest.mark.req("X-06")
async def test_the_next_writer_settles_what_a_lost_process_left(settings: Settings) -> None:
    slow = {"text": "slow words " * 20, "chunk_chars": 11, "delay_ms": 100}
    async with inside(replace(settings, lease_seconds=300.0)) as here, inside(replace(settings, lease_seconds=300.0)) as other:
        session = await here.world.session(script=[slow, DONE])
        turn = await here.world.turn(session, expect=202, background=True)
        await asyncio.sleep(0.4)
        for task in here.desk.tasks:
            task.cancel()
        await here.expire()
        here.desk.running.clear()
        assert (await other.world.turn(session))["status"] == "completed"
        assert (await other.world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()["status"] == "interrupted"


async def test_a_waiting_turn_is_shown_as_its_next_call_would_be_made(world: World) -> None:
    more = [*TOOLS, {"name": "other"}]
    session = await world.session(await world.agent([CALL, DONE], tools=more))
    turn = await world.turn(session, overrides={"masked_tools": ["other"], "model": {"params": {"temperature": 0.5, "script": [CALL, DONE]}}})
    assert turn["status"] == "requires_action"
    body = (await world.input(session))["body"]
    assert ([tool["function"]["name"] for tool in body["tools"]], body["temperature"]) == (["lookup"], 0.5)
