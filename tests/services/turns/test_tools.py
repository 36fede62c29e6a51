"""Client tools: the turn waits, takes results, and goes on; what is not admitted is refused before any hand-off."""

import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.ids import SESSION, parse_id
from app.services.scope import LOCAL_TENANT
from app.storage.store import Store
from tests.services.world import World, roles, text

CALL = {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": '{"q": 1}'}]}
TWO = {"text": "Let me see.", "tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}, {"id": "c2", "name": "lookup", "arguments": "{}"}]}
TOOLS = [{"name": "lookup", "description": "Looks things up.", "parameters": {"type": "object"}}]
DONE = {"text": "Found."}


async def waiting(world: World, script: list[object]) -> tuple[str, str]:
    """A session with a turn that waits for its client."""
    session = await world.session(await world.agent(script, tools=TOOLS))
    turn = await world.turn(session)
    assert turn["status"] == "requires_action", turn
    return session, turn["id"]


@pytest.mark.req("X-74", "S1-23")
async def test_an_id_that_a_provider_gives_again_is_told_apart(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, CALL, DONE])
    turn = await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "42"}])
    (pending,) = turn["pending"]
    assert pending["tool_call_id"] != "c1"
    assert (await world.raw(session))[-1]["body"]["parts"][0]["provider_id"] == "c1"
    turn = await world.results(session, turn_id, [{"tool_call_id": pending["tool_call_id"], "content": "43"}])
    assert turn["status"] == "completed"
    body = (await world.input(session))["body"]
    assert [message["content"] for message in body["messages"] if message["role"] == "tool"] == ["42", "43"]


@pytest.mark.req("T-23", "S0-20", "S0-21", "S0-22", "S0-23", "S4-11")
async def test_a_turn_waits_for_its_client_and_goes_on_with_the_result(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    turn = (await world.call("GET", f"/sessions/{session}/turns/{turn_id}", 200)).json()
    assert turn["pending"] == [{"tool_call_id": "c1", "name": "lookup", "arguments": '{"q": 1}', "needs": "result"}]
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "pending"
    done = await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "42"}])
    assert (done["status"], done["pending"], len(done["calls"])) == ("completed", [], 2)
    kinds = [entry["kind"] for entry in await world.raw(session)]
    assert kinds == ["user_message", "assistant_message", "tool_result", "assistant_message"]
    body = (await world.input(session))["body"]
    assert roles(body) == ["user", "assistant", "tool", "assistant"]
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "lookup", "arguments": '{"q": 1}'}
    assert body["messages"][2]["tool_call_id"] == body["messages"][1]["tool_calls"][0]["id"]
    assert body["tools"][0]["function"]["name"] == "lookup"


@pytest.mark.req("S4-13", "S4-15", "S4-18", "S4-19")
async def test_two_renders_count_their_parts_and_name_their_tools(world: World) -> None:
    context = [{"renderer": "system", "text": "You look."}, {"renderer": "history"}]
    session = await world.session(await world.agent([CALL | {"reasoning": "Hm."}, DONE], tools=TOOLS, context=context))
    turn = await world.turn(session)
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    started = [entry["body"] for entry in await world.ledger(session, kinds="model_call_started")]
    assert [(one["step_index"], one["message_count"], one["tools"]) for one in started] == [(0, 2, ["lookup"]), (1, 5, ["lookup"])]
    assert [one["reason"] for one in started] == ["input_received", "tool_completed"]
    assert len(await world.ledger(session)) > 5


@pytest.mark.req("X-92")
async def test_results_come_one_by_one_and_the_same_one_twice(world: World) -> None:
    session, turn_id = await waiting(world, [TWO, DONE])
    first = await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "one"}])
    assert first["status"] == "requires_action"
    assert [one["tool_call_id"] for one in first["pending"]] == ["c2"]
    again = await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "one"}])
    assert again["status"] == "requires_action"
    other = await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "another"}], 409)
    assert other["code"] == "tool-result-conflict"
    done = await world.results(session, turn_id, [{"tool_call_id": "c2", "content": "two", "is_error": True}])
    assert done["status"] == "completed"
    assert (await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "one"}]))["status"] == "completed"
    results = [entry["body"] for entry in await world.raw(session, kinds="tool_result")]
    assert [(one["tool_call_id"], one["is_error"]) for one in results] == [("c1", False), ("c2", True)]
    events = await world.events(session, turn_id)
    assert [one.event for one in events if one.event.startswith("turn.")] == [
        "turn.started", "turn.requires_action", "turn.requires_action", "turn.completed",
    ]  # fmt: skip
    assert [one.id for one in events] == sorted({one.id for one in events})


async def test_results_for_calls_and_turns_that_do_not_wait_are_refused(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    unknown = await world.results(session, turn_id, [{"tool_call_id": "nope", "content": "x"}], 422)
    assert unknown["errors"][0]["pointer"] == "/results/0/tool_call_id"
    assert [entry["kind"] for entry in await world.raw(session)] == ["user_message", "assistant_message"]
    await world.call("POST", f"/sessions/{session}/turns/{turn_id}/cancel", 200, json={})
    late = await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "late"}], 409)
    assert late["code"] in ("turn-settled", "tool-result-conflict")
    nowhere = await world.results(session, "trn_01h455vb4pex5vsknk084sn02q", [{"tool_call_id": "c1", "content": "x"}], 404)
    assert nowhere["code"] == "not-found"


