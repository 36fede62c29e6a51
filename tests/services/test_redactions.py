"""One entry redacted: its content and what was made of it is gone, the rest goes on, and later calls stay valid."""

import base64
import json
import logging
from typing import Any

import orjson
import pytest

from app.entries.compactions import Checkpoint
from app.entries.ids import SESSION, blob_digest, parse_id
from app.entries.line import Covered, Line, covered
from app.entries.messages import NewEntry
from app.entries.summaries import SUMMARY_MEDIA_TYPE, Fact, Summary
from app.services.scope import LOCAL_TENANT
from app.storage.store import Store, open_store
from app.storage.types import Append, NewBlob
from tests.services.shared_states import SCHEMA, patch
from tests.services.traces import confirmed, tables_with
from tests.services.world import World

INPUT, ANSWER, ARGUMENT, RESULT, FILE, SUMMED = (f"zq{word}xk" for word in ("input", "answer", "argument", "result", "file", "summed"))
CALL = {"id": "c1", "name": "look", "arguments": f'{{"q":"{ARGUMENT}"}}'}
KEPT = {"agent_revisions"}
"""The scripted model's answers stand in its agent's document."""


async def redact(world: World, session: str, seq: int, expect: int = 200, **more: Any) -> Any:
    return (await world.call("POST", f"/sessions/{session}/entries/{seq}/redact", expect, json={"reason": "asked for"}, **more)).json()


async def spoken(world: World, **more: Any) -> str:
    """A session with a file, a turn with a tool call, and a turn behind it."""
    script = [{"text": ANSWER, "tool_calls": [CALL]}, {"text": "first"}, {"text": "second"}, {"text": "third"}]
    session = await world.session(await world.agent(script, tools=[{"name": "look"}]), **more)
    file = {"type": "file", "data": base64.b64encode(FILE.encode()).decode(), "media_type": "text/plain"}
    turn = await world.turn(session, [{"type": "text", "text": INPUT}, file], headers={"idempotency-key": "turn"})
    assert turn["status"] == "requires_action", turn
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": RESULT}])
    await world.turn(session, "and then?")
    return session


async def seq_of(world: World, session: str, kind: str, nth: int = 0) -> int:
    return int([entry["seq"] for entry in await world.ledger(session) if entry["kind"] == kind][nth])


