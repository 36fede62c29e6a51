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


@pytest.mark.req("S4-24")
async def test_a_switch_that_ended_does_not_come_back_when_the_turn_is_handed_over(world: World) -> None:
    """The session takes a revision of another model, which ends the switch; then an agent of that model takes the turn over."""
    handing = [{"text": "One."}, {"tool_calls": [{"id": "c1", "name": "hand_over", "arguments": "{}"}]}, {"text": "Other."}]
    second: dict[str, Any] = {"model": {"upstream": "scripted", "name": "second", "params": {"script": handing}}, "limits": LIMITS}
    await world.call("PUT", "/agents/other", 201, json=second)
    await world.call("PUT", "/agents/nurse", 201, json={**second, "model": {**second["model"], "name": "first"}})
    session = await world.session("nurse")
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "gpt-4.1", "params": {"script": handing}}})
    assert (await world.turn(session, "One"))["status"] == "completed"
    await world.call("PUT", "/agents/nurse", 201, json={**second, "tools": [tool("hand_over", "other", "transfer")]})
    assert (await world.turn(session, "Two"))["status"] == "completed"
    calls = [(one["agent"], one["model"]) for one in await calls_of(world, session)]
    assert calls == [("nurse", "gpt-4.1"), ("nurse", "second"), ("other", "second")]
    view = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (view["agent"], view["model"]["name"], (await world.input(session))["model"]) == ("other", "second", "second")
    adopted = [entry["body"]["keeps_model"] for entry in await world.ledger(session) if entry["kind"] == "agent_adopted"]
    assert adopted == [False, False]
    assert (await world.call("GET", f"/sessions/{session}/source-map", 200)).json()["sources"], "the model is the same: its last call stands"