@pytest.mark.req("S0-18", "S0-17", "S0-16")
@pytest.mark.parametrize(("named", "code"), [("absent", "tool-not-declared"), ("hidden", "tool-masked"), ("off", "tool-masked")])
async def test_a_call_that_is_not_admitted_gets_an_error_result_and_no_hand_off(world: World, named: str, code: str) -> None:
    tools = [*TOOLS, {"name": "hidden"}, {"name": "off", "enabled": False}]
    script = [{"tool_calls": [{"id": "c1", "name": named, "arguments": "{}"}]}, DONE]
    session = await world.session(await world.agent(script, tools=tools))
    turn = await world.turn(session, overrides={"masked_tools": ["hidden"]})
    assert (turn["status"], turn["pending"]) == ("completed", [])
    rejected = (await world.ledger(session, kinds="tool_rejected"))[0]["body"]
    assert (rejected["tool_call_id"], rejected["name"], rejected["code"]) == ("c1", named, code)
    assert (await world.raw(session, kinds="tool_result"))[0]["body"]["is_error"] is True
    started = (await world.ledger(session, kinds="model_call_started"))[0]["body"]
    assert started["tools"] == ["lookup"]


@pytest.mark.req("X-74")
async def test_a_truncated_answer_executes_none_of_its_calls(world: World) -> None:
    session = await world.session(await world.agent([CALL | {"stop": "length"}, DONE], tools=TOOLS))
    turn = await world.turn(session)
    assert turn["status"] == "completed"
    result = (await world.raw(session, kinds="tool_result"))[0]
    assert result["body"]["is_error"] is True
    assert "length limit" in text(result)


async def test_steps_are_bounded(world: World) -> None:
    agent = await world.agent([{"tool_calls": [{"name": "absent", "arguments": "{}"}]}], tools=TOOLS, turn={"max_steps": 3})
    session = await world.session(agent)
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]["code"], len(turn["calls"])) == ("failed", "max-steps", 3)
    ids = [part["tool_call_id"] for entry in await world.raw(session, kinds="assistant_message") for part in entry["body"]["parts"]]
    assert len(set(ids)) == 3


async def test_extra_messages_come_behind_the_results(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    note = {"kind": "agent_message", "parts": [{"type": "text", "text": "Go on."}]}
    await world.results(session, turn_id, [{"tool_call_id": "c1", "content": "42"}], extra_messages=[note])
    assert [entry["kind"] for entry in await world.raw(session)][2:] == ["tool_result", "agent_message", "assistant_message"]
    assert roles((await world.input(session))["body"]) == ["user", "assistant", "tool", "user", "assistant"]


async def test_a_waiting_session_takes_nothing_but_results_and_settings(world: World) -> None:
    session, turn_id = await waiting(world, [CALL, DONE])
    busy = await world.turn(session, expect=409)
    assert (busy["code"], busy["turn_id"]) == ("pending-action", turn_id)
    entries = {"entries": [{"kind": "user_message", "parts": [{"type": "text", "text": "x"}]}]}
    assert (await world.call("POST", f"/sessions/{session}/entries", 409, json=entries)).json()["code"] == "pending-action"
    await world.call("PATCH", f"/sessions/{session}", 200, json={"title": "Still waits"})
    state = await world.input(session)
    assert state["awaiting"] == "tool_results"
    assert [one["type"] for one in state["source_map"]["sources"]] == ["history", "history", "tool-repair"]


async def test_ids_rise_also_where_a_long_wait_outlived_its_events(world: World, store: Store) -> None:
    three = {"tool_calls": [{"id": f"c{n}", "name": "lookup", "arguments": "{}"} for n in range(3)]}
    session, turn_id = await waiting(world, [three, DONE])
    last = (await world.events(session, turn_id))[-1].id
    for n in range(2):
        await world.results(session, turn_id, [{"tool_call_id": f"c{n}", "content": "x"}])
        await store.deltas.purge(0, 10_000)
    await world.results(session, turn_id, [{"tool_call_id": "c2", "content": "x"}])
    bounds = await store.deltas.bounds(LOCAL_TENANT, parse_id(SESSION, session) or LOCAL_TENANT, 1)
    assert bounds is not None
    assert bounds[0] > last + 2_000_000


@pytest.mark.req("S0-18")
async def test_an_answer_of_as_many_refused_calls_as_there_may_be_is_answered_whole(world: World) -> None:
    """Two entries a call are more than one append takes."""
    many = {"tool_calls": [{"id": f"m{at}", "name": "nobody", "arguments": "{}"} for at in range(TOOL_CALLS_PER_ANSWER_MAX)]}
    session = await world.session(await world.agent([many, DONE], tools=TOOLS))
    assert (await world.turn(session))["status"] == "completed"
    entries = await world.ledger(session)
    kinds = [entry["kind"] for entry in entries]
    assert kinds.count("tool_rejected") == kinds.count("tool_result") == TOOL_CALLS_PER_ANSWER_MAX
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True
