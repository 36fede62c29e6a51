"""What providers and budgets do to a turn: typed errors, the input kept, the session usable."""

import asyncio

import pytest

from tests.services.world import World, text

OK = {"text": "Ok."}


@pytest.mark.req("T-30", "S0-09", "S0-10", "X-78", "X-41")
async def test_a_retry_before_the_first_delta_sends_the_same_bytes_and_the_next_step_others(world: World) -> None:
    session = await world.session(script=[{"error": {"status": 503, "attempts": 2}, **OK}, OK])
    turn = await world.turn(session)
    assert turn["status"] == "completed"
    first = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}", 200)).json()
    assert [(one["n"], one["status"], one["http_status"]) for one in first["attempts"]] == [
        (1, "failed", 503),
        (2, "failed", 503),
        (3, "completed", 200),
    ]
    await world.turn(session, "again")
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert calls[0]["digest"] != calls[1]["digest"]
    assert calls[0]["prefix_digest"] == calls[1]["prefix_digest"]
    events = await world.events(session, turn["id"])
    failed = [frame.data for frame in events if frame.event == "attempt.failed"]
    assert [one["attempt"] for one in failed] == [1, 2]
    assert all(one["error"]["code"] == "upstream-error" and one["retry_in_ms"] is not None for one in failed)


@pytest.mark.req("X-78")
@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"error": {"status": 401, "code": "invalid_api_key"}}, "upstream-auth"),
        ({"error": {"status": 429, "code": "rate_limit_exceeded"}}, "upstream-rate-limited"),
        ({"error": {"status": 400, "code": "context_length_exceeded"}}, "upstream-overflow"),
        ({"error": {"status": 500}}, "upstream-error"),
        ({"text": "Half of it", "cut_after_chars": 4}, "stream-truncated"),
        ({"text": "Half of it", "error": {"status": 500, "after_chars": 4}}, "upstream-error"),
        ({"text": ""}, "empty-answer"),
        ({"text": " \n"}, "empty-answer"),
    ],
)
async def test_a_failed_call_fails_its_turn_with_a_code_and_leaves_the_session_usable(world: World, step: object, code: str) -> None:
    session = await world.session(script=[step, OK])
    turn = await world.turn(session)
    assert (turn["status"], turn["error"]["code"]) == ("failed", code)
    entries = await world.raw(session)
    assert entries[0]["kind"] == "user_message"
    partial = [text(entry) for entry in entries[1:] if entry["body"]["status"] == "failed"]
    assert partial == (["Half"] if "Half" in str(step) else [])
    assert (await world.turn(session, "again"))["status"] == "completed"
    body = (await world.input(session))["body"]
    assert not any("Half" in str(message) for message in body["messages"])


@pytest.mark.req("X-37", "S2-34", "S2-35", "T-06", "S3-35")
async def test_an_input_over_the_hard_limit_is_kept_and_nothing_is_sent(world: World) -> None:
    agent = await world.agent([OK], limits={"context_window": 400, "max_output_tokens": 100})
    session = await world.session(agent)
    await world.turn(session, "short")
    dispatched = (await world.call("GET", f"/sessions/{session}/source-map", 200)).json()
    turn = await world.turn(session, "word " * 400)
    assert (turn["status"], turn["error"]["code"], len(turn["calls"])) == ("failed", "context-over-budget", 1)
    call = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}", 200)).json()
    assert (call["status"], call["attempts"], call["budget"]["verdict"]) == ("refused", [], "over")
    assert [entry["kind"] for entry in await world.raw(session)][-1] == "user_message"
    assert len(await world.ledger(session, kinds="model_call_started")) == 1
    assert (await world.call("GET", f"/sessions/{session}/source-map", 404)).json()["code"] == "no-dispatched-call"
    assert dispatched["call_id"] != turn["calls"][0]
    shown = await world.input(session)
    assert shown["budget"]["verdict"] == "over"


