"""One turn in every dialect over the running service: what is said, called, answered and replayed does not depend on the wire."""

import threading
from typing import Any

import pytest

from app.formats.registry import FORMATS
from app.services.validation import validate
from tests.services.world import World

TOOLS = [{"name": "lookup", "description": "Finds a record.", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}]
USAGE = {"input": 120, "output": 30}
SCRIPT = [
    {
        "reasoning": "I look it up.",
        "text": "One moment.",
        "tool_calls": [{"name": "lookup", "arguments": '{"id":"7"}'}, {"name": "lookup", "arguments": '{"id":"8"}'}],
        "stop": "tool_calls",
        "usage": USAGE,
    },
    {"text": "Ann and Ben.", "usage": USAGE},
]
FAILURES = [
    ({"status": 500, "code": "server_error"}, "upstream-error"),
    ({"status": 401}, "upstream-auth"),
    ({"status": 429, "retry_after": 1}, "upstream-rate-limited"),
    ({"status": 500, "after_chars": 4}, "upstream-error"),
]


async def opened(world: World, dialect: str, script: Any, **document: Any) -> str:
    params = {"dialect": dialect, "script": script}
    model = {"upstream": "scripted", "name": "m", "params": params}
    context = [{"renderer": "system", "text": "You are a triage nurse."}, {"renderer": "history"}]
    return await world.session(await world.agent(model=model, context=context, tools=TOOLS, **document))


@pytest.mark.req("S0-16", "S0-25", "X-41", "X-42")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_a_turn_with_parallel_tools_is_the_same_on_every_wire(world: World, dialect: str) -> None:
    session = await opened(world, dialect, SCRIPT)
    turn = await world.turn(session, "who are 7 and 8?")
    assert turn["status"] == "requires_action", turn
    assert [(one["name"], one["arguments"]) for one in turn["pending"]] == [("lookup", '{"id":"7"}'), ("lookup", '{"id":"8"}')]
    ids = [one["tool_call_id"] for one in turn["pending"]]
    assert len(set(ids)) == 2
    turn = await world.results(session, turn["id"], [{"tool_call_id": one, "content": name} for one, name in zip(ids, ("Ann", "Ben"), strict=True)])
    assert turn["status"] == "completed", turn
    assert turn["usage"]["input"] == 2 * USAGE["input"]
    assert turn["usage"]["output"] == 2 * USAGE["output"]
    answers = [entry["body"] for entry in await world.raw(session) if entry["kind"] == "assistant_message"]
    assert [part["type"] for part in answers[0]["parts"]] == ["reasoning", "text", "tool_call", "tool_call"]
    assert (answers[0]["stop_reason"], answers[1]["stop_reason"]) == ("tool_calls", "finished")
    assert [(part["type"], part["text"]) for part in answers[1]["parts"]] == [("text", "Ann and Ben.")]
    for call in (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]:
        assert (call["dialect"], call["status"], call["usage"]["source"]) == (dialect, "completed", "reported")
        assert call["tools"] == ["lookup"], "declared on every call, also with the results (S0-16)"
        seen = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
        assert (seen["verified"], seen["violations"]) == (True, [])
        judged = await world.call("POST", f"/validate/{dialect}", 200, json=seen["body"])
        assert judged.json()["violations"] == []


@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize(("error", "code"), FAILURES)
async def test_a_failure_is_told_alike_on_every_wire(world: World, dialect: str, error: dict[str, Any], code: str) -> None:
    session = await opened(world, dialect, [{"text": "A long answer that is cut.", "error": error}])
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]["code"]) == ("failed", code), turn
    answers = [entry["body"] for entry in await world.raw(session) if entry["kind"] == "assistant_message"]
    assert [(answer["status"], answer["parts"][0]["text"]) for answer in answers] == ([("failed", "A lo")] if "after_chars" in error else [])


@pytest.mark.req("X-74", "T-10")
@pytest.mark.parametrize("dialect", FORMATS)
async def test_a_stream_that_is_cut_is_a_failed_answer_and_runs_no_tool(world: World, dialect: str) -> None:
    script = [{"text": "Look.", "tool_calls": [{"name": "lookup", "arguments": '{"id":"7"}'}], "cut_after_chars": 9}]
    session = await opened(world, dialect, script)
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]["code"], turn["pending"]) == ("failed", "stream-truncated", [])
    (answer,) = [entry["body"] for entry in await world.raw(session) if entry["kind"] == "assistant_message"]
    assert (answer["status"], answer["parts"][0]["text"]) == ("failed", "Look.")
    body = (await world.input(session))["body"]
    assert "Look." not in str(body)


async def test_bodies_are_judged_beside_the_event_loop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def judged(dialect: str, body: Any) -> Any:
        threads.append(threading.current_thread())
        return validate(dialect, body)

    monkeypatch.setattr("app.api.routes.model_input.validate", judged)
    found = (await world.call("POST", "/validate/openai-chat", 200, json={"model": "m", "messages": [{"role": "x"}] * 3})).json()
    assert (found["valid"], len(found["violations"])) == (False, 3)
    assert threads
    assert threading.main_thread() not in threads