@pytest.mark.req("X-11")
@pytest.mark.parametrize(("kind", "traces"), [("user_message", [INPUT, FILE]), ("assistant_message", [ANSWER, ARGUMENT]), ("tool_result", [RESULT])])
async def test_nothing_of_a_redacted_message_is_left(
    world: World, migrate_url: str, caplog: pytest.LogCaptureFixture, kind: str, traces: list[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    session = await spoken(world)
    seq = await seq_of(world, session, kind)
    for trace in traces:
        assert await tables_with(migrate_url, trace) - KEPT, trace
    receipt = await redact(world, session, seq)
    assert (receipt["object"], receipt["session_ids"], receipt["erased"]["entries"] >= 1) == ("erasure_receipt", [session], True)
    for trace in traces:
        assert await tables_with(migrate_url, trace) <= KEPT, trace
        assert trace not in caplog.text
    entries = {entry["seq"]: entry for entry in await world.ledger(session)}
    assert (entries[seq]["body"], entries[seq]["kind"]) == (None, kind)
    (told,) = [entry["body"] for entry in entries.values() if entry["kind"] == "redaction"]
    assert (told["seq"], told["reason"], told["redacted_kind"]) == (seq, "asked for", kind)
    assert told["tool_calls"] == ([["c1", "look"]] if kind == "assistant_message" else [])
    assert told["tool_call_id"] == ("c1" if kind == "tool_result" else None)
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
    await readable(world, session, seq)
    seen = await world.input(session)
    assert not seen["violations"]
    row = next(one for one in seen["manifest"]["decisions"] if one["source"].get("seq") == seq)
    assert (row["disposition"], row["reason"]) == ("excluded", "redacted")
    assert (await world.turn(session, "go on"))["status"] == "completed"
    again = await redact(world, session, seq)
    assert again["erased"] == {}


async def readable(world: World, session: str, seq: int) -> None:
    """Every reader answers: raw in each form, heads, calls, explanations, exports."""
    at = f"/sessions/{session}"
    for path in ("", "/raw", "/raw?view=ledger&line=all", "/model-input", "/turns", "/calls", "/state", "/plan", "/skill-snapshots", "/verify"):
        await world.call("GET", at + path, 200)
    await world.call("GET", f"{at}/raw", 200, headers={"accept": "application/x-ndjson"})
    head = (await world.call("GET", at, 200)).json()["head_seq"]
    for earlier in range(2, head + 1):
        await world.call("GET", f"{at}/model-input?at_seq={earlier}", 200)
    calls = (await world.call("GET", f"{at}/calls", 200)).json()["data"]
    for call in calls:
        derived = (await world.call("GET", f"{at}/calls/{call['id']}/model-input", 200)).json()
        expected = ("unverifiable", "erased", True) if call["head_seq"] >= seq else (True, None, False)
        assert (derived["verified"], derived.get("reason"), call["digest"] is None) == expected
        await world.call("GET", f"{at}/explain", 200, params={"seq": seq, "call": call["id"]})
    await world.call("GET", f"{at}/explain", 200, params={"seq": seq})
    if calls:
        await world.call("GET", f"{at}/model-input/diff", 200, params={"from": calls[0]["id"], "to": calls[-1]["id"]})
    for turn in (await world.call("GET", f"{at}/turns", 200)).json()["data"]:
        await world.call("GET", f"{at}/turns/{turn['id']}", 200)


async def test_a_replay_of_the_input_that_was_redacted_starts_no_second_turn(world: World) -> None:
    session = await spoken(world)
    await redact(world, session, await seq_of(world, session, "user_message"))
    turns = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]
    again = await world.client.post(
        f"/sessions/{session}/turns", json={"input": "whatever it was"}, headers={"accept": "application/json", "idempotency-key": "turn"}
    )
    assert (again.status_code, again.json()["id"], again.headers["idempotent-replayed"]) == (200, turns[0]["id"], "true")
    assert len((await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]) == len(turns)


@pytest.mark.parametrize("kind", ["session_opened", "model_call_started", "turn_settled"])
async def test_what_is_no_message_and_no_state_is_not_redacted(world: World, kind: str) -> None:
    session = await spoken(world)
    refused = await redact(world, session, await seq_of(world, session, kind), 422)
    assert refused["errors"][0]["code"] == "not-redactable"
    for seq in (0, 10_000):
        await redact(world, session, seq, 404)
    for spelled in ("x", "-1", "9" * 30):
        await world.call("POST", f"/sessions/{session}/entries/{spelled}/redact", 404, json={"reason": "r"})


async def test_an_entry_of_a_turn_that_waits_is_not_redacted_and_an_older_one_is(world: World) -> None:
    agent = await world.agent([{"text": "one"}, {"tool_calls": [CALL]}, {"text": "done"}], tools=[{"name": "look"}])
    session = await world.session(agent)
    await world.turn(session, INPUT)
    turn = await world.turn(session, "wait")
    assert turn["status"] == "requires_action", turn
    waiting = await seq_of(world, session, "user_message", 1)
    assert (await redact(world, session, waiting, 409))["code"] == "pending-action"
    await redact(world, session, await seq_of(world, session, "user_message"))
    assert (await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "r"}]))["status"] == "completed"
    await redact(world, session, waiting)


async def test_a_value_of_the_state_is_redacted_with_its_copies_once_it_is_not_in_force(world: World, migrate_url: str) -> None:
    session = await world.session(await world.agent(state_schema={"session": {"type": "object"}}))
    await patch(world, session, {"session": {"secret": INPUT, "kept": 1}})
    seq = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    await patch(world, session, {"session": {"kept": 2}})
    assert (await redact(world, session, seq, 409))["code"] == "conflict"
    await patch(world, session, {"session": {"secret": "other", "kept": 3}})
    await world.turn(session)
    receipt = await redact(world, session, seq)
    assert receipt["erased"]["entries"] >= 2
    assert await tables_with(migrate_url, INPUT) == set()
    assert (await world.call("GET", f"/sessions/{session}/state", 200)).json()["state"] == {"session": {"secret": "other", "kept": 3}}
    await readable(world, session, seq)
    await world.turn(session)


