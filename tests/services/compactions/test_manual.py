"""Compaction on request: no message, no main call, the old projection until the checkpoint stands, one writer at a time."""

import asyncio
from typing import Any

import pytest

from tests.services.compactions.long_sessions import SHORT, calls, compact, kinds, long_session, plan, until_busy, whole
from tests.services.world import World

SLOW: dict[str, Any] = {"text": "slow words " * 40, "chunk_chars": 10, "delay_ms": 40}


@pytest.mark.req("S0-33", "S0-34", "S0-36", "S1-01", "X-47", "X-50", "X-52", "S2-42", "S3-31", "T-18")
async def test_a_summary_takes_the_place_of_older_turns_for_the_model_alone(world: World) -> None:
    session = await long_session(world)
    transcript, before = await world.raw(session), await world.ledger(session)
    would = await plan(world, session)
    found = await compact(world, session)
    assert found["outcome"] == would["would"] == "compacted"
    assert (found["covers_through_seq"], found["tokens_before"]) == (would["covers_through_seq"], would["tokens_before"])
    assert found["tokens_after"] < found["tokens_before"]
    assert await world.raw(session) == transcript
    after = await world.ledger(session)
    assert after[: len(before)] == before
    assert [entry["kind"] for entry in after[len(before) :]] == ["compaction_requested", "checkpoint"]
    body = after[-1]["body"]
    assert (body["checkpoint_id"], body["requested_seq"], body["driver"], body["trigger"]) == (
        found["checkpoint_id"], after[-2]["seq"], "model", "manual",
    )  # fmt: skip
    shown = await world.input(session)
    assert shown["budget"]["total"] == found["tokens_after"]
    assert len(transcript) > len(shown["body"]["messages"])
    assert shown["source_map"]["sources"][0] == {
        "type": "compaction",
        "checkpoint_id": found["checkpoint_id"],
        "message_index": body["first_kept_index"],
        "summarized_before": body["first_kept_index"],
    }
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] == found["checkpoint_id"]
    (call,) = await calls(world, session)
    assert (call["status"], call["turn_id"], call["tools"], len(call["attempts"])) == ("completed", None, [], 1)
    await whole(world, session)
    assert (await world.turn(session, "and now?"))["status"] == "completed"
    await whole(world, session)


@pytest.mark.req("X-51")
async def test_a_later_summary_updates_the_earlier_one_and_a_checkpoint_alone_is_not_compacted_again(world: World) -> None:
    session = await long_session(world, [{"text": "First."}, {"text": "Second."}])
    first = await compact(world, session)
    again = await compact(world, session)
    assert (again["outcome"], again["checkpoint_id"]) == ("nothing_to_compact", None)
    for number in range(4):
        await world.turn(session, f"more {number} " + "river " * 40)
    second = await compact(world, session)
    assert second["outcome"] == "compacted"
    body = (await world.ledger(session))[-1]["body"]
    assert body["replaces"] == first["checkpoint_id"]
    call = (await calls(world, session))[1]
    asked = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
    assert "First." in str(asked["body"]["messages"])
    assert "Second." in str((await world.input(session))["body"]["messages"])
    await whole(world, session)


@pytest.mark.req("X-50")
async def test_nothing_to_compact_and_a_floor_that_does_not_fit_write_nothing(world: World) -> None:
    session = await long_session(world, turns=1)
    head = (await world.ledger(session))[-1]["seq"]
    assert (await plan(world, session))["would"] == "nothing_to_compact"
    assert (await compact(world, session))["outcome"] == "nothing_to_compact"
    heavy = [{"renderer": "system", "text": "S " * 3_000}, {"renderer": "history"}]
    huge = await long_session(world, turns=2, agent={"context": heavy})
    agent = (await world.call("GET", f"/sessions/{huge}", 200)).json()["agent"]
    document = (await world.call("GET", f"/agents/{agent}", 200)).json()["document"]
    small = {"limits": {"context_window": 3_000, "max_output_tokens": 512}}
    name = await world.agent(**{**document, **small})
    await world.call("PATCH", f"/sessions/{huge}", 200, json={"agent": name})
    there = (await world.ledger(huge))[-1]["seq"]
    assert (await plan(world, huge, keep_recent_tokens=1))["would"] == "declined_floor"
    declined = await compact(world, huge, keep_recent_tokens=1)
    assert (declined["outcome"], declined["tokens_after"], declined["checkpoint_id"]) == ("declined_floor", None, None)
    assert (await world.ledger(session))[-1]["seq"] == head
    assert (await world.ledger(huge))[-1]["seq"] == there
    assert await calls(world, session) == []


