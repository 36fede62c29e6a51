"""Words for tests of the state that the sessions of a user share."""

from typing import Any

from tests.services.world import World

OPEN: dict[str, Any] = {"type": "object"}
SCHEMA: dict[str, Any] = {
    "session": {"type": "object", "properties": {"topic": {"type": "string"}}, "additionalProperties": False},
    "user": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "visits": {"type": "integer"}, "token": {"type": "string", "maxLength": 40, "writeOnly": True}},
        "additionalProperties": False,
    },
}
CALLING = {"tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}
SPOKEN = {"text": "Done."}
TOOLS = [{"name": "look"}]


async def sessions(world: World, count: int = 2, user: str = "ann", schema: Any = SCHEMA, script: Any = (SPOKEN,), **more: Any) -> list[str]:
    agent = await world.agent(script, state_schema=schema, **more)
    return [await world.session(agent, user=user) for _ in range(count)]


async def patch(world: World, session: str, state: Any, expect: int = 200, **more: Any) -> Any:
    return (await world.call("PATCH", f"/sessions/{session}/state", expect, json=state, **more)).json()


async def state(world: World, session: str, **query: Any) -> Any:
    return (await world.call("GET", f"/sessions/{session}/state", 200, params=query)).json()["state"]


async def changes(world: World, session: str) -> list[tuple[Any, ...]]:
    """Source, changed places and state of each `state_changed` entry."""
    found = [entry["body"] for entry in await world.ledger(session) if entry["kind"] == "state_changed"]
    return [(body["source"], body["changed"], body["state"]) for body in found]


async def kinds(world: World, session: str) -> list[str]:
    return [entry["kind"] for entry in await world.ledger(session)]
