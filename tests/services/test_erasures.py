"""A session or a user erased: nothing of it is left in any table or log, and everything of it answers as gone."""

import asyncio
import base64
import logging
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson
import pytest

from app.api.app import OPERATIONS
from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.entries.ids import SESSION, parse_id
from app.services.erasures import Deletions
from app.services.minting import new_uuid
from app.services.scope import LOCAL_TENANT
from app.storage.store import open_store
from tests.api.conftest import message, running, talking, with_keys
from tests.services.shared_states import SCHEMA, patch
from tests.services.traces import confirmed, tables_with
from tests.services.world import World

_WHERE = ("input", "answer", "argument", "result", "state", "title", "metadata", "file", "attribute", "external", "user", "shared")
TRACES = [f"zq{word}xk" for word in _WHERE]
INPUT, ANSWER, ARGUMENT, RESULT, STATE, TITLE, METADATA, FILE, ATTRIBUTE, EXTERNAL, USER, SHARED = TRACES
CALL = {"id": "c1", "name": "look", "arguments": f'{{"q":"{ARGUMENT}"}}'}
BODIES: Mapping[str, Any] = {
    "patch_session": {"title": "x"},
    "patch_state": {"session": {}},
    "put_line": {"turn": "trn_01k00000000000000000000000"},
    "post_entries": {"entries": [message("x")]},
    "post_turn": {"input": "x"},
    "post_decisions": {"decisions": [{"tool_call_id": "c2", "decision": "deny"}]},
    "post_tool_results": {"results": [{"tool_call_id": "c1", "content": "x"}]},
    "post_model_input": {"input": "x"},
    "redact_entry": {"reason": "asked for"},
}


async def full(world: World, **more: Any) -> str:
    """A session with a trace in everything that a session can hold, its turn settled."""
    script = [{"text": ANSWER, "tool_calls": [CALL]}, {"text": f"{ANSWER} again"}]  # not of the agent, whose document stays
    agent = await world.agent(tools=[{"name": "look"}], state_schema=SCHEMA)
    given = {"title": TITLE, "metadata": {"about": METADATA}, "user": USER, "external_id": EXTERNAL, **more}
    given["state"] = {"session": {"topic": STATE}, "user": {"name": SHARED}}
    key = {"idempotency-key": "opening"} if not more else {}
    session = str((await world.call("POST", "/sessions", 201, json={"agent": agent, **given}, headers=key)).json()["id"])
    file = {"type": "file", "data": base64.b64encode(FILE.encode()).decode(), "media_type": "text/plain"}
    note = {"kind": "user_message", "parts": [file, {"type": "text", "text": "x" * 40_000 + INPUT}], "attributes": {"a": ATTRIBUTE}}
    await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": [note]}, headers={"idempotency-key": "note"})
    overrides = {"model": {"params": {"script": script}}}
    turn = await world.turn(session, INPUT, headers={"idempotency-key": "turn"}, overrides=overrides)
    assert turn["status"] == "requires_action"
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": RESULT}])
    asked = await world.call("POST", f"/sessions/{session}/model-input", 200, json={"input": INPUT}, headers={"idempotency-key": "asked"})
    assert INPUT in asked.text
    return session


async def gone(world: World, session: str) -> None:
    """Every route of the session answers that it was erased."""
    ids = {"session_id": session, "turn_id": "trn_01k00000000000000000000000", "call_id": "mcl_01k00000000000000000000000"}
    ids |= {"digest": "sha256:" + "0" * 64, "seq": "1", "checkpoint_id": "chk_01k00000000000000000000000"}
    for operation in (one for one in OPERATIONS if "{session_id}" in one.path):
        path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], operation.path)
        more: dict[str, Any] = {"params": {"seq": "1"}} if operation.name == "explain_entry" else {}
        if operation.method in ("POST", "PUT", "PATCH"):
            more = {"content": b"x", "headers": {"content-type": "text/plain"}} if operation.takes_bytes else {"json": BODIES.get(operation.name, {})}
        answer = await world.client.request(operation.method, path, **more)
        assert (answer.status_code, answer.json().get("code")) == (410, "session-erased"), (operation.name, answer.text)