@pytest.mark.req("X-50")
async def test_beside_a_turn_or_another_compaction_the_session_is_busy_and_one_that_waits_is_pending(world: World) -> None:
    session = await long_session(world, [SLOW])
    first = asyncio.create_task(compact(world, session))
    await until_busy(world, session)
    shown = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (shown["status"], shown["running_turn"]) == ("busy", None)
    busy = await compact(world, session, 409)
    assert (busy["code"], busy.get("turn_id"), "compaction" in busy["detail"]) == ("session-busy", None, True)
    assert (await world.turn(session, "hello", 409))["code"] == "session-busy"
    assert (await first)["outcome"] == "compacted"
    assert (await world.turn(session, "hello"))["status"] == "completed"
    tools = [{"name": "ask", "parameters": {"type": "object"}}]
    asking = await long_session(world, turns=0, script=[{"tool_calls": [{"id": "c1", "name": "ask", "arguments": "{}"}]}], agent={"tools": tools})
    assert (await world.turn(asking))["status"] == "requires_action"
    assert (await compact(world, asking, 409))["code"] == "pending-action"


@pytest.mark.req("X-49", "S3-34")
async def test_a_stop_ends_it_and_leaves_everything_as_it_was(world: World) -> None:
    session = await long_session(world, [SLOW])
    before = (await world.input(session))["digest"]
    running = asyncio.create_task(compact(world, session))
    await until_busy(world, session)
    stopped = (await world.call("POST", f"/sessions/{session}/stop", 200)).json()
    assert stopped["turn"] is None
    assert (await running)["outcome"] == "failed"
    assert (await world.ledger(session))[-1]["body"]["reason"] == "cancelled"
    assert (await world.input(session))["digest"] == before
    (call,) = await calls(world, session)
    assert call["status"] == "cancelled"
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "idle"


async def test_a_turn_may_end_it_too(world: World) -> None:
    session = await long_session(world, [SLOW])
    running = asyncio.create_task(compact(world, session))
    await until_busy(world, session)
    assert (await world.turn(session, "now", on_busy="interrupt"))["status"] == "completed"
    assert (await running)["outcome"] == "failed"
    assert (await kinds(world, session)).count("compaction_failed") == 1


async def test_a_head_that_is_not_the_expected_one_and_a_key_that_was_used(world: World) -> None:
    session = await long_session(world)
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    await compact(world, session, 412, expected_head=head - 1)
    key = {"idempotency-key": "one"}
    first = await compact(world, session, expected_head=head, headers=key)
    again = await compact(world, session, expected_head=head, headers=key)
    assert again == first
    assert (await kinds(world, session)).count("checkpoint") == 1


async def test_what_is_asked_for_beside_the_instructions_reaches_the_model(world: World) -> None:
    session = await long_session(world)
    await compact(world, session, instructions="Keep every number.", keep_recent_tokens=1)
    (call,) = await calls(world, session)
    asked = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
    assert "Keep every number." in str(asked["body"]["messages"])
    await whole(world, session)


