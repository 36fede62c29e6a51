"""A model with a plan, over HTTP: what its controls come to, what the next call is told, and that no script makes it run for ever."""

import json
import random
from typing import Any

import pytest

from app.config.settings import Settings
from app.context.passes.receipts import TAG
from app.entries.kinds import KINDS
from tests.api.conftest import running, talking
from tests.services.world import World, text
from tests.storage.sessions_made import fetch_as_admin

STEPS = [{"text": "look", "status": "active"}, {"text": "tell", "status": "pending"}]
CREATE = {"operation": "create", "objective": "Find <out>.", "steps": STEPS}
TOOLS = [{"name": "lookup", "description": "d", "parameters": {"type": "object"}}]
LIMITS_OF_A_TURN = 6


def plan(asked: Any = CREATE, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": "update_plan", "arguments": json.dumps(asked)}], **more}


def progress(line: str = "Looking it up") -> dict[str, Any]:
    return {"tool_calls": [{"name": "report_progress", "arguments": json.dumps({"text": line})}]}


async def planning(world: World, script: list[Any], **document: Any) -> str:
    return await world.session(await world.agent(script, plan={"enabled": True}, tools=TOOLS, **document))


async def calls_of(world: World, session: str) -> list[Any]:
    return list((await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"])


async def sent(world: World, session: str, call: Any) -> Any:
    found = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
    assert found["verified"] is True
    return found


def names(found: Any) -> list[str]:
    return [tool["function"]["name"] for tool in found["body"]["tools"]]


@pytest.mark.req("S3-10", "S3-18", "S3-19", "S3-20", "S3-21", "S3-22", "S3-24", "S3-26", "S3-36", "X-25", "X-65", "X-68")
async def test_a_plan_alone_is_followed_by_one_call_that_shows_no_control(world: World) -> None:
    session = await planning(world, [plan(), {"text": "Here you are."}])
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]) == ("completed", None)
    transcript = await world.raw(session)
    assert [entry["kind"] for entry in transcript] == ["user_message", "assistant_message"]
    assert text(transcript[1]) == "Here you are."
    first, second = [await sent(world, session, call) for call in await calls_of(world, session)]
    assert names(first) == ["lookup", "update_plan", "report_progress"]
    assert names(second) == ["lookup"]
    (change,) = await world.ledger(session, kinds="plan_changed")
    assert (change["body"]["accepted"], change["body"]["arguments"]) == (True, json.dumps(CREATE))
    told = second["body"]["messages"][-1]
    assert told["role"] == "user"
    assert told["content"].startswith(f'<{TAG} reason="plan_updated" receipt="{change["seq"]}">')
    assert "Find \\u003cout\\u003e." in told["content"]
    assert second["source_map"]["sources"][-1] == {"type": "continuation", "reason": "plan_updated", "receipt_seq": change["seq"]}
    assert second["message_count"] == 2
    rows = {(row["source"]["kind"], row["source"].get("name")): row for row in second["manifest"]["decisions"]}
    assert rows["control", "update_plan"]["reason"] == "control_hidden"
    assert rows["plan", None]["source"] == {"kind": "plan", "seq": change["seq"], "revision": 1}
    assert rows["plan", None]["disposition"] == "included"
    state = (await world.call("GET", f"/sessions/{session}/plan", 200)).json()
    assert (state["seq"], state["plan"]["status"], state["plan"]["steps"]) == (change["seq"], "active", STEPS)


@pytest.mark.req("X-67")
async def test_a_change_that_is_rejected_beside_work_is_told_with_the_results(world: World) -> None:
    both = {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}, *plan({"operation": "revise"})["tool_calls"]]}
    call = {"tool_calls": [{"id": "c2", "name": "lookup", "arguments": "{}"}]}
    session = await planning(world, [both, call, {"text": "Done."}])
    turn = await world.turn(session)
    for number in (1, 2):
        turn = await world.results(session, turn["id"], [{"tool_call_id": f"c{number}", "content": "42"}])
    assert turn["status"] == "completed"
    told = [(await sent(world, session, call))["body"]["messages"][-1]["content"] for call in await calls_of(world, session)]
    rejected = "Your plan change beside them was rejected: There is no active plan: `operation` has to be create."
    assert [rejected in text for text in told] == [False, True, False]


@pytest.mark.req("S3-23", "S3-38", "T-12")
async def test_what_a_call_is_told_leaves_the_instructions_as_they_are(world: World) -> None:
    context = [{"renderer": "system", "text": "You look."}, {"renderer": "history"}]
    call = {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}
    session = await planning(world, [call, {"text": "Done."}], context=context)
    turn = await world.turn(session)
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    first, second = await calls_of(world, session)
    assert first["prefix_digest"] == second["prefix_digest"]
    bodies = [(await sent(world, session, call))["body"] for call in (first, second)]
    assert bodies[0]["messages"][0] == bodies[1]["messages"][0]
    assert bodies[0]["messages"][-1] != bodies[1]["messages"][-1]


