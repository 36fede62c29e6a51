"""Turns of several agents when things go wrong: who may answer which call, what an outage does, whose agent the session keeps."""

import asyncio
from typing import Any

import pytest

from app.config.agent_limits import AGENT_CALLS_OPEN_MAX
from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.config.settings import Settings
from app.entries.messages import NewEntry
from app.entries.trace import StopRequested
from app.storage.types import Append, Appended
from tests.outbound.tool_servers.kit import endpoint, taken
from tests.services.turns.faulty import Outage, Real, around_appends, inside, kinds
from tests.services.turns.test_agents_in_turns import call, calls_of, derived, put, tool
from tests.services.turns.test_approvals import decide, one, with_desk
from tests.services.world import World, text


def result(call_id: str, content: str = "forged") -> dict[str, Any]:
    return {"tool_call_id": call_id, "content": content}


@pytest.mark.req("T-23", "S0-18")
async def test_a_client_answers_only_what_the_turn_waits_for_from_it(world: World) -> None:
    """The call of an agent that is at work, and a hand-over that waits for its neighbours, are nobody's to answer."""
    script = [call("consult", 1, q="x"), call("lookup", 2), {"text": "Inner."}, {"text": "Outer."}]
    await put(world, "expert", script, [{"name": "lookup"}])
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    turn = await world.turn(session)
    found = await world.results(session, turn["id"], [result("c2", "42"), result("c1")], expect=422)
    assert [(fault["pointer"], fault["code"]) for fault in found["errors"]] == [("/results/1/tool_call_id", "no-result-asked")]
    assert (await world.results(session, turn["id"], [result("c2", "42")]))["status"] == "completed"
    assert [text(entry) for entry in await world.raw(session)][-2:] == ["Inner.", "Outer."]
    both = {"tool_calls": [{"id": f"h{n}", "name": name, "arguments": "{}"} for n, name in enumerate(["lookup", "hand_over"])]}
    await put(world, "pharmacy", [both, {"text": "Pharmacy here."}])
    await put(world, "desk", [both], [{"name": "lookup"}, tool("hand_over", "pharmacy", "transfer")])
    session = await world.session("desk")
    turn = await world.turn(session)
    await world.results(session, turn["id"], [result("h1")], expect=422)
    assert (await world.results(session, turn["id"], [result("h0")]))["status"] == "completed"
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["agent"] == "pharmacy"


@pytest.mark.req("S0-40", "X-01")
async def test_an_outage_while_an_agent_enters_loses_nothing(settings: Settings) -> None:
    async with inside(settings) as here:
        world, outage, outages = here.world, Outage(here.store), 0
        script = [call("consult", 1, q="x"), {"text": "Inner."}, {"text": "Outer."}]
        await put(world, "expert", script)
        await put(world, "nurse", script, [tool("consult", "expert", "call")])

        async def then_away(append: Append, real: Real) -> Appended:
            nonlocal outages
            done: Appended = await real()
            if "model_call_finished" in kinds(append) and not outages:
                outage.away, outages = True, 1
                asyncio.get_running_loop().call_later(1.0, setattr, outage, "away", False)
            return done

        around_appends(here.store.ledger, then_away)
        session = await world.session("nurse")
        turn = await world.turn(session, expect=202, background=True)
        await asyncio.sleep(1.5)
        assert (await world.until(session, turn["id"], "completed", "interrupted"))["status"] == "completed"


