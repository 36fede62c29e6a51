"""Answers under idempotency keys after an erasure: nothing of the text is left in them, and no retry does anything a second time."""

import json
from typing import Any

import pytest

from tests.services.shared_states import patch
from tests.services.test_erased_forks import PLAIN, fork_of
from tests.services.test_redactions import CALL, INPUT, redact, seq_of
from tests.services.traces import confirmed, tables_with
from tests.services.world import World


def kept(key: str) -> dict[str, Any]:
    return {"idempotency-key": key}


async def kinds(world: World, session: str) -> list[str]:
    return [entry["kind"] for entry in await world.ledger(session)]


async def test_what_a_key_did_before_a_redaction_is_not_done_again(world: World) -> None:
    session = await world.session(script=[{"text": "well"}])
    for text in (INPUT, "and then?", "and now?"):
        await world.turn(session, text)
    at = f"/sessions/{session}"
    asked: dict[str, Any] = {"json": {"driver": {"kind": "excerpt"}, "keep_recent_tokens": 1}}
    shrunk = (await world.call("POST", f"{at}/compactions", 200, headers=kept("compact"), **asked)).json()
    cleared = await world.call("POST", f"{at}/clear", 200, headers=kept("clear"))
    await world.turn(session, "anew")
    await redact(world, session, await seq_of(world, session, "user_message"))
    before = await kinds(world, session)
    again = await world.call("POST", f"{at}/clear", 200, headers=kept("clear"))
    assert (again.headers.get("idempotent-replayed"), again.json()) == ("true", cleared.json())
    again = await world.call("POST", f"{at}/compactions", 200, headers=kept("compact"), **asked)
    assert (again.headers.get("idempotent-replayed"), again.json()) == ("true", shrunk)
    assert await kinds(world, session) == before


@pytest.mark.parametrize("erase", ["session", "entry"])
async def test_the_answer_to_an_import_goes_with_what_it_brought(world: World, migrate_url: str, erase: str) -> None:
    await world.agent([{"text": "well"}])
    file = json.dumps({"messages": [{"role": "user", "content": "yes"}, {"role": "assistant", "content": "no"}]}).encode()
    query = {"format": "openai-chat", "agent": "agent-1"}
    sent: dict[str, Any] = {"content": file, "headers": {**kept("import"), "content-type": "application/octet-stream"}, "params": query}
    made = (await world.call("POST", "/sessions/import", 201, **sent)).json()
    (session,) = [one["id"] for one in made["sessions"]]
    asked = [file + b"\0" + b"format=openai-chat&agent=agent-1"]
    assert await confirmed(migrate_url, asked) == {"idempotency"}
    if erase == "session":
        assert (await world.call("DELETE", f"/sessions/{session}", 200)).json()["erased"]["answers"] == 1
        assert await tables_with(migrate_url, session) == set()
        assert (await world.call("POST", "/sessions/import", 410, **sent)).json()["code"] == "session-erased"
    else:
        await redact(world, session, await seq_of(world, session, "user_message"))
        assert (await world.call("POST", "/sessions/import", 201, **sent)).json() == made
    assert await confirmed(migrate_url, asked) == set()
    assert len((await world.call("GET", "/sessions", 200)).json()["data"]) == (erase == "entry")


@pytest.mark.parametrize("odd", ["a\u0000b", "a\ud800b", 'a\\b "digest": "c"'])
async def test_a_call_whose_record_holds_what_postgres_does_not_unpack_is_erased_too(world: World, odd: str) -> None:
    session = await world.session(script=[{"text": "well"}])
    for text in (INPUT, "and then?", "and now?"):
        await world.turn(session, text)
    body = json.dumps({"instructions": odd, "keep_recent_tokens": 1, "driver": {"kind": "model"}}).encode()
    at = f"/sessions/{session}"
    await world.call("POST", f"{at}/compactions", 200, content=body, headers={"content-type": "application/json"})
    await redact(world, session, await seq_of(world, session, "user_message"))
    calls = (await world.call("GET", f"{at}/calls", 200)).json()["data"]
    assert {"main", "compaction"} == {call["purpose"] for call in calls}
    assert {call["digest"] for call in calls} == {None}
    assert await kinds(world, session)


