"""A session that is cleared: its line begins anew, and everything that it ever held stays."""

import asyncio
from typing import Any

import pytest

from tests.services.turns.test_plans import plan as planned
from tests.services.turns.test_plans import planning
from tests.services.world import World, text

SLOW = [{"text": "one two three", "chunk_chars": 2, "delay_ms": 30_000}]
ASKS = [{"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}]
TOOLS = [{"name": "lookup", "description": "d", "parameters": {"type": "object"}}]


async def cleared(world: World, session: str, expect: int = 200, **more: Any) -> Any:
    return (await world.call("POST", f"/sessions/{session}/clear", expect, **more)).json()


async def texts(world: World, session: str, **query: Any) -> list[str]:
    return [text(entry) for entry in await world.raw(session, **query)]


@pytest.mark.req("X-12")
async def test_the_line_begins_anew_and_the_ledger_stays(world: World) -> None:
    session = await world.session(script=[{"text": "first", "usage": {"input": 5, "output": 2}}, {"text": "second"}])
    before_turn = await world.turn(session, "one")
    before = (await world.call("GET", f"/sessions/{session}", 200)).json()
    answer = await world.call("POST", f"/sessions/{session}/clear", 200)
    head = before["head_seq"] + 1
    found = answer.json()
    assert answer.headers["etag"] == f'"{head}.0"'
    assert found == (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (found["id"], found["head_seq"], found["usage"]) == (session, head, before["usage"])
    assert found["line"] == [{"from_seq": head, "through_seq": None}]
    (entry,) = await world.ledger(session, kinds="cleared")
    assert (entry["seq"], entry["body"]) == (head, {"through_seq": head - 1})
    assert await texts(world, session) == []
    assert await texts(world, session, line="all") == ["one", "first"]
    assert (await world.input(session))["body"]["messages"] == []
    turn = await world.turn(session, "two")
    assert (turn["status"], turn["follows"], turn["number"]) == ("completed", "start", 2)
    assert await texts(world, session) == ["two", "second"]
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": before_turn["id"]})
    assert await texts(world, session) == ["one", "first"]
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]


@pytest.mark.req("X-12")
async def test_a_plan_from_before_does_not_hold_until_its_line_is_back(world: World) -> None:
    session = await planning(world, [planned(), {"text": "Here."}])
    turn = await world.turn(session)
    held = (await world.call("GET", f"/sessions/{session}/plan", 200)).json()
    assert held["plan"] is not None
    rows = (await world.input(session))["manifest"]["decisions"]
    assert any(row["source"]["kind"] == "plan" and row["source"]["seq"] == held["seq"] for row in rows)
    await cleared(world, session)
    gone = (await world.call("GET", f"/sessions/{session}/plan", 200)).json()
    assert (gone["seq"], gone["plan"], gone["last_change"]) == (None, None, None)
    rows = (await world.input(session))["manifest"]["decisions"]
    assert not any(row["source"]["kind"] == "plan" and row["source"].get("seq") for row in rows)
    then = await world.input(session, at_seq=held["seq"])
    assert any(row["source"]["kind"] == "plan" and row["source"].get("seq") == held["seq"] for row in then["manifest"]["decisions"])
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": turn["id"]})
    assert (await world.call("GET", f"/sessions/{session}/plan", 200)).json() == held


@pytest.mark.req("X-12")
async def test_only_an_idle_session_is_cleared(world: World) -> None:
    busy = await world.session(script=SLOW)
    turn = await world.turn(busy, expect=202, background=True)
    refused = await cleared(world, busy, 409)
    assert (refused["code"], refused["turn_id"]) == ("session-busy", turn["id"])
    await world.call("POST", f"/sessions/{busy}/stop", 200)
    waiting = await world.session(await world.agent(ASKS, tools=TOOLS))
    turn = await world.turn(waiting)
    refused = await cleared(world, waiting, 409)
    assert (refused["code"], refused["turn_id"]) == ("pending-action", turn["id"])
    assert await world.ledger(waiting, kinds="cleared") == []


@pytest.mark.req("X-12", "X-05")
async def test_a_key_clears_once_and_gives_its_first_answer_again(world: World) -> None:
    session = await world.session()
    await world.turn(session)
    headers = {"Idempotency-Key": "k"}
    answers = await asyncio.gather(*[world.call("POST", f"/sessions/{session}/clear", 200, headers=headers) for _ in range(4)])
    await world.turn(session)
    answers.append(await world.call("POST", f"/sessions/{session}/clear", 200, headers=headers))
    assert len({answer.text for answer in answers}) == len({answer.headers["etag"] for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 4
    assert len(await world.ledger(session, kinds="cleared")) == 1
    reused = await cleared(world, session, 422, headers=headers, json={"expected_head": 1})
    assert reused["code"] == "idempotency-key-reused"


async def test_an_expected_head_is_held_to(world: World) -> None:
    session = await world.session()
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    assert (await cleared(world, session, 412, json={"expected_head": head + 1}))["code"] == "head-mismatch"
    assert (await cleared(world, session, 412, headers={"If-Match": '"77"'}))["code"] == "head-mismatch"
    assert (await cleared(world, session, 422, json={"reason": "x"}))["errors"][0]["pointer"] == "/reason"
    await world.call("POST", "/sessions/ses_x/clear", 404)
    assert (await cleared(world, session, 200, headers={"If-Match": f'"{head}.0"'}))["head_seq"] == head + 1
