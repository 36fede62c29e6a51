"""Section records: which system sections changed from one dispatched call to the next, without their text."""

from typing import Any

import pytest

from tests.services.world import World

CALLING = {"tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}
SPOKEN = {"text": "Done."}


def context(**texts: str) -> list[dict[str, Any]]:
    return [*[{"renderer": "system", "id": name, "text": text} for name, text in texts.items()], {"renderer": "history"}]


async def records(world: World, session: str) -> list[Any]:
    return [entry for entry in await world.ledger(session) if entry["kind"] == "sections_recorded"]


@pytest.mark.req("S2-49", "X-28", "T-14")
async def test_the_first_dispatched_call_records_all_sections_and_later_ones_what_changed(world: World) -> None:
    agent = await world.agent([CALLING, SPOKEN], context=context(identity="UNSEEN nurse", brief="short"), tools=[{"name": "look"}])
    session = await world.session(agent)
    turn = await world.turn(session)
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "x"}])
    await world.turn(session)
    (first,) = await records(world, session)
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert len(calls) == 3
    call = (await world.call("GET", f"/sessions/{session}/calls/{calls[0]['id']}", 200)).json()
    rows = {row["source"]["renderer"]: row for row in call["manifest"]["decisions"] if row["source"]["kind"] == "system"}
    assert first["body"] == {
        "call_id": call["id"],
        "sections": {name: {"digest": row["digest"], "tokens": row["tokens_after"]} for name, row in rows.items()},
        "changed": ["identity", "brief"],
        "removed": [],
    }
    assert "UNSEEN" not in str(await world.ledger(session))
    entries = await world.ledger(session)
    assert entries[entries.index(first) - 1]["kind"] == "model_call_started", "in the append that made the call durable"
    assert (first["turn"], first["agent"]) == (1, agent)
    await world.agent([SPOKEN], name=agent, context=context(identity="UNSEEN nurse", manner="kind"))
    await world.turn(session)
    await world.turn(session)
    _, second = await records(world, session)
    assert (second["body"]["changed"], second["body"]["removed"], set(second["body"]["sections"])) == (
        ["manner"],
        ["brief"],
        {"identity", "manner"},
    )
    assert second["body"]["sections"]["identity"] == first["body"]["sections"]["identity"]
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
    for one in (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]:
        assert (await world.call("GET", f"/sessions/{session}/calls/{one['id']}/model-input", 200)).json()["verified"] is True


@pytest.mark.req("S2-49", "X-28")
async def test_a_call_that_is_not_dispatched_records_nothing(world: World) -> None:
    agent = await world.agent(limits={"context_window": 400, "max_output_tokens": 100}, context=context(identity="nurse"))
    session = await world.session(agent)
    assert (await world.turn(session, "word " * 400))["status"] == "failed"
    assert await records(world, session) == []
    again = await world.turn(session, "short", follows="start")
    assert again["status"] == "completed"
    (found,) = await records(world, session)
    assert found["body"]["changed"] == ["identity"]


@pytest.mark.req("S2-49")
async def test_an_agent_without_sections_records_nothing(world: World) -> None:
    session = await world.session()
    await world.turn(session)
    await world.input(session)
    assert await records(world, session) == []