@pytest.mark.req("S2-06", "S2-07", "S2-30", "S2-31", "S2-32", "S2-33", "S2-36", "S2-37", "T-04")
async def test_the_map_of_the_last_dispatch_lives_from_dispatch_to_the_next_prompt_or_switch(world: World) -> None:
    agent = await world.agent([{"error": {"status": 400}}, OK], context=[{"renderer": "system", "text": "INSTRUCTIONS"}, {"renderer": "history"}])
    session = await world.session(agent)
    await world.call("GET", f"/sessions/{session}/source-map", 404)
    failed = await world.turn(session, "WORDS")
    assert failed["status"] == "failed"
    answer = await world.call("GET", f"/sessions/{session}/source-map", 200)
    assert (answer.json()["call_id"], answer.json()["history_message_count"]) == (failed["calls"][0], 1)
    assert "INSTRUCTIONS" not in answer.text
    assert "WORDS" not in answer.text
    model = {"upstream": "nowhere", "name": "x"}
    await world.call("PATCH", f"/sessions/{session}", 422, json={"model": model})
    await world.call("GET", f"/sessions/{session}/source-map", 200)
    await world.call("PATCH", f"/sessions/{session}", 422, json={"model": {"upstream": "scripted", "name": "unknown-capacity"}})
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "scripted", "params": {"script": [OK]}}})
    await world.call("GET", f"/sessions/{session}/source-map", 404)
    await world.turn(session, "again")
    await world.call("GET", f"/sessions/{session}/source-map", 200)


@pytest.mark.req("S1-10", "S4-07", "S4-08")
async def test_an_agent_without_history_sends_no_dialogue_and_one_without_anything_sends_nothing(world: World) -> None:
    only_system = await world.agent([OK], context=[{"renderer": "system", "text": "Say ok."}])
    session = await world.session(only_system)
    assert (await world.turn(session, "unheard"))["status"] == "completed"
    assert [message["role"] for message in (await world.input(session))["body"]["messages"]] == ["system"]
    assert [text(entry) for entry in await world.raw(session)] == ["unheard", "Ok."]
    nothing = await world.session(await world.agent([OK], context=[]))
    turn = await world.turn(nothing)
    assert (turn["status"], turn["error"]["code"]) == ("failed", "empty-context")


@pytest.mark.req("X-42", "X-40")
async def test_usage_is_reported_or_an_estimate_that_says_so(world: World) -> None:
    reported = {**OK, "usage": {"input": 11, "output": 2, "cached": 5}}
    session = await world.session(script=[reported, OK])
    first = await world.turn(session)
    assert (first["usage"]["input"], first["usage"]["cached"], first["usage"]["source"]) == (11, 5, "reported")
    second = await world.turn(session)
    assert second["usage"]["source"] == "estimated"
    assert second["usage"]["reasoning"] is None
    budget = (await world.call("GET", f"/sessions/{session}/calls/{second['calls'][0]}", 200)).json()["budget"]
    assert (second["usage"]["input"], second["usage"]["output"]) == (budget["total"], 2)
    totals = (await world.call("GET", f"/sessions/{session}", 200)).json()["usage"]
    assert totals["input"] == 11 + second["usage"]["input"]


@pytest.mark.req("S3-39", "S3-40", "S0-01", "S4-12", "S0-05", "S2-08", "S2-09")
async def test_every_call_is_derived_again_from_the_ledger(world: World) -> None:
    session = await world.session(script=[OK, {"reasoning": "Hm.", "text": "More."}])
    for words in ("a", "b", "c"):
        await world.turn(session, words)
    before = len(await world.ledger(session))
    for call in (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]:
        seen = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
        assert (seen["verified"], seen["digest"]) == (True, call["digest"])
    maps = [(await world.call("GET", f"/sessions/{session}/source-map", 200)).json() for _ in range(2)]
    assert maps[0] == maps[1]
    assert len(await world.ledger(session)) == before
    assert len((await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]) == 3


@pytest.mark.req("S0-07", "X-64")
async def test_a_state_change_beside_a_running_turn_is_kept_and_the_call_stays_derivable(socket_world: World) -> None:
    world = socket_world
    agent = await world.agent([{"text": "slow " * 20, "chunk_chars": 5, "delay_ms": 40}], state_schema={"session": {"type": "object"}})
    session = await world.session(agent)
    turn = await world.turn(session, expect=202, background=True)
    await asyncio.sleep(0.3)
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"n": 1}})
    await world.call("PATCH", f"/sessions/{session}", 200, json={"title": "While it runs"})
    view = await world.until(session, turn["id"], "completed")
    seqs = [entry["seq"] for entry in await world.ledger(session)]
    assert seqs == list(range(1, len(seqs) + 1))
    seen = (await world.call("GET", f"/sessions/{session}/calls/{view['calls'][0]}/model-input", 200)).json()
    assert seen["verified"] is True
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True
