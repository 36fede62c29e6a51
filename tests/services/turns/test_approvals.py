"""Calls that somebody has to approve of: they wait, also across a restart, run once after an approval and never after a denial."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from tests.api.conftest import on_socket, running, talking
from tests.outbound.tool_servers.kit import Endpoint, configured, endpoint, taken
from tests.services.turns.test_crashes import served
from tests.services.world import World, client_of, text

PAY = {"text": "Paying.", "tool_calls": [{"id": "c1", "name": "pay", "arguments": '{"amount": 7}'}]}
DONE = {"text": "Done."}
STATE = {"session": {"type": "object", "properties": {"trusted": {"type": "boolean"}}}}


def pay(approval: Any = "always", executor: Any = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    return {"name": "pay", "parameters": schema, "executor": executor or {"kind": "http", "server": "desk"}, "approval": approval, **more}


def with_desk(settings: Settings, place: Endpoint) -> Settings:
    return replace(settings, tool_servers={"desk": configured(place.url)})


async def waiting(world: World, script: Any = (PAY, DONE), **tool: Any) -> tuple[str, Any]:
    session = await world.session(await world.agent(script, tools=[pay(**tool)], state_schema=STATE))
    return session, await world.turn(session)


async def decide(world: World, session: str, turn: Any, decisions: Any, expect: int = 200) -> Any:
    path = f"/sessions/{session}/turns/{turn['id']}/decisions"
    return (await world.call("POST", path, expect, json={"decisions": decisions}, headers={"accept": "application/json"})).json()


def one(decision: str, call: str = "c1", **more: Any) -> list[Any]:
    return [{"tool_call_id": call, "decision": decision, **more}]


@pytest.mark.req("T-23", "S0-18")
async def test_an_approval_is_waited_for_across_a_restart_and_the_tool_runs_once(settings: Settings) -> None:
    async with endpoint() as place:
        before = with_desk(settings, place)
        async with running(before) as app, talking(app) as client:
            session, turn = await waiting(World(client))
            assert turn["status"] == "requires_action"
            assert turn["pending"] == [{"tool_call_id": "c1", "name": "pay", "arguments": '{"amount": 7}', "needs": "approval"}]
        async with running(before) as app, talking(app) as client:
            world = World(client)
            view = await world.until(session, turn["id"], "requires_action")
            assert view["pending"] == turn["pending"]
            assert place.taken == []
            done = await decide(world, session, turn, one("approve"))
            assert done["status"] == "completed"
            assert [taken["tool_call_id"] for taken in place.taken] == ["c1"]
            assert (await decide(world, session, turn, one("approve")))["status"] == "completed"
            assert len(place.taken) == 1
            refused = await decide(world, session, turn, one("deny"), 409)
            assert refused["code"] == "turn-settled"
            kinds = [entry["kind"] for entry in await world.ledger(session)]
            assert kinds[kinds.index("approval_requested") :] == [
                "approval_requested",
                "approval_decided",
                "tool_started",
                "tool_result",
                "model_call_started",
                "assistant_message",
                "model_call_finished",
                "turn_settled",
            ]
            assert [text(entry) for entry in await world.raw(session)] == ["hello", "Paying.", "fine", "Done."]


async def test_a_denied_call_never_runs_and_the_model_is_told_why(settings: Settings) -> None:
    async with endpoint() as place, running(with_desk(settings, place)) as app, talking(app) as client:
        world = World(client)
        session, turn = await waiting(world)
        done = await decide(world, session, turn, one("deny", reason="Too much."))
        assert done["status"] == "completed"
        assert place.taken == []
        (result,) = [entry for entry in await world.raw(session) if entry["kind"] == "tool_result"]
        assert (result["body"]["is_error"], text(result)) == (True, "Not executed: the call was denied. Too much.")


async def test_a_condition_over_the_state_says_whether_to_ask(settings: Settings) -> None:
    async with endpoint() as place, running(with_desk(settings, place)) as app, talking(app) as client:
        world = World(client)
        rule = {"when": "state.trusted is none or not state.trusted"}
        agent = await world.agent((PAY, DONE, PAY, DONE), tools=[pay(rule)], state_schema=STATE)
        session = await world.session(agent)
        turn = await world.turn(session)
        assert [asked["needs"] for asked in turn["pending"]] == ["approval"]
        await decide(world, session, turn, one("approve"))
        await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"trusted": True}})
        assert (await world.turn(session, "again"))["status"] == "completed"
        assert len(place.taken) == 2


async def test_a_clients_tool_is_approved_first_and_answered_then(world: World) -> None:
    session, turn = await waiting(world, executor={"kind": "client"})
    assert [asked["needs"] for asked in turn["pending"]] == ["approval"]
    early = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "x"}], expect=409)
    assert early["code"] == "approval-needed"
    turn = await decide(world, session, turn, one("approve"))
    assert [asked["needs"] for asked in turn["pending"]] == ["result"]
    assert (await decide(world, session, turn, one("deny"), 409))["code"] == "decision-conflict"
    assert (await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "x"}]))["status"] == "completed"


async def test_of_two_calls_one_decision_keeps_the_turn_waiting_for_the_other(settings: Settings) -> None:
    two = {"tool_calls": [{"id": f"c{number}", "name": "pay", "arguments": '{"amount": 1}'} for number in (1, 2)]}
    async with endpoint() as place, running(with_desk(settings, place)) as app, talking(app) as client:
        world = World(client)
        session, turn = await waiting(world, (two, DONE))
        turn = await decide(world, session, turn, one("deny"))
        assert [asked["tool_call_id"] for asked in turn["pending"]] == ["c2"]
        found = await decide(world, session, turn, [*one("approve", "c2"), *one("approve", "c9")], 422)
        assert [(fault["pointer"], fault["code"]) for fault in found["errors"]] == [("/decisions/1/tool_call_id", "no-approval-asked")]
        assert (await decide(world, session, turn, one("approve", "c2")))["status"] == "completed"
        assert [taken["tool_call_id"] for taken in place.taken] == ["c2"]
        events = await world.events(session, turn["id"])
        results = [frame.data["tool_call_id"] for frame in events if frame.event == "tool_result.committed"]
        assert (results, events[-1].event) == (["c1", "c2"], "turn.completed")
        assert [frame.id for frame in events] == sorted({frame.id for frame in events})


@pytest.mark.req("X-06")
async def test_a_decision_under_a_key_is_taken_once_and_says_so(settings: Settings) -> None:
    async with endpoint() as place, running(with_desk(settings, place)) as app, talking(app) as client:
        world = World(client)
        session, turn = await waiting(world)
        path = f"/sessions/{session}/turns/{turn['id']}/decisions"
        headers = {"accept": "application/json", "idempotency-key": "k1"}
        stale = await world.call("POST", path, 412, json={"decisions": one("approve")}, headers={"if-match": '"1"'})
        assert stale.json()["code"] == "head-mismatch"
        unknown = await world.call("POST", path, 422, json={"decisions": one("approve", why="x")})
        assert [fault["pointer"] for fault in unknown.json()["errors"]] == ["/decisions/0/why"]
        answers = [await client.post(path, json={"decisions": one("approve")}, headers=headers) for _ in range(2)]
        assert [(answer.status_code, answer.json()["status"]) for answer in answers] == [(200, "completed")] * 2
        assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true"]
        other = await world.call("POST", path, 422, json={"decisions": one("deny")}, headers=headers)
        assert other.json()["code"] == "idempotency-key-reused"
        streaming = await client.post(path, json={"decisions": one("approve")}, headers={**headers, "accept": "text/event-stream"})
        assert [line for line in streaming.text.splitlines() if line.startswith("event: ")][-1] == "event: turn.completed"
        assert len(place.taken) == 1


@pytest.mark.req("T-23", "X-01")
async def test_approvals_that_come_at_once_on_two_replicas_are_one(settings: Settings) -> None:
    async with endpoint() as place:
        here = with_desk(settings, place)
        async with on_socket(here) as url, on_socket(here) as other, client_of(url) as first, client_of(other) as second:
            worlds = [World(first), World(second)]
            session, turn = await waiting(worlds[0])
            path = f"/sessions/{session}/turns/{turn['id']}/decisions"
            body = {"decisions": one("approve"), "background": True}
            answers = await asyncio.gather(*(world.client.post(path, json=body) for world in worlds * 3))
            assert {answer.status_code for answer in answers} <= {202, 409}
            assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {"session-busy"}
            await worlds[0].until(session, turn["id"], "completed")
            assert len(place.taken) == 1
            kinds = [entry["kind"] for entry in await worlds[0].ledger(session)]
            assert (kinds.count("approval_decided"), kinds.count("tool_started")) == (1, 1)


async def test_a_cancelled_turn_is_not_approved_any_more(settings: Settings) -> None:
    async with endpoint() as place, running(with_desk(settings, place)) as app, talking(app) as client:
        world = World(client)
        session, turn = await waiting(world)
        await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/cancel", 200, json={})
        assert (await decide(world, session, turn, one("approve"), 409))["code"] == "turn-settled"
        assert place.taken == []


@pytest.mark.req("X-78", "X-92")
@pytest.mark.parametrize(("repeatable", "runs"), [(False, 1), (True, 1)])
async def test_a_service_that_is_killed_in_a_run_never_runs_it_twice(tmp_path: Any, monkeypatch: Any, repeatable: bool, runs: int) -> None:
    """What a lost holder leaves behind is settled, not gone on with: also a repeatable tool is closed with the turn."""
    async with endpoint(pause_seconds=30.0) as place:
        config = tmp_path / "context-ledger.toml"
        config.write_text(
            f'[tool_servers.desk]\nkind = "http"\nurl = "{place.url}"\nallow_private_network = true\n'
            'signing_key_env = "DESK_KEY"\nheaders_env = { "Authorization" = "DESK_TOKEN" }\n'
        )
        desk: Any = configured(place.url)
        monkeypatch.setenv("DESK_KEY", desk.signing_key.reveal())
        monkeypatch.setenv("DESK_TOKEN", desk.headers["Authorization"].reveal())
        monkeypatch.setenv("CONTEXT_LEDGER_CONFIG", str(config))
        async with served(tmp_path / "data") as (world, process):
            session, turn = await waiting(world, repeatable=repeatable)
            path = f"/sessions/{session}/turns/{turn['id']}/decisions"
            await world.call("POST", path, 202, json={"decisions": one("approve"), "background": True})
            await taken(place, 1)
            process.kill()
            await asyncio.to_thread(process.wait, 10)
        async with served(tmp_path / "data") as (world, _):
            view = await world.until(session, turn["id"], "interrupted", seconds=30)
            assert view["error"]["code"] == "lease-lost"
            (result,) = [entry for entry in await world.raw(session) if entry["kind"] == "tool_result"]
            assert result["body"]["is_error"] is True
            assert "outcome is unknown" in text(result)
            assert (await world.turn(session, "again"))["status"] == "completed"
            assert len(place.taken) == runs
            body = json.dumps((await world.input(session))["body"])
            assert "outcome is unknown" in body