async def test_a_short_text_that_was_redacted_can_not_be_confirmed(world: World, migrate_url: str) -> None:
    """Everything that a digest could have been made of is known but for the text, and still no digest tells of it."""
    session = await world.session(script=[{"text": "well"}, {"text": "good"}])
    await world.turn(session, "yes", headers={"idempotency-key": "k"})
    await world.turn(session, "next")
    calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
    texts = [(await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()["body"] for call in calls]
    entry = next(one for one in await world.ledger(session) if one["kind"] == "user_message")
    guesses = [b"yes", b'{"input":"yes"}', json.dumps({"input": "yes"}).encode(), orjson.dumps(entry["body"])]
    guesses += [spelling(text) for text in texts for spelling in (orjson.dumps, lambda one: json.dumps(one).encode())]
    known = {bytes.fromhex(call[name][7:]) for call in calls for name in ("digest", "prefix_digest")}
    assert {"calls", "entries", "idempotency"} <= await confirmed(migrate_url, guesses)
    await redact(world, session, entry["seq"])
    assert await confirmed(migrate_url, guesses) == set()
    for digest in known - {bytes.fromhex(calls[0]["prefix_digest"][7:])}:
        assert await tables_with(migrate_url, digest.hex()) == set()


async def test_summaries_that_cover_a_redacted_message_go_and_stand_for_nothing(world: World, database_url: str, migrate_url: str) -> None:
    session = await spoken(world)
    uuid = parse_id(SESSION, session)
    assert uuid is not None
    store = await open_store(database_url, pool_size=1)
    try:
        await checkpoint(store, world, session)
        assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] == "chk_1"
        assert await tables_with(migrate_url, SUMMED) == {"entries", "blobs"}
        receipt = await redact(world, session, await seq_of(world, session, "user_message"))
        assert receipt["erased"]["summaries"] == 1
    finally:
        await store.close()
    assert await tables_with(migrate_url, SUMMED) == set()
    assert await tables_with(migrate_url, "orphan") == set()
    last = (await world.ledger(session))[-1]
    assert (last["kind"], last["body"]) == ("checkpoint_selected", {"checkpoint_id": None, "redacted": True})
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] is None
    await readable(world, session, 1)
    assert (await world.turn(session, "go on"))["status"] == "completed"


async def checkpoint(store: Store, world: World, session: str) -> None:
    """Lets a summary stand for the first turn; beside it lies one whose checkpoint was never appended."""
    uuid = parse_id(SESSION, session)
    assert uuid is not None
    row = await store.sessions.get(LOCAL_TENANT, uuid)
    assert row is not None
    kept = await seq_of(world, session, "user_message", 1)
    summary = Summary({"summary": (Fact(SUMMED),)}, 1, kept - 1, "00")
    artifact, orphan = summary.canonical, b"an orphan of " + SUMMED.encode()
    body = Checkpoint(
        "chk_1", row.head_seq, kept - 1, kept, 3, row.message_count, summary, blob_digest(artifact), "excerpt", "manual", 100, 10,
        agents=(),
    )  # fmt: skip
    line: Line = covered(row.line, Covered("chk_1", row.head_seq + 1, kept - 1))
    entry = NewEntry(Checkpoint.kind, body.encode(), line=line.encode(), blobs=(blob_digest(artifact),))
    blobs = tuple(NewBlob(blob_digest(one), SUMMARY_MEDIA_TYPE, one) for one in (artifact, orphan))
    await store.ledger.append(LOCAL_TENANT, uuid, Append(entries=(entry,), blobs=blobs))


async def test_a_shared_value_is_not_redacted_while_the_users_sessions_share_it(world: World) -> None:
    agent = await world.agent(state_schema=SCHEMA)
    session = await world.session(agent, user="ann")
    await patch(world, session, {"user": {"name": INPUT}})
    seq = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    await patch(world, session, {"session": {"topic": "x"}})
    assert "PATCH" in (await redact(world, session, seq, 409))["detail"]
    await patch(world, session, {"user": {"name": "other"}})
    receipt = await redact(world, session, seq)
    assert "sessions_of_user" in {one["where"] for one in receipt["remains"]}
