"""Tools of servers in turns: an MCP server of the official SDK, whose failures are results, and signed posts that run at once."""

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from mcp.server.fastmcp import FastMCP

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.outbound.tool_servers.kit import configured, endpoint, mcp_server, taken
from tests.services.world import World, text

DONE = {"text": "Done."}


def define(server: FastMCP, calls: list[Any]) -> None:
    @server.tool()
    async def weather(city: str) -> str:
        """The weather of a city."""
        calls.append(city)
        return f"Rain in {city}."

    @server.tool()
    async def broken() -> str:
        """Always fails."""
        raise RuntimeError("secret-of-the-server")

    @server.tool()
    async def slow() -> str:
        """Takes its time."""
        await asyncio.sleep(30)
        return "late"

    @server.tool()
    async def huge() -> str:
        """Says too much."""
        return "x" * 200_000


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "executor": {"kind": "mcp", "server": "notes"}} for name in names]


def asks(*calls: tuple[str, str]) -> dict[str, Any]:
    return {"tool_calls": [{"id": f"c{at}", "name": name, "arguments": arguments} for at, (name, arguments) in enumerate(calls)]}


@pytest.mark.req("T-23", "S4-22")
async def test_an_mcp_servers_tools_answer_in_a_turn_and_its_failures_are_results(settings: Settings) -> None:
    names = ("weather", "broken", "slow", "huge")
    async with mcp_server(define) as place:
        server = configured(place.url, "mcp", "notes", timeout_seconds=1.0, result_bytes_max=100_000)
        async with running(replace(settings, tool_servers={"notes": server})) as app, talking(app) as client:
            world = World(client)
            script = [asks(("weather", '{"city": "Bergen"}'), ("broken", "{}"), ("slow", "{}"), ("huge", "{}"), ("weather", "{}")), DONE]
            session = await world.session(await world.agent(script, tools=tools(*names)))
            turn = await world.turn(session)
            assert (turn["status"], turn["error"]) == ("completed", None)
            results = {entry["body"]["tool_call_id"]: entry for entry in await world.raw(session) if entry["kind"] == "tool_result"}
            assert [results[key]["body"]["is_error"] for key in sorted(results)] == [False, True, True, True, True]
            assert text(results["c0"]) == "Rain in Bergen."
            assert len(text(results["c3"])) < 1_000
            assert "city" in text(results["c4"])
            assert place.calls == ["Bergen"]
            body = (await world.input(session))["body"]
            assert body["tools"][0]["function"]["description"] == "The weather of a city."
            assert [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"] == list(results), (
                "in the order in which they came"
            )


@pytest.mark.req("T-23")
async def test_tools_of_one_answer_run_at_once_and_a_stop_ends_them(settings: Settings) -> None:
    async with endpoint(pause_seconds=1.0) as place:
        server = configured(place.url)
        async with running(replace(settings, tool_servers={"desk": server})) as app, talking(app) as client:
            world = World(client)
            lookup = {"name": "lookup", "executor": {"kind": "http", "server": "desk"}}
            search = {**lookup, "name": "search", "repeatable": True}
            four = asks(*[("lookup", "{}"), ("search", "{}")] * 2)
            session = await world.session(await world.agent([four, DONE, four], tools=[lookup, search]))
            began = time.monotonic()
            assert (await world.turn(session))["status"] == "completed"
            assert time.monotonic() - began < 3.5, "four runs of a second each, at once"
            assert len(place.taken) == 4
            place.pause_seconds = 30.0
            turn = await world.turn(session, "again", expect=202, background=True)
            await taken(place, 8)
            done = (await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/cancel", 200, json={})).json()
            view = done if done["status"] == "cancelled" else await world.until(session, turn["id"], "cancelled")
            assert view["status"] == "cancelled"
            results = [entry for entry in await world.raw(session) if entry["kind"] == "tool_result"][4:]
            assert [entry["body"]["is_error"] for entry in results] == [True] * 4
            assert all("outcome is unknown" in text(entry) for entry in results)
            again = {entry["body"]["name"]: "may be called again" in text(entry) for entry in results}
            assert again == {"lookup": False, "search": True}, "the tool's own word on repeating it holds for a stop too"


@pytest.mark.req("X-79")
async def test_a_service_that_ends_during_a_run_says_what_it_does_not_know(settings: Settings) -> None:
    async with endpoint(pause_seconds=30.0) as place:
        here = replace(settings, tool_servers={"desk": configured(place.url)}, drain_seconds=0.2)
        lookup = {"name": "lookup", "executor": {"kind": "http", "server": "desk"}}
        async with running(here) as app, talking(app) as client:
            world = World(client)
            session = await world.session(await world.agent([asks(("lookup", "{}"), ("lookup", "[]")), DONE], tools=[lookup]))
            turn = await world.turn(session, expect=202, background=True)
            await taken(place, 1)
        async with running(here) as app, talking(app) as client:
            world = World(client)
            view = (await world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()
            assert (view["status"], view["error"]["code"]) == ("interrupted", "shutdown")
            results = {entry["body"]["tool_call_id"]: text(entry) for entry in await world.raw(session) if entry["kind"] == "tool_result"}
            assert "outcome is unknown" in results["c0"]
            assert "have to be a JSON object" in results["c1"]
            events = await world.events(session, turn["id"])
            assert events[-1].event == "turn.interrupted"
            assert (await world.turn(session, "again"))["status"] == "completed"


@pytest.mark.req("T-23")
async def test_long_arguments_reach_the_server_and_the_agent_also_after_an_approval(settings: Settings) -> None:
    async with endpoint() as place, running(replace(settings, tool_servers={"desk": configured(place.url)})) as app, talking(app) as client:
        world, long = World(client), json.dumps({"q": "y" * 60_000})
        waits = {"approval": "always"}
        script = [asks(("lookup", long), ("consult", long)), {"text": "Inner."}, DONE]
        await world.agent(script, name="expert")
        consult = {"name": "consult", "executor": {"kind": "agent", "agent": "expert", "mode": "call"}, **waits}
        lookup = {"name": "lookup", "executor": {"kind": "http", "server": "desk"}, **waits}
        session = await world.session(await world.agent(script, tools=[lookup, consult]))
        turn = await world.turn(session)
        assert [len(one["arguments"]) for one in turn["pending"]] == [len(long)] * 2
        body = {"decisions": [{"tool_call_id": f"c{at}", "decision": "approve"} for at in range(2)]}
        path = f"/sessions/{session}/turns/{turn['id']}/decisions"
        done = await world.call("POST", path, 200, json=body, headers={"accept": "application/json"})
        assert done.json()["status"] == "completed"
        assert place.taken[0]["arguments"] == json.loads(long)
        (told,) = await world.ledger(session, kinds="agent_message")
        assert text(told) == "y" * 60_000
