"""What is stored and what is sent are two choices on each message, and hidden is a third."""

from hashlib import sha256

import pytest

from tests.services.world import World, text


def sent(body: object) -> list[str]:
    assert isinstance(body, dict)
    return [message["content"] for message in body["messages"] if message["role"] == "user"]


@pytest.mark.req("S1-16", "S1-17", "S1-18", "S1-19")
@pytest.mark.parametrize("persist", [True, False])
@pytest.mark.parametrize("include", [True, False])
async def test_four_ways_to_keep_and_to_send(world: World, persist: bool, include: bool) -> None:
    session = await world.session(script=[{"text": "Ok."}])
    await world.turn(session, "flagged", persist=persist, include_in_context=include)
    call = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"][0]
    assert call["message_count"] == 1
    shown = [text(entry) for entry in await world.raw(session)]
    assert ("flagged" in shown) is persist
    await world.turn(session, "next")
    assert ("flagged" in sent((await world.input(session))["body"])) is (persist and include)


@pytest.mark.req("T-11", "S3-40")
async def test_an_input_that_is_not_stored_leaves_no_trace_and_cannot_be_verified(world: World) -> None:
    session = await world.session(script=[{"text": "Ok."}])
    await world.turn(session, "kept")
    turn = await world.turn(session, "never kept", persist=False)
    ledger = (await world.call("GET", f"/sessions/{session}/raw", 200, params={"view": "ledger", "limit": 1000})).text
    assert "never kept" not in ledger
    call = turn["calls"][0]
    seen = (await world.call("GET", f"/sessions/{session}/calls/{call}/model-input", 200)).json()
    assert (seen["verified"], seen["reason"]) == ("unverifiable", "ephemeral")
    whole = (await world.call("GET", f"/sessions/{session}/calls/{call}", 200)).json()
    assert [one["type"] for one in whole["source_map"]["sources"]] == ["history", "history", "ephemeral"]
    (row,) = [row for row in whole["manifest"]["decisions"] if row["source"]["kind"] == "ephemeral"]
    assert row["digest"] == "sha256:" + sha256(b'[{"type":"text","text":"never kept"}]').hexdigest()
    background = await world.turn(session, "x", 422, persist=False, background=True)
    assert background["errors"][0]["pointer"] == "/persist"


@pytest.mark.req("S0-14", "S0-13")
async def test_a_hidden_message_is_sent_and_not_shown(world: World) -> None:
    session = await world.session(script=[{"text": "Ok."}])
    note = {"kind": "agent_message", "parts": [{"type": "text", "text": "Be brief."}], "hidden": True}
    await world.turn(session, "hello", extra_messages=[note])
    assert [text(entry) for entry in await world.raw(session)] == ["hello", "Ok."]
    hidden = await world.ledger(session, kinds="agent_message")
    assert [(text(one), one["hidden"]) for one in hidden] == [("Be brief.", True)]
    assert sent((await world.input(session))["body"]) == ["Be brief.", "hello"]


@pytest.mark.req("S1-20", "S1-21", "X-09")
async def test_attributes_never_reach_a_body(world: World) -> None:
    session = await world.session(script=[{"text": "Ok."}])
    await world.turn(session, "hello", attributes={"route": "PRIVATE-ROUTE", "n": 1.0})
    entry = (await world.raw(session))[0]
    assert entry["attributes"] == {"route": "PRIVATE-ROUTE", "n": 1.0}
    assert "PRIVATE-ROUTE" not in str(await world.input(session))


@pytest.mark.req("S1-07", "T-21")
async def test_an_agent_message_is_stored_as_such_and_presented_as_user_input(world: World) -> None:
    session = await world.session(script=[{"text": "Ok."}])
    entries = {"entries": [{"kind": "agent_message", "parts": [{"type": "text", "text": "Continue."}]}]}
    await world.call("POST", f"/sessions/{session}/entries", 201, json=entries)
    assert [entry["kind"] for entry in await world.raw(session)] == ["agent_message"]
    assert [message["role"] for message in (await world.input(session))["body"]["messages"]] == ["user"]
