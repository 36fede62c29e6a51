"""What of an input is byte for byte the same as in the call before."""

from typing import Any

import pytest

from app.formats.registry import FORMATS
from tests.services.world import World

SYSTEM = {"renderer": "system", "id": "who", "text": "You are a triage nurse."}
HISTORY = {"renderer": "history"}


async def cache(world: World, session: str, **query: Any) -> Any:
    path = f"/sessions/{session}/model-input"
    return (await world.call("GET", path, 200, params={"include": "cache", **query})).json()["cache"]


@pytest.mark.req("X-31", "X-33")
async def test_what_was_sent_stays_as_it_was_when_more_is_said(world: World) -> None:
    session = await world.session(await world.agent(context=[SYSTEM, HISTORY], tools=[{"name": "lookup", "description": "d"}]))
    assert await cache(world, session) == {"stable_prefix_tokens": 0, "stable_prefix_messages": 0, "first_change": None}
    await world.turn(session)
    found = await cache(world, session)
    assert (found["stable_prefix_messages"], found["first_change"]) == (1, None)
    budget = (await world.input(session))["budget"]
    assert budget["system"] < found["stable_prefix_tokens"] < budget["total"]
    await world.turn(session)
    assert (await cache(world, session))["stable_prefix_messages"] == 3


@pytest.mark.req("X-31")
async def test_the_first_thing_that_changed_is_named_with_the_entry_that_changed_it(world: World) -> None:
    name = await world.agent(context=[SYSTEM, HISTORY])
    session = await world.session(name)
    await world.turn(session)
    assert (await cache(world, session, model="gpt-4.1"))["first_change"] == {"pointer": "", "reason": "model_changed", "seq": None}
    await world.agent(name=name, context=[{**SYSTEM, "text": "You are a doctor."}, HISTORY])
    await world.call("PATCH", f"/sessions/{session}", 200, json={"agent_revision": 2})
    found = await cache(world, session)
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    assert found == {
        "stable_prefix_tokens": 0,
        "stable_prefix_messages": 0,
        "first_change": {"pointer": "/messages/0", "reason": "agent_changed", "seq": head},
    }


async def test_a_line_that_was_left_breaks_the_run_where_it_was_left(world: World) -> None:
    session = await world.session(await world.agent(context=[HISTORY]))
    first = await world.turn(session)
    await world.turn(session)
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": first["id"]})
    found = await cache(world, session)
    assert found["stable_prefix_messages"] == 2
    assert found["first_change"] == {"pointer": "/messages/2", "reason": "taken_away", "seq": None}


@pytest.mark.req("X-31", "S1-12")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_a_summary_that_took_the_place_of_messages_is_named_with_its_checkpoint(world: World, dialect: str) -> None:
    params = {"dialect": dialect, "compaction_script": [{"text": "They talked."}]}
    session = await world.session(await world.agent(model={"upstream": "scripted", "name": "scripted", "params": params}, context=[SYSTEM, HISTORY]))
    for _ in range(3):
        await world.turn(session, "river " * 90)
    done = await world.call("POST", f"/sessions/{session}/compactions", 200, json={"keep_recent_tokens": 1})
    assert done.json()["outcome"] == "compacted"
    change = (await cache(world, session))["first_change"]
    assert (change["reason"], change["seq"]) == ("compacted", (await world.ledger(session))[-1]["seq"])
    await world.turn(session)
    assert (await cache(world, session))["first_change"] is None


@pytest.mark.req("X-31")
async def test_an_entry_that_the_call_before_had_read_already_is_not_named_as_what_changed(world: World) -> None:
    """The turn's override made the difference; the switch of the model stands before both."""
    session = await world.session(await world.agent(context=[SYSTEM, HISTORY]))
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "gpt-4.1"}})
    await world.turn(session, overrides={"model": {"name": "gpt-4o"}})
    assert (await cache(world, session))["first_change"] == {"pointer": "", "reason": "model_changed", "seq": None}
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "gpt-4.1-mini"}})
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    assert (await cache(world, session))["first_change"] == {"pointer": "", "reason": "model_changed", "seq": head}
