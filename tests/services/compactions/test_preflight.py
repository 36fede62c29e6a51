"""Compaction before a call: when it is due, in which order things happen, how often it is tried, and what is never sent."""

from typing import Any

import pytest

from tests.services.compactions.long_sessions import SHORT, calls, kinds, long_session, whole
from tests.services.world import Frame, World

FOLDS = ("compaction_requested", "checkpoint", "compaction_failed", "model_call_started")


async def until_it_presses(world: World, session: str, words: str = "word " * 120) -> list[Frame]:
    """The frames of the first turn before whose call a compaction was asked for."""
    for number in range(40):
        found = await world.stream(session, f"q{number} {words}")
        if any(frame.event == "COMPACTION_STARTED" for frame in found):
            return found
    raise AssertionError("the window never filled up")


def told(found: list[Frame]) -> list[str]:
    return [frame.event for frame in found if frame.event.startswith(("COMPACTION_", "call.", "context.", "turn."))]


@pytest.mark.req("X-46", "X-47", "X-53", "S0-33", "S1-01", "S1-25", "S1-31", "S2-42", "S3-31", "T-18", "T-29")
async def test_a_call_that_presses_is_preceded_by_a_summary_and_everything_is_told_and_durable_in_order(world: World) -> None:
    session = await long_session(world, [SHORT], turns=0, window=4_000, trigger_fraction=0.6)
    found = await until_it_presses(world, session)
    assert list(dict.fromkeys(told(found))) == [
        "turn.started",
        "COMPACTION_STARTED",
        "COMPACTION_DELTA",
        "COMPACTION_COMPLETED",
        "call.started",
        "context.compiled",
        "turn.completed",
    ]
    by_name = {frame.event: frame.data for frame in found}
    assert "".join(frame.data["text"] for frame in found if frame.event == "COMPACTION_DELTA") == SHORT["text"]
    done = by_name["COMPACTION_COMPLETED"]
    assert (done["applied"], done["outcome"]) == (True, "compacted")
    assert done["tokens_after"] < done["tokens_before"]
    assert by_name["context.compiled"]["budget"]["total"] == done["tokens_after"]
    turn = by_name["turn.completed"]["turn"]
    own = [entry for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
    assert [entry["kind"] for entry in own if entry["kind"] in FOLDS] == ["compaction_requested", "checkpoint", "model_call_started"]
    assert own[-1]["kind"] == "turn_settled"
    (call,) = await calls(world, session)
    assert (call["turn_id"], call["purpose"], call["status"]) == (turn["id"], "compaction", "completed")
    sent = [one["budget"] for one in await calls(world, session, "main")]
    assert max(one["total"] for one in sent) < sent[0]["trigger"] <= done["tokens_before"] * (1 + sent[0]["error_band"])
    again = await world.events(session, turn["id"])
    assert [(frame.id, frame.event, frame.data) for frame in again] == [(frame.id, frame.event, frame.data) for frame in found]
    seen = await world.raw(session)
    sources = (await world.input(session))["source_map"]["sources"]
    assert sources[0]["type"] == "compaction"
    kept = [source["seq"] for source in sources[1:]]
    covered = [entry["seq"] for entry in seen if entry["seq"] < kept[0]]
    assert covered + kept == [entry["seq"] for entry in seen], "whole turns, from a message of a user on, and nothing lost to a person"
    assert next(entry["kind"] for entry in seen if entry["seq"] == kept[0]) == "user_message"
    assert len(seen) > len(sources)
    await whole(world, session)


@pytest.mark.req("S3-35", "X-48", "T-17")
async def test_a_request_that_stays_too_large_is_never_sent_and_the_refusal_says_what_takes_the_room(world: World) -> None:
    session = await long_session(world, [{"error": {"status": 400}}], turns=3, window=3_000, words="word " * 300)
    turn = await world.turn(session, "more " * 1_200)
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    assert all(word in turn["error"]["detail"] for word in ("the instructions take", "the tools 0", "the newest turn"))
    own = [entry["kind"] for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
    assert own.count("compaction_requested") == own.count("compaction_failed") == 2
    assert "checkpoint" not in own
    made = [call for call in await calls(world, session, "main") if call["turn_id"] == turn["id"]]
    assert [(call["status"], call["attempts"]) for call in made] == [("refused", [])]


@pytest.mark.req("X-48")
async def test_the_second_attempt_keeps_the_newest_turn_alone_and_is_made_only_over_the_hard_limit(world: World) -> None:
    session = await long_session(world, [{"text": ""}, SHORT], turns=3, window=3_000, words="word " * 300, keep_recent_tokens=900)
    turn = await world.turn(session, "more " * 1_200)
    assert turn["status"] == "completed", turn
    own = [entry for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
    requests = [entry["body"] for entry in own if entry["kind"] == "compaction_requested"]
    assert [one["attempt"] for one in requests] == [1, 2]
    assert requests[1]["first_kept_seq"] == turn["input_seq"]
    assert [entry["kind"] for entry in own if entry["kind"] in FOLDS] == [
        "compaction_requested", "compaction_failed", "compaction_requested", "checkpoint", "model_call_started",
    ]  # fmt: skip
    await whole(world, session)


@pytest.mark.req("X-48", "S3-34")
async def test_what_still_fits_is_sent_after_a_failed_attempt_and_after_two_pressed_steps_no_more_is_tried(world: World) -> None:
    look = {"tool_calls": [{"id": "c", "name": "ask", "arguments": "{}"}]}
    tools = [{"name": "ask", "parameters": {"type": "object"}}]
    session = await long_session(
        world, [{"text": ""}], turns=4, window=4_000, script=[{"text": "so"}] * 4 + [look] * 3 + [{"text": "done"}], trigger_fraction=0.1,
        agent={"tools": tools}, words="word " * 60, keep_recent_tokens=100,
    )  # fmt: skip
    before = (await kinds(world, session)).count("compaction_requested")
    turn = await world.turn(session, "go")
    for _ in range(3):
        (waits,) = turn["pending"]
        turn = await world.results(session, turn["id"], [{"tool_call_id": waits["tool_call_id"], "content": "ok"}])
    assert turn["status"] == "completed", turn
    own = [entry for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
    assert [entry["body"]["step_index"] for entry in own if entry["kind"] == "compaction_requested"] == [0, 1]
    started = [entry["body"] for entry in own if entry["kind"] == "model_call_started"]
    assert [one.get("pressed") for one in started] == [True] * 4
    await world.turn(session, "again")  # a new prompt starts anew
    assert (await kinds(world, session)).count("compaction_requested") == before + 3


@pytest.mark.req("S2-02")
async def test_a_skill_that_pushes_the_request_over_the_limit_refuses_it(world: World) -> None:
    skills = [{"name": "manual", "description": "Long.", "text": "page " * 6_000}]
    session = await long_session(world, [SHORT], turns=1, window=4_000, agent={"skills": skills})
    turn = await world.turn(session, "hello", skills=["manual"])
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    assert "compaction_requested" not in await kinds(world, session)  # no summary makes the newest turn less
    assert (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"][-1]["attempts"] == []


@pytest.mark.req("X-49", "S3-34")
async def test_a_cancelled_turn_ends_its_compaction(socket_world: World) -> None:
    world = socket_world
    slow: dict[str, Any] = {"text": "slow " * 200, "chunk_chars": 5, "delay_ms": 50}
    session = await long_session(world, [slow], turns=4, window=4_000, words="word " * 200, trigger_fraction=0.9, agent=None)
    found = await world.stream(session, "more " * 1_900, until="COMPACTION_DELTA", on_disconnect="continue")
    turn_id = found[0].data["turn_id"]
    await world.call("POST", f"/sessions/{session}/turns/{turn_id}/cancel", 200, json={})
    turn = await world.until(session, turn_id, "cancelled")
    own = [entry for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
    failed = next(entry["body"] for entry in own if entry["kind"] == "compaction_failed")
    assert (failed["outcome"], failed["reason"]) == ("failed", "cancelled")
    assert "model_call_started" not in [entry["kind"] for entry in own]


OVERFLOW = {"error": {"status": 400, "code": "context_length_exceeded"}}


@pytest.mark.req("X-60")
async def test_a_call_that_the_provider_finds_too_large_is_made_once_more_behind_a_checkpoint(world: World) -> None:
    session = await long_session(world, [SHORT], turns=4, script=[{"text": "so"}] * 4 + [OVERFLOW, {"text": "Now it fits."}, OVERFLOW])
    turn = await world.turn(session, "go on")
    assert turn["status"] == "completed", turn
    own = [entry for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
    assert [entry["kind"] for entry in own if entry["kind"] in FOLDS] == [
        "model_call_started", "compaction_requested", "checkpoint", "model_call_started",
    ]  # fmt: skip
    assert next(entry["body"]["trigger"] for entry in own if entry["kind"] == "checkpoint") == "overflow"
    await whole(world, session)
    for _ in range(2):  # the last step of the script overflows again and again
        again = await world.turn(session, "and again")
        assert (again["status"], again["error"]["code"]) == ("failed", "upstream-overflow")
        begun = [entry for entry in await world.ledger(session) if entry["seq"] in again["entry_seqs"] and entry["kind"] == "model_call_started"]
        assert len(begun) <= 2


@pytest.mark.req("X-60", "S3-34")
@pytest.mark.parametrize("turns", [0, 4], ids=["nothing to compact", "no summary"])
async def test_an_overflow_that_no_summary_helps_ends_the_turn_with_its_error(world: World, turns: int) -> None:
    session = await long_session(world, [{"text": ""}], turns=turns, script=[*[{"text": "so"}] * turns, OVERFLOW])
    turn = await world.turn(session, "go on")
    assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-overflow")
    assert len(await calls(world, session, "main")) == turns + 1
    assert (await kinds(world, session)).count("compaction_requested") == (1 if turns else 0)


@pytest.mark.req("X-60")
async def test_after_a_tool_was_at_work_an_overflow_is_terminal(world: World) -> None:
    look = {"tool_calls": [{"id": "c", "name": "ask", "arguments": "{}"}]}
    agent = {"tools": [{"name": "ask", "parameters": {"type": "object"}}]}
    session = await long_session(world, [SHORT], turns=4, script=[*[{"text": "so"}] * 4, look, OVERFLOW], agent=agent)
    turn = await world.turn(session, "go on")
    turn = await world.results(session, turn["id"], [{"tool_call_id": turn["pending"][0]["tool_call_id"], "content": "ok"}])
    assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-overflow")
    assert "compaction_requested" not in await kinds(world, session)


@pytest.mark.req("S0-30", "X-45")
async def test_a_turn_that_was_compacted_goes_on_with_what_it_waited_for(world: World) -> None:
    """Results, a decision, and its end: each reads the turn's entries, among them a checkpoint that names its artifact as a blob."""
    tools = [{"name": "ask", "parameters": {"type": "object"}}, {"name": "pay", "parameters": {"type": "object"}, "approval": "always"}]
    step = {"tool_calls": [{"id": "a", "name": "ask", "arguments": "{}"}, {"id": "p", "name": "pay", "arguments": "{}"}]}
    for way in ("results", "cancel", "abandon"):
        script = [*[{"text": "so"}] * 4, step, {"text": "done"}]
        session = await long_session(world, [SHORT], turns=4, script=script, agent={"tools": tools}, words="word " * 1_000)
        turn = await world.turn(session, "more " * 3_000)
        own = [entry["kind"] for entry in await world.ledger(session) if entry["seq"] in turn["entry_seqs"]]
        assert ("checkpoint" in own, turn["status"]) == (True, "requires_action"), (own, turn["error"])
        path, ask, pay = f"/sessions/{session}/turns/{turn['id']}", *(one["tool_call_id"] for one in turn["pending"])
        if way == "results":
            # Longer than what is kept inline, so that the turn has a blob of a message beside that of the checkpoint.
            await world.results(session, turn["id"], [{"tool_call_id": ask, "content": "-" * 40_000}])
            decided = {"decisions": [{"tool_call_id": pay, "decision": "deny"}]}
            await world.call("POST", f"{path}/decisions", 200, json=decided, headers={"accept": "application/json"})
        elif way == "cancel":
            await world.call("POST", f"{path}/cancel", 200, json={})
        else:
            assert (await world.turn(session, "Never mind.", on_pending="abandon"))["status"] == "completed"
        expected = "completed" if way == "results" else "cancelled"
        assert (await world.until(session, turn["id"], expected, "failed"))["status"] == expected
        await whole(world, session)
