"""Where a turn stands: follows, edits, retries, siblings, and lines that are left and taken up again."""

import pytest

from tests.services.world import World, roles, text

FAILS = {"error": {"status": 400, "code": "invalid_request_error"}}


def users(body: object) -> list[str]:
    assert isinstance(body, dict)
    return [message["content"] for message in body["messages"] if message["role"] == "user"]


@pytest.mark.req("S1-11", "S2-03", "S2-24")
async def test_an_edit_follows_the_turn_before_and_leaves_the_old_line_readable(world: World) -> None:
    session = await world.session(script=[{"text": "One."}, {"text": "Two."}, {"text": "Two again."}])
    first = await world.turn(session, "a")
    second = await world.turn(session, "b")
    assert (first["follows"], second["follows"]) == ("start", first["id"])
    edited = await world.turn(session, "b, edited", follows=first["id"])
    assert edited["follows"] == first["id"]
    assert edited["siblings"] == [second["id"]]
    assert [text(entry) for entry in await world.raw(session)] == ["a", "One.", "b, edited", "Two again."]
    assert [text(entry) for entry in await world.raw(session, line="all")] == ["a", "One.", "b", "Two.", "b, edited", "Two again."]
    assert users((await world.input(session))["body"]) == ["a", "b, edited"]
    sources = (await world.input(session))["source_map"]["sources"]
    assert [one["message_index"] for one in sources] == [0, 1, 4, 5]
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": second["id"]})
    assert [text(entry) for entry in await world.raw(session)] == ["a", "One.", "b", "Two."]
    third = await world.turn(session, "c")
    assert third["follows"] == second["id"]
    assert users((await world.input(session))["body"]) == ["a", "b", "c"]
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True


async def test_a_turn_may_go_back_to_before_the_first_message(world: World) -> None:
    session = await world.session(script=[{"text": "One."}])
    first = await world.turn(session, "a")
    again = await world.turn(session, "b", follows="start")
    assert (again["follows"], again["siblings"]) == ("start", [first["id"]])
    assert [text(entry) for entry in await world.raw(session)] == ["b", "One."]
    await world.call("POST", f"/sessions/{session}/turns", 404, json={"input": "x", "follows": "trn_01h455vb4pex5vsknk084sn02q"})


@pytest.mark.req("T-10", "S2-23", "S2-17")
async def test_a_retry_answers_the_same_input_after_a_failure(world: World) -> None:
    session = await world.session(script=[{"text": "Fine."}, {"text": "Half an ans", "cut_after_chars": 8}, {"text": "Whole."}])
    await world.turn(session, "a")
    failed = await world.turn(session, "b")
    assert (failed["status"], failed["error"]["code"]) == ("failed", "stream-truncated")
    path = f"/sessions/{session}/turns/{failed['id']}/retry"
    retried = (await world.call("POST", path, 200, json={}, headers={"accept": "application/json"})).json()
    assert (retried["status"], retried["retry_of"], retried["input_seq"]) == ("completed", failed["id"], failed["input_seq"])
    assert [(text(one), one["body"].get("status")) for one in await world.raw(session)] == [
        ("a", None), ("Fine.", "completed"), ("b", None), ("Half an ", "failed"), ("Whole.", "completed"),
    ]  # fmt: skip
    shown = await world.input(session)
    assert roles(shown["body"]) == ["user", "assistant", "user", "assistant"]
    assert shown["source_map"]["history_message_count"] == 5
    reasons = {one["reason"] for one in shown["manifest"]["decisions"] if one["disposition"] == "excluded" and one["source"]["kind"] == "entry"}
    assert reasons == {"failed_response"}
    again = await world.call("POST", f"/sessions/{session}/turns/{retried['id']}/retry", 409, json={})
    assert again.json()["code"] == "not-retryable"


async def test_a_regenerated_answer_is_a_sibling_on_a_new_line(world: World) -> None:
    session = await world.session(script=[{"text": "One."}, {"text": "Two."}, {"text": "One, otherwise."}])
    first = await world.turn(session, "a")
    await world.turn(session, "b")
    path = f"/sessions/{session}/turns/{first['id']}/regenerate"
    again = (await world.call("POST", path, 200, json={}, headers={"accept": "application/json"})).json()
    assert (again["status"], again["retry_of"], again["follows"]) == ("completed", first["id"], "start")
    assert again["siblings"] == [first["id"]]
    assert [text(entry) for entry in await world.raw(session)] == ["a", "One, otherwise."]
    entries = [(one["kind"], one["turn"]) for one in await world.raw(session)]
    assert entries == [("user_message", 1), ("assistant_message", 3)]