@pytest.mark.parametrize("end", ["completed", "cancelled"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_of_a_hand_over_and_a_change_of_agent_the_later_one_holds(world: World, when: str, end: str) -> None:
    script = [call("lookup", 1), call("hand_over", 2), call("lookup", 3), {"text": "Pharmacy here."}]
    for name in ("doctor", "pharmacy"):
        await put(world, name, script, [{"name": "lookup"}])
    await put(world, "nurse", script, [{"name": "lookup"}, tool("hand_over", "pharmacy", "transfer")])
    session = await world.session("nurse")
    turn = await world.turn(session)
    if when == "before":
        await world.call("PATCH", f"/sessions/{session}", 200, json={"agent": "doctor"})
    turn = await world.results(session, turn["id"], [result("c1")])
    if when == "after":
        await world.call("PATCH", f"/sessions/{session}", 200, json={"agent": "doctor"})
    if end == "completed":
        assert (await world.results(session, turn["id"], [result("c3")]))["status"] == end
    else:
        await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/cancel", 200, json={})
    kept = (await world.call("GET", f"/sessions/{session}", 200)).json()["agent"]
    assert kept == ("doctor" if when == "after" else "pharmacy")
    assert (await world.input(session))["agent"]["name"] == kept


async def test_a_called_agent_whose_answer_is_withheld_gives_its_caller_a_sentence(world: World) -> None:
    script = [call("consult", 1, q="x"), {**call("lookup", 2), "stop": "refused"}, {"text": "Outer."}]
    await put(world, "expert", script, [{"name": "lookup"}])
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    assert (await world.turn(session))["status"] == "completed"
    (given,) = [entry for entry in await world.raw(session) if entry["kind"] == "tool_result"]
    assert given["body"]["is_error"] is True
    assert text(given)


def two_hand_overs(*more: str) -> dict[str, Any]:
    return {"tool_calls": [{"id": f"h{n}", "name": name, "arguments": "{}"} for n, name in enumerate(["to_a", "to_b", *more])]}


async def at_the_desk(world: World, first: Any) -> str:
    for name in ("a", "b"):
        await put(world, name, [first, {"text": "Here."}])
    asks = [tool(f"to_{name}", name, "transfer", approval="always") for name in ("a", "b")]
    await put(world, "desk", [first, {"text": "Here."}], [*asks, {"name": "lookup"}])
    return await world.session("desk")


async def test_a_hand_over_that_is_denied_leaves_the_next_one_its_chance(world: World) -> None:
    session = await at_the_desk(world, two_hand_overs())
    turn = await world.turn(session)
    assert [asked["tool_call_id"] for asked in turn["pending"]] == ["h0", "h1"]
    turn = await decide(world, session, turn, one("deny", "h0"))
    assert [asked["tool_call_id"] for asked in turn["pending"]] == ["h1"]
    assert (await decide(world, session, turn, one("approve", "h1")))["status"] == "completed"
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["agent"] == "b"


async def test_a_call_that_was_refused_meanwhile_is_not_there_to_be_decided_on(world: World) -> None:
    session = await at_the_desk(world, two_hand_overs("lookup"))
    turn = await world.turn(session)
    turn = await decide(world, session, turn, one("approve", "h0"))
    assert [(asked["tool_call_id"], asked["needs"]) for asked in turn["pending"]] == [("h2", "result")]
    found = await decide(world, session, turn, one("approve", "h1"), 422)
    assert [fault["code"] for fault in found["errors"]] == ["no-approval-asked"]
    assert (await world.results(session, turn["id"], [result("h2")]))["status"] == "completed"
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["agent"] == "a"


async def test_a_stop_loses_no_result_that_is_back(settings: Settings) -> None:
    """The second result comes back, and then a stop, while the first one is being stored."""
    async with endpoint(pause_seconds=0.2) as place, inside(with_desk(settings, place)) as here:
        world, halted = here.world, 0

        async def late(append: Append, real: Real) -> Appended:
            nonlocal halted
            if "tool_result" in kinds(append) and not halted:
                halted = 1
                await taken(place, 1)
                await asyncio.sleep(0.6)
                running = next(iter(here.desk.running.values()))
                stopped = NewEntry(StopRequested.kind, StopRequested("cancel").encode(), running.number)
                beside = Append(entries=(stopped,), beside=True, stop_turn=running.number)
                await here.store.ledger.append(running.facts.key.tenant, running.facts.key.session, beside)
                running.stop.set()
            done: Appended = await real()
            return done

        around_appends(here.store.ledger, late)
        two = {"tool_calls": [{"id": "c1", "name": "look", "arguments": "[]"}, {"id": "c2", "name": "look", "arguments": "{}"}]}
        look = {"name": "look", "executor": {"kind": "http", "server": "desk"}}
        session = await world.session(await world.agent([two, {"text": "Done."}], tools=[look]))
        assert (await world.turn(session))["status"] == "cancelled"
        results = {entry["body"]["tool_call_id"]: text(entry) for entry in await world.raw(session) if entry["kind"] == "tool_result"}
        assert results["c2"] == "fine"


@pytest.mark.req("T-13")
async def test_a_model_that_a_session_was_switched_to_is_not_that_of_agents_with_their_own(world: World) -> None:
    """An agent of the same model takes part with the switched one; one that names another keeps its own, in the turn as behind it."""
    script = [call("consult", 1, q="x"), {"text": "Inner."}, call("hand_over", 2), {"text": "There."}, {"text": "Again."}]
    await put(world, "expert", script)
    await put(world, "pharmacy", script)
    await put(world, "nurse", script, [tool("consult", "expert", "call"), tool("hand_over", "pharmacy", "transfer")])
    session = await world.session("nurse")
    switched = {"upstream": "scripted", "name": "gpt-4o", "params": {"script": script}}
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": switched})
    await world.turn(session)
    await world.turn(session, "again")
    calls = await calls_of(world, session)
    assert [(made["agent"], made["model"]) for made in calls] == [
        ("nurse", "gpt-4o"),
        ("expert", "expert"),
        ("nurse", "gpt-4o"),
        ("pharmacy", "pharmacy"),
        ("pharmacy", "pharmacy"),
    ]
    for made in calls:
        await derived(world, session, made)


@pytest.mark.req("X-79")
@pytest.mark.parametrize("how", ["retry", "regenerate"])
async def test_a_turn_that_waits_inside_a_called_agent_is_abandoned_and_answered_again(world: World, how: str) -> None:
    asks = {"name": "pay", "approval": "always"}
    first = [call("consult", 1, q="x"), call("pay", 2)]
    script = [*first, call("consult", 3, q="y"), {"text": "Inner."}, {"text": "Outer."}]
    if how == "regenerate":
        script.insert(2, {"text": "New."})
    await put(world, "expert", script, [asks])
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    turn = await world.turn(session)
    assert [(waits["tool_call_id"], waits["needs"]) for waits in turn["pending"]] == [("c2", "approval")]
    if how == "regenerate":
        assert (await world.turn(session, "new", on_pending="abandon"))["status"] == "completed"
    path, body = f"/sessions/{session}/turns/{turn['id']}/{how}", {"on_pending": "abandon"}
    again = (await world.call("POST", path, 200, json=body, headers={"accept": "application/json"})).json()
    assert (again["status"], again["retry_of"]) == ("completed", turn["id"])
    assert text((await world.raw(session))[-1]) == "Outer."
    before = (await world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()
    assert (before["status"], before["pending"]) == ("cancelled", [])
    assert (await world.input(session))["violations"] == []
    for made in await calls_of(world, session):
        await derived(world, session, made)


@pytest.mark.req("X-01")
async def test_changes_beside_a_turn_never_lose_a_tools_result(settings: Settings) -> None:
    async with endpoint() as place, inside(with_desk(settings, place)) as here:
        world, patches = here.world, 0

        async def raced(append: Append, real: Real) -> Appended:
            nonlocal patches
            if "tool_result" in kinds(append) and patches < 24:
                patches += 1
                await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"n": patches}})
            done: Appended = await real()
            return done

        around_appends(here.store.ledger, raced)
        look = {"name": "look", "executor": {"kind": "http", "server": "desk"}}
        session = await world.session(await world.agent([call("look", 1), {"text": "Done."}], tools=[look]))
        assert (await world.turn(session))["status"] == "completed"
        assert patches == 24
        assert [text(entry) for entry in await world.raw(session) if entry["kind"] == "tool_result"] == ["fine"]


@pytest.mark.req("X-79")
async def test_a_turn_with_as_many_open_calls_as_there_may_be_is_cancelled(world: World) -> None:
    def asks(level: int, number: int) -> list[Any]:
        return [{"id": f"l{level}-{at}", "name": "lookup", "arguments": "{}"} for at in range(number)]

    consult = {"id": "consult", "name": "consult", "arguments": "{}"}
    script = [{"tool_calls": [*asks(0, AGENT_CALLS_OPEN_MAX - 1), consult]}, {"tool_calls": asks(1, TOOL_CALLS_PER_ANSWER_MAX)}]
    await put(world, "expert", script, [{"name": "lookup"}])
    await put(world, "nurse", script, [{"name": "lookup"}, tool("consult", "expert", "call")])
    session = await world.session("nurse")
    turn = await world.turn(session)
    open_calls = AGENT_CALLS_OPEN_MAX + TOOL_CALLS_PER_ANSWER_MAX
    assert len(turn["pending"]) == open_calls - 1
    done = (await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/cancel", 200, json={})).json()
    assert done["status"] == "cancelled"
    assert len(await world.ledger(session, kinds="tool_result")) == open_calls
