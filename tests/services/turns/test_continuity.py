"""The service is the only memory: providers hold nothing, clients send nothing back, and each call is compiled anew."""

import pytest

from tests.services.turns.test_tools import CALL, DONE, TOOLS
from tests.services.world import World, roles, text

OK = {"text": "Ok."}


@pytest.mark.req("S3-03", "S2-01", "S1-24")
async def test_clients_send_one_message_and_the_body_holds_all_of_them(world: World) -> None:
    session = await world.session(script=[{"text": "One."}, {"text": "Two."}])
    await world.turn(session, "a")
    await world.turn(session, "b")
    before = [text(entry) for entry in await world.raw(session)]
    body = (await world.input(session))["body"]
    assert [message["content"] for message in body["messages"]] == before == ["a", "One.", "b", "Two."]
    assert not {"previous_response_id", "conversation", "store", "session"} & set(body)


@pytest.mark.req("S2-27", "S4-11", "T-01")
async def test_each_step_of_a_turn_compiles_its_own_input(world: World) -> None:
    session = await world.session(await world.agent([CALL, DONE], tools=TOOLS))
    turn = await world.turn(session)
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    calls = [(await world.call("GET", f"/sessions/{session}/calls/{call}", 200)).json() for call in turn["calls"]]
    assert [(call["step_index"], call["turn_id"], len(call["attempts"])) for call in calls] == [(0, turn["id"], 1), (1, turn["id"], 1)]
    assert calls[0]["digest"] != calls[1]["digest"]
    assert [len(call["source_map"]["sources"]) for call in calls] == [1, 3]
    assert [call["continuation"]["reason"] for call in calls] == ["input_received", "tool_completed"]


@pytest.mark.req("T-13", "S3-07", "S2-33")
async def test_a_switch_freezes_its_capacity_first_and_an_unknown_one_changes_nothing(world: World) -> None:
    session = await world.session(script=[OK])
    before = (await world.call("GET", f"/sessions/{session}", 200)).json()
    refused = await world.call("PATCH", f"/sessions/{session}", 422, json={"title": "x", "model": {"upstream": "scripted", "name": "unheard-of"}})
    assert refused.json()["code"] == "unknown-capacity"
    assert (await world.call("GET", f"/sessions/{session}", 200)).json() == before
    switched = {"upstream": "scripted", "name": "gpt-4.1", "params": {"script": [{"text": "Switched."}]}}
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": switched})
    body = (await world.ledger(session, kinds="model_switched"))[0]["body"]
    assert body["limits"]["context_window"] > 128000
    turn = await world.turn(session)
    call = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}", 200)).json()
    assert (call["model"], call["budget"]["context_window"]) == ("gpt-4.1", body["limits"]["context_window"])
    assert text((await world.raw(session))[1]) == "Switched."


@pytest.mark.req("S2-43", "S0-02")
async def test_the_service_declares_no_tool_of_its_own(world: World) -> None:
    session = await world.session(await world.agent([OK], tools=TOOLS, context=[{"renderer": "system", "text": "S."}, {"renderer": "history"}]))
    await world.turn(session)
    body = (await world.input(session))["body"]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["lookup"]
    assert roles(body) == ["system", "user", "assistant"]
    assert set(body) == {"model", "messages", "tools", "stream", "stream_options"}


@pytest.mark.req("S2-44", "S2-07", "S2-19")
async def test_a_source_map_names_places_and_originals_are_read_from_raw(world: World) -> None:
    session = await world.session(script=[{"text": "SECRET-ANSWER"}])
    await world.turn(session, "SECRET-QUESTION")
    answer = await world.call("GET", f"/sessions/{session}/source-map", 200)
    assert "SECRET" not in answer.text
    seqs = [source["seq"] for source in answer.json()["sources"]]
    entries = {entry["seq"]: entry for entry in await world.raw(session)}
    assert [text(entries[seq]) for seq in seqs] == ["SECRET-QUESTION"]


@pytest.mark.req("T-26", "T-01")
async def test_one_word_for_one_thing(world: World) -> None:
    """The document that clients code against says session, turn, call, attempt and entry, and none of the words they replace."""
    paths = (await world.call("GET", "/openapi.json", 200)).json()["paths"]
    segments = {segment for path in paths for segment in path.split("/") if segment and not segment.startswith("{")}
    assert {"sessions", "turns", "calls", "entries", "model-input", "source-map", "raw"} <= segments
    assert not segments & {"threads", "runs", "rounds", "messages", "events_log", "conversations", "generations"}
