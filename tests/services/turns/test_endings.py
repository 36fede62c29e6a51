"""Ends from outside: cancel, stop, a newer input, an abandoned wait, a client that leaves, a service that closes."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from app.config.settings import Settings
from app.main import create_app
from tests.api.conftest import talking
from tests.services.turns.test_tools import CALL, DONE, TOOLS, waiting
from tests.services.world import World, said, text

SLOW_TEXT = "slow words " * 60
SLOW = {"text": SLOW_TEXT, "chunk_chars": 11, "delay_ms": 40}


async def started(world: World, session: str, **more: object) -> str:
    """A slow turn in the background that has begun to speak."""
    turn = await world.turn(session, expect=202, background=True, **more)
    await world.events(session, turn["id"], until="text.delta")
    return str(turn["id"])


@pytest.mark.req("T-10", "X-79")
async def test_a_cancel_keeps_the_partial_answer_and_marks_it(socket_world: World) -> None:
    world = socket_world
    session = await world.session(script=[SLOW, {"text": "Again."}])
    turn_id = await started(world, session)
    turn = (await world.call("POST", f"/sessions/{session}/turns/{turn_id}/cancel", 200, json={})).json()
    assert turn["status"] == "cancelled"
    _, answer = await world.raw(session)
    assert answer["body"]["status"] == "cancelled"
    assert SLOW_TEXT.startswith(text(answer))
    again = (await world.call("POST", f"/sessions/{session}/turns/{turn_id}/cancel", 200, json={})).json()
    assert again["status"] == "cancelled"
    interruptions = await world.ledger(session, kinds="interruption")
    assert [one["body"]["reason"] for one in interruptions] == ["user"]
    assert [one["role"] for one in (await world.input(session))["body"]["messages"]] == ["user"]
    assert (await world.turn(session))["status"] == "completed"
    events = await world.events(session, turn_id)
    assert [one.event for one in events][-2:] == ["message.committed", "turn.cancelled"]
    assert text(events[-2].data["message"]) == said(events)


async def test_a_stop_on_another_replica_is_heard_by_the_holder(socket_world: World, other_world: World) -> None:
    session = await socket_world.session(script=[SLOW])
    turn_id = await started(socket_world, session)
    stopped = (await other_world.call("POST", f"/sessions/{session}/stop", 200, json={})).json()
    assert stopped["turn"]["id"] == turn_id
    view = await socket_world.until(session, turn_id, "cancelled", seconds=4)
    assert view["error"] is None
    idle = (await other_world.call("POST", f"/sessions/{session}/stop", 200, json={})).json()
    assert idle["turn"] is None


async def test_a_newer_input_interrupts_the_running_turn(socket_world: World) -> None:
    world = socket_world
    session = await world.session(script=[SLOW, {"text": "New."}])
    old = await started(world, session)
    new = await world.turn(session, "rather this", on_busy="interrupt")
    assert new["status"] == "completed"
    assert (await world.until(session, old, "cancelled"))["number"] == 1
    assert [one["body"]["reason"] for one in await world.ledger(session, kinds="interruption")] == ["superseded"]
    kinds = [(entry["kind"], entry["body"].get("status")) for entry in await world.raw(session)]
    assert kinds == [("user_message", None), ("assistant_message", "cancelled"), ("user_message", None), ("assistant_message", "completed")]


async def test_a_waiting_turn_is_abandoned_for_a_new_one(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    new = await world.turn(session, "never mind", on_pending="abandon")
    assert new["status"] == "completed"
    old = (await world.call("GET", f"/sessions/{session}/turns/{turn_id}", 200)).json()
    assert (old["status"], old["pending"]) == ("cancelled", [])
    results = await world.raw(session, kinds="tool_result")
    assert [(one["body"]["tool_call_id"], one["body"]["is_error"]) for one in results] == [("c1", True)]
    events = await world.events(session, turn_id)
    assert events[-1].event == "turn.cancelled"


async def test_a_waiting_turn_is_cancelled_and_its_calls_closed(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    turn = (await world.call("POST", f"/sessions/{session}/turns/{turn_id}/cancel", 200, json={})).json()
    assert turn["status"] == "cancelled"
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "idle"
    assert len(await world.raw(session, kinds="tool_result")) == 1


async def test_a_client_that_leaves_cancels_only_where_it_asked_for_that(socket_world: World) -> None:
    world = socket_world
    session = await world.session(script=[SLOW])
    await world.stream(session, until="text.delta", on_disconnect="cancel")
    first = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"][0]
    assert (await world.until(session, first["id"], "cancelled", "completed"))["status"] == "cancelled"
    await world.stream(session, until="text.delta")
    second = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"][1]
    assert (await world.until(session, second["id"], "cancelled", "completed"))["status"] == "completed"


async def test_a_json_client_that_leaves_cancels_where_it_asked_for_that(socket_world: World) -> None:
    world = socket_world
    session = await world.session(script=[SLOW])
    with pytest.raises(httpx.ReadTimeout):
        await world.client.post(f"/sessions/{session}/turns", json={"input": "x", "on_disconnect": "cancel"}, timeout=0.5)
    turn = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"][0]
    assert (await world.until(session, turn["id"], "cancelled", "completed"))["status"] == "cancelled"


async def test_a_service_that_closes_settles_its_turns_with_what_they_have(settings: Settings) -> None:
    app = create_app(replace(settings, drain_seconds=0.2))
    async with app.router.lifespan_context(app), talking(app) as client:
        world = World(client)
        session = await world.session(script=[SLOW])
        turn = await world.turn(session, expect=202, background=True)
        await asyncio.sleep(0.4)
        await app.state.drain()
        assert (await client.get("/readyz")).status_code == 503
        refused = await client.post(f"/sessions/{session}/turns", json={"input": "x"})
        assert refused.status_code == 503, refused.text
        view = (await world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()
        assert (view["status"], view["error"]["code"]) == ("interrupted", "shutdown")
        answer = (await world.raw(session))[1]
        assert answer["body"]["status"] == "interrupted"
        assert text(answer)
        assert SLOW_TEXT.startswith(text(answer))


async def test_tools_are_named_in_the_waiting_event(socket_world: World) -> None:
    session = await socket_world.session(await socket_world.agent([CALL, DONE], tools=TOOLS))
    events = await socket_world.stream(session)
    assert events[-1].event == "turn.requires_action"
    turn = events[-1].data["turn"]
    assert turn["pending"] == [{"tool_call_id": "c1", "name": "lookup", "arguments": '{"q": 1}', "needs": "result"}]
    now = (await socket_world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()
    assert now == turn