async def test_a_reason_for_a_denial_goes_with_the_result_that_tells_it(world: World, migrate_url: str) -> None:
    tools = [{"name": "look", "approval": "always"}]
    session = await world.session(await world.agent([{"tool_calls": [CALL]}, {"text": "well"}], tools=tools))
    turn = await world.turn(session)
    decisions = {"decisions": [{"tool_call_id": "c1", "decision": "deny", "reason": INPUT}]}
    await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/decisions", 200, json=decisions, headers={"accept": "application/json"})
    await redact(world, session, await seq_of(world, session, "tool_result"))
    assert await tables_with(migrate_url, INPUT) == set()


async def test_bytes_that_a_fork_names_too_stay_for_it(world: World) -> None:
    parent = await world.session(script=[{"text": "well"}])
    stored = await world.call("POST", f"/sessions/{parent}/blobs", 201, content=b"a file", headers={"content-type": "text/plain"})
    file = {"type": "file", "blob": stored.json()["digest"]}
    await world.turn(parent, [{"type": "text", "text": "see"}, file])
    forks = [await fork_of(world, parent, **body) for body in ({}, {"at_seq": 1})]
    for fork in forks:
        await world.turn(fork, [{"type": "text", "text": "see again"}, file], overrides=PLAIN)
    await redact(world, parent, await seq_of(world, parent, "user_message"))
    for fork in forks:
        await world.call("GET", f"/sessions/{fork}/blobs/{stored.json()['digest']}", 200)
        assert not (await world.input(fork))["violations"]
        await redact(world, fork, await seq_of(world, fork, "user_message", -1))
    await redact(world, parent, await seq_of(world, parent, "assistant_message"))


@pytest.mark.parametrize("after", [False, True])
async def test_what_told_of_an_earlier_copy_of_a_value_goes_too(world: World, migrate_url: str, after: bool) -> None:
    context = [{"renderer": "system", "id": "brief", "template": "Of {{ state.name }}."}, {"renderer": "history"}]
    schema = {"session": {"type": "object", "properties": {"name": {"type": "string"}}}}
    session = await world.session(await world.agent([{"text": "well"}], context=context, state_schema=schema))
    await patch(world, session, {"session": {"name": "Bo"}})
    await world.turn(session)
    await patch(world, session, {"session": {"name": "Al"}})
    await patch(world, session, {"session": {"name": "Bo"}})
    seq = [entry["seq"] for entry in await world.ledger(session) if entry["kind"] == "state_changed"][-1 if after else 0]
    await patch(world, session, {"session": {"name": "Cy"}})
    guesses = [b"Of Bo."]
    (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert call["digest"] is not None
    await redact(world, session, seq)
    (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    assert call["digest"] is None
    assert await confirmed(migrate_url, guesses) == set()
    assert not [one for one in await world.ledger(session) if one["kind"] in ("state_changed", "sections_recorded") and "Bo" in str(one["body"])]
    told = [one for one in await world.ledger(session) if one["kind"] == "sections_recorded"]
    assert all(one["body"] is None for one in told), told


async def test_a_value_that_an_older_session_holds_is_redacted_there(world: World, migrate_url: str) -> None:
    parent = await world.session(await world.agent(state_schema={"session": {"type": "object"}}))
    await patch(world, parent, {"session": {"name": INPUT}})
    fork = await fork_of(world, parent)
    await patch(world, fork, {"session": {"name": "other"}})
    await patch(world, fork, {"session": {"name": INPUT}})
    own = await seq_of(world, fork, "state_changed", -1)
    first = await seq_of(world, fork, "state_changed")
    for session in (parent, fork):
        await patch(world, session, {"session": {"name": "none"}})
    refused = await redact(world, fork, own, 409)
    assert f"Entry {first}," in refused["detail"]
    await redact(world, parent, first)
    assert await tables_with(migrate_url, INPUT) == set()
