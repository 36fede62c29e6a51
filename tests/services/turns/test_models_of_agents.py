"""Which model a run of another agent is made with: its own, but where its document names the one that the session was switched from."""

from typing import Any

import pytest

from tests.services.turns.test_agents_in_turns import calls_of, derived, tool
from tests.services.world import LIMITS, World

SCRIPT = [
    {"tool_calls": [{"id": "c1", "name": "ask", "arguments": "{}"}]},
    {"text": "Inner."},
    {"text": "Outer."},
    {"tool_calls": [{"id": "c2", "name": "hand_over", "arguments": "{}"}]},
    {"text": "Other."},
]


def model(name: str, **params: Any) -> dict[str, Any]:
    return {"upstream": "scripted", "name": name, "params": {"script": SCRIPT, **params}}


@pytest.mark.req("S4-24", "X-29")
@pytest.mark.parametrize(("own", "expected"), [("another", "another"), ("first", "gpt-4.1")])
async def test_a_switch_of_the_sessions_model_is_for_agents_of_the_model_that_it_left(world: World, own: str, expected: str) -> None:
    for name in ("expert", "other"):
        await world.call("PUT", f"/agents/{name}", 201, json={"model": model(own), "limits": LIMITS})
    tools = [tool("ask", "expert", "call"), tool("hand_over", "other", "transfer")]
    await world.call("PUT", "/agents/nurse", 201, json={"model": model("first"), "limits": LIMITS, "tools": tools})
    session = await world.session("nurse")
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": model("gpt-4.1")})
    for text in ("One", "Two"):
        assert (await world.turn(session, text))["status"] == "completed"
    calls = await calls_of(world, session)
    assert [(one["agent"], one["model"]) for one in calls] == [
        ("nurse", "gpt-4.1"),
        ("expert", expected),
        ("nurse", "gpt-4.1"),
        ("nurse", "gpt-4.1"),
        ("other", expected),
    ]
    for one in calls:
        assert (await derived(world, session, one))["model"] == one["model"]
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["model"]["name"] == expected, "and so it is for the agent that was adopted"