@pytest.mark.req("S3-25", "S3-27", "S3-28", "T-28", "X-67")
async def test_an_invalid_plan_is_repaired_once_and_then_the_turn_only_works(world: World) -> None:
    wrong = plan({"operation": "revise"})
    session = await planning(world, [wrong, wrong, {"text": "Without a plan, then."}])
    assert (await world.turn(session))["status"] == "completed"
    calls = await calls_of(world, session)
    exposures = [(await sent(world, session, call)) for call in calls]
    assert [names(one) for one in exposures] == [["lookup", "update_plan", "report_progress"], ["lookup", "update_plan"], ["lookup"]]
    assert [call["continuation"]["reason"] for call in calls] == ["input_received", "plan_rejected", "execution_only_recovery"]
    assert "There is no active plan: `operation` has to be create." in exposures[1]["body"]["messages"][-1]["content"]


@pytest.mark.req("S3-18", "S3-19", "X-65", "X-69")
async def test_progress_alone_is_not_called_an_accepted_plan(world: World) -> None:
    """Neither is a rejection of an earlier turn called the reason for this call."""
    session = await planning(world, [plan({"operation": "revise"}, text="So be it."), progress(), {"text": "Done."}])
    await world.turn(session)
    assert (await world.turn(session, "again"))["status"] == "completed"
    last = (await calls_of(world, session))[-1]
    assert last["continuation"] == {"reason": "execution_only_recovery", "receipt_seq": None}
    told = (await sent(world, session, last))["body"]["messages"][-1]["content"]
    assert "accepted" not in told
    assert "Why:" not in told


@pytest.mark.req("S3-28", "S3-29", "T-28")
@pytest.mark.parametrize(
    ("last", "code"), [(plan(), "control-only"), (progress(), "control-only"), ({"text": ""}, "empty-answer")], ids=["plan", "progress", "nothing"]
)
async def test_two_rejected_plans_and_no_work_end_after_three_calls(world: World, last: Any, code: str) -> None:
    """Vector 13: ordinary, repair, execution-only, and never a fourth."""
    wrong = plan({"operation": "revise"})
    session = await planning(world, [wrong, wrong, last])
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]["code"], len(turn["calls"])) == ("failed", code, 3)


@pytest.mark.req("X-69")
async def test_progress_is_a_signal_and_leaves_no_trace_in_the_conversation(world: World) -> None:
    beside = {"text": "Done.", **progress("Looking\n it up")}
    session = await planning(world, [beside])
    found = await world.stream(session)
    assert [frame.data["text"] for frame in found if frame.event == "progress"] == ["Looking it up"]
    assert not [frame for frame in found if frame.event.startswith("tool_call")]
    kinds = [entry["kind"] for entry in await world.ledger(session)]
    assert "plan_changed" not in kinds
    (answer,) = [entry for entry in await world.raw(session) if entry["kind"] == "assistant_message"]
    assert [part["type"] for part in answer["body"]["parts"]] == ["text"]


@pytest.mark.req("S3-24", "X-74")
async def test_a_control_of_a_truncated_answer_is_no_call_to_listeners_either(world: World) -> None:
    session = await planning(world, [{"stop": "length", **plan(text="I wi")}, {"text": "Done."}])
    found = await world.stream(session)
    assert not [frame for frame in found if frame.event in ("tool_call.started", "tool_call.delta", "tool_call.completed", "plan.changed")]
    assert found[-1].event == "turn.completed"
    assert (await world.call("GET", f"/sessions/{session}/plan", 200)).json()["plan"] is None


async def test_a_change_beside_text_is_told_to_listeners_and_the_turn_is_done(world: World) -> None:
    session = await planning(world, [plan(text="I will look.")])
    found = await world.stream(session)
    (told,) = [frame.data for frame in found if frame.event == "plan.changed"]
    assert (told["accepted"], told["operation"], told["plan"]["revision"]) == (True, "create", 1)
    assert found[-1].event == "turn.completed"


@pytest.mark.req("S3-18")
async def test_without_a_plan_the_cause_stands_in_the_call_and_nothing_is_inserted(world: World) -> None:
    session = await world.session()
    found = await world.stream(session)
    (started,) = [frame.data for frame in found if frame.event == "call.started"]
    assert started["continuation"] == {"reason": "input_received", "receipt_seq": 2}
    (call,) = await calls_of(world, session)
    assert [message["role"] for message in (await sent(world, session, call))["body"]["messages"]] == ["user"]


def told(found: Any) -> str:
    return str(found["body"]["messages"][-1]["content"])