@pytest.mark.req("X-56", "T-17")
async def test_excerpts_are_made_by_whoever_asks_for_them_and_call_nobody(world: World) -> None:
    long: dict[str, Any] = {"window": 60_000, "words": "river " * 600}
    session = await long_session(world, **long)
    found = await compact(world, session, driver={"kind": "excerpt"}, keep_recent_tokens=1)
    assert found["outcome"] == "compacted"
    assert await calls(world, session) == []
    assert (await world.ledger(session))[-1]["body"]["driver"] == "excerpt"
    failing = await long_session(world, [{"error": {"status": 400}}], driver={"kind": "model", "fallback": "excerpt"}, **long)
    found = await compact(world, failing, keep_recent_tokens=1)
    assert found["outcome"] == "compacted"
    body = (await world.ledger(failing))[-1]["body"]
    assert (body["driver"], body["call_id"], body["usage"]) == ("excerpt", None, None)
    (call,) = await calls(world, failing)
    assert call["status"] == "failed"
    await whole(world, failing)


async def test_a_driver_that_cannot_be_used_is_refused_before_anything_is_written(world: World) -> None:
    session = await long_session(world)
    head = (await world.ledger(session))[-1]["seq"]
    for driver, pointer in (
        ({"kind": "model", "model": {"upstream": "nowhere", "name": "m"}}, "/driver/model/upstream"),
        ({"kind": "excerpt", "model": {"upstream": "scripted", "name": "m"}}, "/driver/model"),
        ({"kind": "other"}, "/driver/kind"),
    ):
        found = await compact(world, session, 422, driver=driver)
        assert [one["pointer"] for one in found["errors"]] == [pointer]
    assert (await world.ledger(session))[-1]["seq"] == head


async def test_an_agent_whose_driver_has_no_known_model_is_refused(world: World) -> None:
    for model, pointer in (
        ({"upstream": "nowhere", "name": "m"}, "/compaction/driver/model/upstream"),
        ({"upstream": "scripted", "name": "never-heard-of"}, "/compaction/driver/model"),
    ):
        body = {
            "model": {"upstream": "scripted", "name": "scripted", "params": {}},
            "limits": {"context_window": 8_000, "max_output_tokens": 512},
            "compaction": {"driver": {"kind": "model", "model": model}},
        }
        found = (await world.call("PUT", "/agents/other", 422, json=body)).json()
        assert [one["pointer"] for one in found["errors"]] == [pointer]


async def test_the_text_of_the_artifact_is_what_its_entry_says(world: World) -> None:
    session = await long_session(world, [SHORT])
    await compact(world, session)
    body = (await world.ledger(session))[-1]["body"]
    answer = await world.call("GET", f"/sessions/{session}/blobs/{body['artifact']}", 200)
    assert answer.headers["content-type"].startswith("application/vnd.context-ledger.summary+json")
    assert answer.json() == body["summary"]
    assert len(body["summary"]["salt"]) == 32
    assert answer.json()["facts"] == {"summary": [{"text": SHORT["text"], "cites": []}]}


@pytest.mark.req("S1-28", "X-45")
async def test_a_turn_whose_input_is_covered_is_regenerated_and_not_retried(world: World) -> None:
    """Its input would be in no request of the retry: what was appended behind it is the newest turn."""
    script = [*[{"text": "answer"}] * 3, {"error": {"status": 400}}, {"text": "now"}]
    session = await long_session(world, turns=3, script=script)
    failed = await world.turn(session, "THE QUESTION " + "river " * 40)
    assert failed["status"] == "failed"
    said = {"entries": [{"kind": "user_message", "parts": [{"type": "text", "text": "appended"}]}]}
    await world.call("POST", f"/sessions/{session}/entries", 201, json=said)
    assert (await compact(world, session, keep_recent_tokens=1))["covers_through_seq"] > failed["input_seq"]
    path, before = f"/sessions/{session}/turns/{failed['id']}", await world.ledger(session)
    refused = (await world.call("POST", f"{path}/retry", 409, json={})).json()
    assert (refused["code"], "egenerate" in refused["detail"]) == ("not-retryable", True)
    assert await world.ledger(session) == before
    again = (await world.call("POST", f"{path}/regenerate", 200, json={})).json()
    assert again["status"] == "completed", again
    (call,) = again["calls"]
    sent = (await world.call("GET", f"/sessions/{session}/calls/{call}/model-input", 200)).json()["body"]["messages"]
    assert "THE QUESTION" in str(sent[-1])
    await whole(world, session)