@pytest.mark.req("X-11")
async def test_nothing_of_an_erased_session_is_left(world: World, migrate_url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    session = await full(world)
    for trace in TRACES:
        assert await tables_with(migrate_url, trace), trace
    receipt = (await world.call("DELETE", f"/sessions/{session}", 200)).json()
    assert receipt["session_ids"] == [session]
    erased = receipt["erased"]
    assert erased["entries"] >= 10
    assert erased["deltas"] > 0
    assert [erased[name] for name in ("blobs", "turns", "calls", "answers", "states")] == [2, 1, 2, 4, 0]
    assert {one["where"] for one in receipt["remains"]} >= {"dead_rows", "wal", "replicas", "backups"}
    for trace in TRACES:
        assert await tables_with(migrate_url, trace) == ({"user_states"} if trace in (USER, SHARED) else set()), trace
        assert trace not in caplog.text
    await gone(world, session)
    assert (await world.call("GET", "/sessions", 200)).json()["data"] == []
    assert await world.session(external_id=EXTERNAL, user=USER) != session


async def test_the_chain_of_an_erased_session_still_verifies(world: World, database_url: str) -> None:
    session = await full(world)
    before = (await world.call("GET", f"/sessions/{session}/verify", 200)).json()
    await world.call("DELETE", f"/sessions/{session}", 200)
    store = await open_store(database_url, pool_size=1)
    try:
        verified = await store.ledger.verify(LOCAL_TENANT, parse_id(SESSION, session) or LOCAL_TENANT)
    finally:
        await store.close()
    assert verified is not None
    assert verified.problems == ()
    assert "sha256:" + verified.head_digest.hex() == before["head_digest"]


async def test_a_replay_of_what_an_erased_session_answered_says_that_it_is_gone(world: World) -> None:
    session = await full(world)
    await world.call("DELETE", f"/sessions/{session}", 200)
    again: dict[str, Any] = {"json": {"agent": "agent-1", "user": "somebody else"}, "headers": {"idempotency-key": "opening"}}
    assert (await world.call("POST", "/sessions", 410, **again)).json()["code"] == "session-erased"
    asked: dict[str, Any] = {"json": {"input": INPUT}, "headers": {"idempotency-key": "asked"}}
    await world.call("POST", f"/sessions/{session}/model-input", 410, **asked)


async def test_a_running_turn_keeps_a_session_and_a_waiting_one_does_not(socket_world: World) -> None:
    world = socket_world
    session = await world.session(script=[{"text": "slowly", "delay_ms": 30_000}], user=USER)
    await world.stream(session, until="turn.started")
    for path in (f"/sessions/{session}", f"/users/{USER}"):
        refused = (await world.call("DELETE", path, 409)).json()
        assert (refused["code"], "turn_id" in refused) == ("session-busy", True)
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["user"] == USER, "nothing was erased"
    waiting = await world.session(await world.agent([{"tool_calls": [CALL]}], tools=[{"name": "look"}]))
    assert (await world.turn(waiting))["status"] == "requires_action"
    await world.call("DELETE", f"/sessions/{waiting}", 200)
    await gone(world, waiting)


async def test_a_user_is_erased_with_all_sessions_and_what_they_share(world: World, migrate_url: str) -> None:
    first = await full(world)
    other = await full(world, external_id=EXTERNAL + "2")
    stranger = await world.session(user="another")
    await patch(world, other, {"user": {"visits": 3}})
    receipt = (await world.call("DELETE", f"/users/{USER}", 200)).json()
    assert set(receipt["session_ids"]) == {first, other}
    assert receipt["erased"]["states"] == 1
    for trace in TRACES:
        assert await tables_with(migrate_url, trace) == set(), trace
    for session in (first, other):
        await gone(world, session)
    await world.call("GET", f"/sessions/{stranger}", 200)
    assert (await world.call("DELETE", f"/users/{USER}", 200)).json()["session_ids"] == []


async def test_a_start_of_a_turn_and_an_erasure_at_once_leave_nothing_or_everything(world: World, migrate_url: str) -> None:
    for _ in range(8):
        session = await world.session()
        start = world.client.post(f"/sessions/{session}/turns", json={"input": INPUT}, headers={"accept": "application/json"})
        started, erased = await asyncio.gather(start, world.client.delete(f"/sessions/{session}"))
        assert erased.status_code in (200, 409)
        if erased.status_code == 200:
            assert started.status_code in (200, 410)
        else:
            assert started.status_code == 200
            await world.call("DELETE", f"/sessions/{session}", 200)
        await gone(world, session)
        assert await tables_with(migrate_url, INPUT) == set()


@pytest.mark.parametrize(("path", "headers"), [(f"/users/{USER}", {}), ("/sessions/{}", {}), ("/sessions/{}", {"if-match": '"1"'})])
async def test_an_erasure_that_was_cut_off_is_ended_by_the_next(
    world: World, database_url: str, migrate_url: str, path: str, headers: dict[str, str]
) -> None:
    session = await full(world)
    store = await open_store(database_url, pool_size=1)
    try:
        begun = await store.erasures.begin(LOCAL_TENANT, parse_id(SESSION, session), None, 1)
        await store.erasures.empty(LOCAL_TENANT, begun.sessions[0], 0, 2, "checkpoint")
    finally:
        await store.close()
    assert "entries" in await tables_with(migrate_url, INPUT)
    await world.call("GET", f"/sessions/{session}", 410)
    assert (await world.call("DELETE", path.format(session), 200, headers=headers)).json()["session_ids"] == [session]
    for trace in [trace for trace in TRACES if trace not in (USER, SHARED) or USER in path]:
        assert await tables_with(migrate_url, trace) == set(), trace
    await world.call("DELETE", f"/sessions/{session}", 410)


async def test_a_short_text_of_an_erased_session_can_not_be_confirmed(world: World, migrate_url: str) -> None:
    session = await world.session(script=[{"text": "no"}])
    await world.turn(session, "yes", headers={"idempotency-key": "k"})
    entries = await world.ledger(session)
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    derived = [(await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json() for call in calls]
    guesses = [b"yes", b"no", b'{"input":"yes"}', *[orjson.dumps(one["body"]) for one in derived]]
    guesses += [orjson.dumps(entry["body"]) for entry in entries]
    assert await confirmed(migrate_url, guesses)
    await world.call("DELETE", f"/sessions/{session}", 200)
    assert await confirmed(migrate_url, guesses) == set()


async def test_only_admins_erase(settings: Settings) -> None:
    async with running(with_keys(settings)) as app:
        _, secret = await app.state.services.keys.create(new_uuid(), "test", ["sessions:read", "sessions:write"])
        async with talking(app, headers={"authorization": f"Bearer {secret.reveal()}"}) as client:
            for method, path in (("DELETE", "/sessions/ses_x"), ("DELETE", "/users/u"), ("POST", "/sessions/ses_x/entries/1/redact")):
                answer = await client.request(method, path, json={"reason": "x"} if method == "POST" else None)
                assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing")


async def test_an_erasure_that_was_cut_off_is_swept_up(world: World, database_url: str, migrate_url: str) -> None:
    cut, other = await full(world), await world.session(script=[{"text": "well"}])
    store = await open_store(database_url, pool_size=1)
    try:
        await store.erasures.begin(LOCAL_TENANT, parse_id(SESSION, cut), None, 1)
        await Deletions(store).sweep()
        assert "entries" in await tables_with(migrate_url, INPUT), "it may be under way still"
        await Deletions(store).sweep(0.0)
        assert await store.erasures.begun(0.0, 10) == []
    finally:
        await store.close()
    for trace in TRACES:
        assert await tables_with(migrate_url, trace) == ({"user_states"} if trace in (USER, SHARED) else set()), trace
    await gone(world, cut)
    await world.call("GET", f"/sessions/{other}", 200)


async def test_an_erasure_that_fails_does_not_keep_later_ones_waiting(
    world: World, database_url: str, migrate_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, cut = await world.session(), await full(world)
    store = await open_store(database_url, pool_size=1)
    try:
        for session in (stuck, cut):
            await store.erasures.begin(LOCAL_TENANT, parse_id(SESSION, session), None, 1)
        empty = store.erasures.empty

        async def failing(tenant: UUID, session: UUID, *more: Any) -> Any:
            if session == parse_id(SESSION, stuck):
                raise Unavailable("It takes too long.")
            return await empty(tenant, session, *more)

        monkeypatch.setattr(store.erasures, "empty", failing)
        with pytest.raises(Unavailable):
            await Deletions(store).sweep(0.0)
        assert await store.erasures.begun(0.0, 10) == [(LOCAL_TENANT, parse_id(SESSION, stuck))]
    finally:
        await store.close()
    assert await tables_with(migrate_url, INPUT) == set()


async def test_who_follows_a_session_live_hears_its_end_when_it_is_erased(socket_world: World, caplog: pytest.LogCaptureFixture) -> None:
    world = socket_world
    session = await world.session(script=[{"text": "well"}])
    await world.turn(session)
    async with world.client.stream("GET", f"/sessions/{session}/raw", headers={"accept": "text/event-stream"}) as answer:
        lines = answer.aiter_lines()
        while not (await anext(lines)).startswith("id: "):
            pass
        await world.call("DELETE", f"/sessions/{session}", 200)
        async for _ in lines:
            pass
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
