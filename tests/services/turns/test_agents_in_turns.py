"""Agents in the turns of others: one that the turn is handed to, one that is called, and what each scope of history shows to whom."""

import json
from typing import Any

import pytest

from tests.services.world import LIMITS, World, text

SCOPES = ("session", "direct", "invocation", "ancestors", "agent")


def call(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}]}


def tool(name: str, agent: str, mode: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "executor": {"kind": "agent", "agent": agent, "mode": mode}, **more}


async def put(world: World, name: str, script: list[Any], tools: Any = (), **document: Any) -> str:
    """The scripted model plays a session's main calls in their order, whichever agent makes them: all of them get the same script."""
    model = {"upstream": "scripted", "name": name, "params": {"script": script}}
    body = {"model": model, "limits": LIMITS, "tools": list(tools), **document}
    await world.call("PUT", f"/agents/{name}", 201, json=body)
    return name


async def calls_of(world: World, session: str) -> list[Any]:
    return list((await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"])


async def derived(world: World, session: str, one: Any) -> Any:
    found = (await world.call("GET", f"/sessions/{session}/calls/{one['id']}/model-input", 200)).json()
    assert found["verified"] is True, found.get("mismatch")
    return found


def words(found: Any) -> list[str]:
    """What the messages of a Chat body say, or which calls they make."""
    return [message["content"] or "+".join(one["function"]["name"] for one in message["tool_calls"]) for message in found["body"]["messages"]]


@pytest.mark.req("S4-24", "X-29")
async def test_a_called_agent_answers_as_a_tool_and_its_inside_is_hidden(world: World) -> None:
    script = [call("consult", 1, question="Is it safe?"), call("lookup", 2), {"text": "It is safe."}, {"text": "They say it is safe."}]
    await put(world, "expert", script, [{"name": "lookup"}], context=[{"renderer": "system", "text": "You know drugs."}, {"renderer": "history"}])
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    turn = await world.turn(session, "Can I take it?")
    assert [(one["name"], one["needs"]) for one in turn["pending"]] == [("lookup", "result")]
    coming = await world.input(session)
    assert (coming["agent"]["name"], coming["awaiting"]) == ("expert", "tool_results")
    assert words(coming)[:3] == ["You know drugs.", "Can I take it?", "Is it safe?"]
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c2", "content": "no allergy"}])
    assert (turn["status"], len(turn["calls"])) == ("completed", 4)
    assert [text(entry) for entry in await world.raw(session)] == ["Can I take it?", "", "It is safe.", "They say it is safe."]
    calls = await calls_of(world, session)
    assert [(one["agent"], one["invocation"], one["step_index"]) for one in calls] == [
        ("nurse", 0, 0),
        ("expert", 1, 1),
        ("expert", 1, 2),
        ("nurse", 0, 3),
    ]
    seen = [words(await derived(world, session, one)) for one in calls]
    assert seen[0] == ["Can I take it?"]
    assert seen[1] == ["You know drugs.", "Can I take it?", "Is it safe?"]
    assert seen[2] == ["You know drugs.", "Can I take it?", "Is it safe?", "lookup", "no allergy"]
    assert seen[3] == ["Can I take it?", "consult", "It is safe."]
    inner = [entry for entry in await world.ledger(session) if entry["invocation"] == 1]
    assert [(entry["kind"], entry["hidden"], entry["agent"]) for entry in inner if "message" in entry["kind"] or entry["kind"] == "tool_result"] == [
        ("agent_message", True, "expert"),
        ("assistant_message", True, "expert"),
        ("tool_result", True, "expert"),
        ("assistant_message", True, "expert"),
    ]
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["agent"] == "nurse"
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True


@pytest.mark.req("S4-24", "X-29")
async def test_a_transfer_hands_the_turn_over_and_the_session_adopts_the_agent(world: World) -> None:
    script = [call("hand_over", 1), {"text": "Pharmacy here."}, {"text": "Pharmacy again."}]
    await put(world, "pharmacy", script, context=[{"renderer": "system", "text": "You are the pharmacy."}, {"renderer": "history"}])
    await put(world, "nurse", script, [tool("hand_over", "pharmacy", "transfer")])
    session = await world.session("nurse")
    found = await world.stream(session, "Hello")
    started = [frame.data for frame in found if frame.event == "call.started"]
    assert [(one["agent"], one["invocation"]) for one in started] == [("nurse", 0), ("pharmacy", 1)]
    kinds = [entry["kind"] for entry in await world.ledger(session)]
    assert kinds[-2:] == ["agent_adopted", "turn_settled"]
    view = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (view["agent"], view["agent_revision"], view["follows"]) == ("pharmacy", 1, True)
    assert text((await world.raw(session))[-1]) == "Pharmacy here."
    await world.turn(session, "And again")
    last = (await calls_of(world, session))[-1]
    assert (last["agent"], last["invocation"]) == ("pharmacy", 0)
    said = words(await derived(world, session, last))
    assert said == ["You are the pharmacy.", "Hello", "hand_over", "The conversation was handed to pharmacy.", "Pharmacy here.", "And again"]


@pytest.mark.req("S4-24", "X-29")
@pytest.mark.parametrize("scope", SCOPES)
async def test_each_scope_shows_exactly_what_it_should(world: World, scope: str) -> None:
    """A turn that calls one agent and is then handed to another, after a turn of its own; every call's messages, for each scope."""
    script = [{"text": "First answer."}, call("consult", 1, q="Ask."), {"text": "Inner."}, call("hand_over", 2), {"text": "Other."}]
    history = [{"renderer": "history", "scope": scope}]
    await put(world, "expert", script, context=history)
    await put(world, "other", script, context=history)
    await put(world, "nurse", script, [tool("consult", "expert", "call"), tool("hand_over", "other", "transfer")], context=history)
    session = await world.session("nurse")
    await world.turn(session, "One")
    assert (await world.turn(session, "Two"))["status"] == "completed"
    seen = [words(await derived(world, session, one)) for one in await calls_of(world, session)]
    before, handed = ["One", "First answer.", "Two"], "The conversation was handed to other."
    expert = {
        "session": [*before, "Ask."],
        "direct": ["Ask."],
        "invocation": ["Ask."],
        "ancestors": ["Two", "Ask."],
        "agent": ["One", "Two", "Ask."],
    }
    caller = {
        "session": [*before, "consult", "Inner."],
        "direct": [*before, "consult", "Inner."],
        "invocation": ["Two", "consult", "Inner."],
        "ancestors": ["Two", "consult", "Inner."],
        "agent": [*before, "consult", "Inner."],
    }
    other = {
        "session": [*before, "consult", "Inner.", "hand_over", handed],
        "direct": [*before, "consult", "Inner.", "hand_over", handed],
        "invocation": ["Two"],
        "ancestors": ["Two", "consult", "Inner.", "hand_over", handed],
        "agent": ["One", "Two"],
    }
    assert seen[2] == expert[scope]
    assert seen[3] == caller[scope]
    assert seen[4] == other[scope]


async def test_an_agent_that_fails_gives_its_caller_an_error_result(world: World) -> None:
    script = [call("consult", 1, q="x"), {"error": {"status": 400, "code": "bad"}}, {"text": "It could not say."}]
    await put(world, "expert", script)
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    assert (await world.turn(session))["status"] == "completed"
    (result,) = [entry for entry in await world.raw(session) if entry["kind"] == "tool_result"]
    assert (result["body"]["is_error"], text(result)) == (True, "The agent gave no answer (upstream-error).")


@pytest.mark.req("T-27")
async def test_agents_that_call_one_another_are_bounded_in_depth_and_in_steps(world: World) -> None:
    deeper = [call("deeper", number, q="on") for number in range(6)]
    script = [*deeper[:5], *[{"text": f"Back {number}."} for number in range(6)]]
    await put(world, "loop", script, [tool("deeper", "loop", "call")])
    session = await world.session("loop")
    turn = await world.turn(session)
    assert turn["status"] == "completed"
    calls = await calls_of(world, session)
    assert max(one["invocation"] for one in calls) == 4
    results = [entry["body"] for entry in await world.ledger(session, kinds="tool_result")]
    assert text({"body": results[0]}) == "Not executed: agents that call agents may not be nested any deeper."
    endless = [call("deeper", number, q="on") for number in range(40)]
    model = {"upstream": "scripted", "name": "loop", "params": {"script": endless}}
    body = {"model": model, "limits": LIMITS, "tools": [tool("deeper", "loop", "call")], "turn": {"max_steps": 7}}
    await world.call("PUT", "/agents/loop", 201, json=body)
    turn = await world.turn(session, "again")
    assert (turn["status"], turn["error"]["code"], len(turn["calls"])) == ("failed", "max-steps", 7)
    asked = {entry["seq"]: entry for entry in await world.ledger(session)}
    made = [part["tool_call_id"] for entry in asked.values() for part in entry["body"].get("parts", ()) if part["type"] == "tool_call"]
    answered = [entry["body"]["tool_call_id"] for entry in asked.values() if entry["kind"] == "tool_result"]
    assert sorted(made) == sorted(answered), "every call has its result"


async def test_two_hand_overs_of_one_answer_are_one(world: World) -> None:
    both = {"tool_calls": [{"id": f"h{n}", "name": name, "arguments": "{}"} for n, name in enumerate(["to_a", "to_b"])]}
    script = [both, {"text": "A here."}]
    for name in ("a", "b"):
        await put(world, name, script)
    await put(world, "desk", script, [tool("to_a", "a", "transfer"), tool("to_b", "b", "transfer")])
    session = await world.session("desk")
    assert (await world.turn(session))["status"] == "completed"
    results = {entry["body"]["name"]: entry["body"]["is_error"] for entry in await world.raw(session) if entry["kind"] == "tool_result"}
    assert results == {"to_a": False, "to_b": True}
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["agent"] == "a"
    assert text((await world.raw(session))[-1]) == "A here."


async def test_a_cancelled_turn_closes_the_calls_of_all_its_agents(world: World) -> None:
    script = [call("consult", 1, q="x"), call("lookup", 2)]
    await put(world, "expert", script, [{"name": "lookup"}])
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    turn = await world.turn(session)
    done = (await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/cancel", 200, json={})).json()
    assert done["status"] == "cancelled"
    results = await world.ledger(session, kinds="tool_result")
    assert [(entry["body"]["tool_call_id"], entry["invocation"], entry["hidden"]) for entry in results] == [("c1", 0, False), ("c2", 1, True)]


async def test_another_revision_in_a_preview_is_one_of_the_agent_that_is_at_work(world: World) -> None:
    """A turn that waits inside a called agent: what comes next is that agent's call, whatever revision is asked for."""
    script = [call("consult", 1, q="x"), call("lookup", 2), {"text": "Inner."}, {"text": "Outer."}]
    system = [{"renderer": "system", "text": "Known as the second."}, {"renderer": "history"}]
    await put(world, "expert", script, [{"name": "lookup"}])
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    await world.turn(session)
    await put(world, "expert", script, [{"name": "lookup"}], context=system)
    first, second = await world.input(session), await world.input(session, agent_revision=2)
    assert await world.input(session, agent_revision=1) == first
    assert (first["agent"], second["agent"]) == ({"name": "expert", "revision": 1}, {"name": "expert", "revision": 2})
    assert words(second) == ["Known as the second.", *words(first)]
    path = f"/sessions/{session}/model-input"
    what_if = (await world.call("POST", path, 200, json={"context": system}, params={"agent_revision": 1})).json()
    assert (what_if["agent"], words(what_if)) == (first["agent"], words(second))
    await world.call("GET", path, 404, params={"agent_revision": 3})