async def test_the_input_of_a_retry_keeps_its_flags(world: World) -> None:
    session = await world.session(script=[FAILS, {"text": "Now."}, {"text": "Later."}])
    failed = await world.turn(session, "only now", include_in_context=False)
    assert failed["error"]["code"] == "upstream-error"
    path = f"/sessions/{session}/turns/{failed['id']}/retry"
    await world.call("POST", path, 200, json={}, headers={"accept": "application/json"})
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    seen = (await world.call("GET", f"/sessions/{session}/calls/{calls[1]['id']}/model-input", 200)).json()
    assert (users(seen["body"]), seen["verified"]) == (["only now"], True)
    await world.turn(session, "later")
    assert users((await world.input(session))["body"]) == ["later"]


async def test_what_was_not_stored_is_not_repeated(world: World) -> None:
    session = await world.session(script=[{"text": "One."}])
    turn = await world.turn(session, "secret", persist=False)
    assert turn["input_seq"] is None
    for verb in ("retry", "regenerate"):
        refused = await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/{verb}", 409, json={})
        assert refused.json()["code"] in ("input-not-stored", "not-retryable")
    regenerated = await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/regenerate", 409, json={})
    assert regenerated.json()["code"] == "input-not-stored"


@pytest.mark.req("S1-11")
async def test_a_turn_under_way_is_no_more_repeated_than_any_other_write(world: World) -> None:
    session = await world.session(script=[{"text": "slow", "chunk_chars": 1, "delay_ms": 5000}, {"text": "Two."}])
    running = (await world.call("POST", f"/sessions/{session}/turns", 202, json={"input": "go", "background": True})).json()["id"]
    path = f"/sessions/{session}/turns/{running}"
    for verb in ("retry", "regenerate"):
        refused = (await world.call("POST", f"{path}/{verb}", 409, json={})).json()
        assert (refused["code"], refused["turn_id"]) == ("session-busy", running)
    again = (await world.call("POST", f"{path}/retry", 200, json={"on_busy": "interrupt"})).json()
    assert (again["status"], again["retry_of"]) == ("completed", running)


@pytest.mark.req("S1-11")
async def test_a_turn_that_waits_is_no_more_repeated_than_any_other_write(world: World) -> None:
    calls = {"tool_calls": [{"id": "c", "name": "look", "arguments": "{}"}]}
    session = await world.session(await world.agent([calls, {"text": "Two."}], tools=[{"name": "look"}]))
    waiting = (await world.turn(session))["id"]
    path = f"/sessions/{session}/turns/{waiting}"
    for verb in ("retry", "regenerate"):
        refused = (await world.call("POST", f"{path}/{verb}", 409, json={})).json()
        assert (refused["code"], refused["turn_id"]) == ("pending-action", waiting)
    again = (await world.call("POST", f"{path}/retry", 200, json={"on_pending": "abandon"})).json()
    assert (again["status"], again["retry_of"]) == ("completed", waiting)


async def test_a_session_follows_its_agent_and_keeps_a_switched_model(world: World) -> None:
    agent = await world.agent([{"text": "Old."}], context=[{"renderer": "system", "text": "First."}, {"renderer": "history"}])
    session = await world.session(agent)
    await world.turn(session, "a")
    await world.agent([{"text": "Old."}], name=agent, context=[{"renderer": "system", "text": "Second."}, {"renderer": "history"}])
    await world.turn(session, "b")
    shown = await world.input(session)
    assert (shown["agent"]["revision"], shown["body"]["messages"][0]["content"]) == (2, "Second.")
    adopted = await world.ledger(session, kinds="agent_adopted")
    assert [(one["body"]["revision"], one["body"]["follows"]) for one in adopted] == [(2, True)]
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    first = (await world.call("GET", f"/sessions/{session}/calls/{calls[0]['id']}/model-input", 200)).json()
    assert (first["verified"], first["body"]["messages"][0]["content"]) == (True, "First.")


async def test_a_turn_that_names_the_last_one_leaves_out_what_was_appended_since(world: World) -> None:
    session = await world.session(script=[{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    first = await world.turn(session, "first")
    said = {"kind": "user_message", "parts": [{"type": "text", "text": "aside"}]}
    await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": [said]})
    await world.turn(session, "kept")
    assert [text(entry) for entry in await world.raw(session)] == ["first", "One.", "aside", "kept", "Two."]
    other = await world.session(script=[{"text": "One."}, {"text": "Two."}])
    first = await world.turn(other, "first")
    await world.call("POST", f"/sessions/{other}/entries", 201, json={"entries": [said]})
    turn = await world.turn(other, "edited", follows=first["id"])
    assert turn["follows"] == first["id"]
    assert [text(entry) for entry in await world.raw(other)] == ["first", "One.", "edited", "Two."]
    turn = await world.turn(other, "plain", follows=turn["id"])
    assert len(await world.ledger(other, kinds="rewound")) == 1