@pytest.mark.req("S3-12", "S3-21", "S3-22")
async def test_what_a_call_is_told_is_drawn_from_receipts_and_what_is_left_to_do(world: World) -> None:
    """The cause of each call is an entry of its own turn, and what may still be done falls by what was done: nothing is said from memory."""
    lookup = {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}
    session = await planning(world, [lookup, plan({"operation": "revise"}), plan(), {"text": "Done."}])
    turn = await world.turn(session)
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    assert turn["status"] == "completed"
    ledger = {entry["seq"]: entry for entry in await world.ledger(session)}
    calls = await calls_of(world, session)
    inputs = [await sent(world, session, call) for call in calls]
    receipts = [ledger[call["continuation"]["receipt_seq"]] for call in calls]
    assert [(call["continuation"]["reason"], entry["kind"]) for call, entry in zip(calls, receipts, strict=True)] == [
        ("input_received", "user_message"),
        ("tool_completed", "tool_result"),
        ("plan_rejected", "plan_changed"),
        ("plan_updated", "plan_changed"),
    ]
    for call, entry, found in zip(calls, receipts, inputs, strict=True):
        assert entry["seq"] <= call["head_seq"]
        assert f'reason="{call["continuation"]["reason"]}" receipt="{entry["seq"]}"' in told(found)
    obligations = [told(found).partition("Obligation: ")[2].partition(".")[0] for found in inputs]
    assert obligations == ["respond_or_act", "respond_or_act", "repair_plan_control", "respond_or_act"]
    left = [told(found).partition("Left in this turn: ")[2].partition(".")[0] for found in inputs]
    assert [(one[0], one[15]) for one in left] == [("1", "1"), ("1", "1"), ("0", "1"), ("0", "0")], "repairs, further requests"


@pytest.mark.req("S3-37")
async def test_receipts_are_not_a_second_lifecycle(settings: Settings) -> None:
    """They have no kind of entry, no table, no status and no route: after a restart each is computed again from the entries and is what was sent."""
    assert settings.database_url is not None
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        lookup = {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}
        session = await planning(world, [plan(), lookup, {"text": "Done."}])
        turn = await world.turn(session)
        path = f"/sessions/{session}/calls"
        first = (await world.call("GET", path, 200)).json()["data"]
        coming = await world.input(session)
        before = await world.ledger(session)
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        assert await world.ledger(session) == before, "reading what is told wrote nothing, and neither did the restart"
        again = [await sent(world, session, call) for call in first]
        assert [found["digest"] for found in again] == [call["digest"] for call in first]
        waiting = await world.input(session)
        assert (waiting["digest"], waiting["awaiting"]) == (coming["digest"], "tool_results")
        turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
        assert turn["status"] == "completed"
        last = await sent(world, session, (await calls_of(world, session))[-1])
        result = next(entry for entry in await world.ledger(session) if entry["kind"] == "tool_result")
        assert f'reason="tool_completed" receipt="{result["seq"]}"' in told(last), "what a second process tells is drawn from the first one's entries"
        assert TAG not in json.dumps(await world.ledger(session)), "what is told is never stored"
    assert not [kind for kind in KINDS if any(word in kind for word in ("receipt", "obligation", "continuation"))]
    tables = await fetch_as_admin(settings.database_url.reveal(), "SELECT table_name FROM information_schema.tables")
    assert not [row for row in tables if any(word in row["table_name"] for word in ("receipt", "obligation", "continuation"))]


def script_of(chance: random.Random) -> list[Any]:
    """Steps of a model that never does anything of use."""
    steps: list[Any] = []
    for _ in range(chance.randint(1, 9)):
        kind = chance.randrange(6)
        masked = {"tool_calls": [{"name": chance.choice(["hidden", "nobody"]), "arguments": "{}"}]}
        steps.append(
            (
                plan(),
                plan({"operation": chance.choice(["revise", "abandon", "create", "x"])}),
                progress(),
                {"text": chance.choice(["", " ", "\n"])},
                masked,
                {"reasoning": "hm", **chance.choice([plan(), masked])},
            )[kind]
        )
    return steps


@pytest.mark.req("S3-30", "T-27", "T-28", "S0-18")
@pytest.mark.parametrize("shard", range(4))
async def test_a_thousand_useless_models_are_called_a_bounded_number_of_times(world: World, shard: int) -> None:
    """A model that only ever answers with controls, with nothing, or with calls of masked tools."""
    tools = [*TOOLS, {"name": "hidden", "enabled": False}]
    ends: dict[str, int] = {}
    for seed in range(250):
        chance = random.Random(shard * 250 + seed)
        script = script_of(chance)
        agent = await world.agent(script, name="useless", plan={"enabled": True}, tools=tools, turn={"max_steps": LIMITS_OF_A_TURN})
        session = await world.session(agent)
        turn = await world.turn(session)
        code = turn["error"]["code"]
        assert turn["status"] == "failed"
        assert code in ("control-only", "empty-answer", "max-steps"), (seed, code)
        assert 1 <= len(turn["calls"]) <= LIMITS_OF_A_TURN
        ends[code] = ends.get(code, 0) + 1
        if seed % 50 == 0:
            kinds = [entry["kind"] for entry in await world.ledger(session)]
            assert kinds.count("model_call_started") == len(turn["calls"])
            assert kinds[-1] == "turn_settled"
    assert len(ends) == 3, ends
