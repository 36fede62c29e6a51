"""How much of an input a prompt cache can reuse, on every wire: what was sent stays, and the first change is named with its cause."""

from typing import Any

import pytest

from app.formats.registry import FORMATS
from tests.formats.pointing import at
from tests.services.world import World

CONTEXT = [{"renderer": "system", "id": "who", "text": "You are a triage nurse."}, {"renderer": "history"}]
TOOLS = [{"name": "lookup", "description": "Finds a record."}, {"name": "call", "description": "Calls a doctor."}]


async def shown(world: World, session: str) -> Any:
    return await world.input(session, include="cache,body,source_map,budget")


@pytest.mark.req("X-31", "X-33")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_the_stable_prefix_on_every_wire(world: World, dialect: str) -> None:
    model = {"upstream": "scripted", "name": "m", "params": {"dialect": dialect, "script": [{"text": "Bonjour."}]}}
    name = await world.agent(model=model, context=CONTEXT, tools=TOOLS)
    session = await world.session(name)
    first = await world.turn(session)
    second = await world.turn(session, "again")
    seen = await shown(world, session)
    cache = seen["cache"]
    assert set(cache) == {"stable_prefix_tokens", "stable_prefix_messages", "first_change"}
    assert cache["stable_prefix_messages"] >= 3  # both inputs and the answer between them
    assert cache["first_change"] is None
    assert seen["budget"]["system"] < cache["stable_prefix_tokens"] < seen["budget"]["total"]
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": first["id"]})
    taken = (await shown(world, session))["cache"]
    assert taken["first_change"]["reason"] in ("taken_away", "request_only")
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": second["id"]})
    await world.agent(name=name, model=model, context=[{**CONTEXT[0], "text": "You are a doctor."}, CONTEXT[1]], tools=TOOLS)
    await world.call("PATCH", f"/sessions/{session}", 200, json={"agent_revision": 2})
    seen = await shown(world, session)
    change = seen["cache"]["first_change"]
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    assert (change["reason"], change["seq"]) == ("agent_changed", head)
    assert "doctor" in str(at(seen["body"], change["pointer"]))
    assert seen["cache"]["stable_prefix_messages"] == 0
