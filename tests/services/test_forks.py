"""Forks over HTTP: a past that is shared, a future that is not."""

import asyncio

import pytest

from app.entries.ids import SESSION, format_id
from app.services.minting import new_uuid
from tests.services.world import World, roles

SCRIPT = ({"text": "One."}, {"text": "Two."}, {"text": "Three."}, {"text": "Four."})


OTHER = {"upstream": "scripted", "name": "scripted", "params": {"script": list(SCRIPT), "temperature": 0.5}}


async def fork_of(world: World, session: str, expect: int = 201, **body):
    return (await world.call("POST", f"/sessions/{session}/fork", expect, json=body)).json()


async def told(world: World, session: str) -> list[str]:
    return [part["text"] for entry in await world.raw(session) for part in entry["body"]["parts"]]


async def talked(world: World, *texts: str) -> tuple[str, list]:
    session = await world.session(script=SCRIPT)
    return session, [await world.turn(session, text) for text in texts]


@pytest.mark.req("X-11", "X-13")
async def test_a_fork_goes_on_by_itself_from_its_parents_past(world):
    session, turns = await talked(world, "a", "b")
    before = (await world.call("GET", f"/sessions/{session}", 200)).json()
    at = turns[0]["entry_seqs"][-1]
    answer = await world.call("POST", f"/sessions/{session}/fork", 201, json={"at_seq": at})
    fork = answer.json()
    assert answer.headers["location"] == f"/sessions/{fork['id']}"
    assert answer.headers["etag"] == f'"{at + 1}.0"'
    assert fork["forked_from"] == {"session_id": session, "at_seq": at}
    assert (fork["head_seq"], fork["turn_count"], fork["message_count"], fork["status"]) == (at + 1, 1, 2, "idle")
    assert set(fork["usage"].values()) == {0}
    assert {name: fork[name] for name in ("agent", "agent_revision", "follows", "model", "title", "user")} == {
        name: before[name] for name in ("agent", "agent_revision", "follows", "model", "title", "user")
    }
    assert fork["external_id"] is None
    # the scripted model plays its steps by calls of this session, and this one had none: its own record of use begins anew
    turn = await world.turn(fork["id"], "c")
    assert (turn["number"], turn["follows"], turn["status"]) == (2, turns[0]["id"], "completed")
    assert await told(world, fork["id"]) == ["a", "One.", "c", "One."]
    assert await told(world, session) == ["a", "One.", "b", "Two."]
    assert (await world.call("GET", f"/sessions/{session}", 200)).json() == before
    entries = await world.ledger(fork["id"])
    assert [entry["seq"] for entry in entries] == list(range(1, entries[-1]["seq"] + 1))
    assert entries[:at] == (await world.ledger(session))[:at]
    assert (entries[at]["kind"], entries[at]["body"]) == ("session_forked", {"parent": session, "at_seq": at})
    lines = (await world.call("GET", f"/sessions/{fork['id']}/raw?view=ledger", 200, headers={"accept": "application/x-ndjson"})).text
    assert len(lines.splitlines()) == len(entries)
    assert (await world.call("GET", f"/sessions/{fork['id']}/entries/1", 404)).status_code == 404
    verified = (await world.call("GET", f"/sessions/{fork['id']}/verify", 200)).json()
    assert (verified["ok"], verified["entries"]) == (True, entries[-1]["seq"])


async def test_what_a_model_is_sent_of_a_fork_is_what_its_parent_would_send(world):
    session, _ = await talked(world, "a", "b", "c")
    for at in [turn["entry_seqs"][-1] for turn in (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]]:
        fork = (await fork_of(world, session, at_seq=at))["id"]
        theirs, ours = await world.input(session, at_seq=at), await world.input(fork)
        assert ours["body"] == theirs["body"]
        assert ours["source_map"] == theirs["source_map"]
        assert (await world.input(fork, at_seq=at))["body"] == theirs["body"]
        grandchild = (await fork_of(world, fork))["id"]
        assert (await world.input(grandchild))["body"] == theirs["body"]
        assert (await world.call("GET", f"/sessions/{fork}/source-map", 404)).json()["code"] == "no-dispatched-call"


async def test_the_turns_of_the_past_are_there_and_may_be_gone_back_to(world):
    session, turns = await talked(world, "a", "b", "c")
    fork = (await fork_of(world, session))["id"]
    own = await world.turn(fork, "d")
    listed = (await world.call("GET", f"/sessions/{fork}/turns", 200)).json()["data"]
    assert [turn["id"] for turn in listed] == [*(turn["id"] for turn in turns), own["id"]]
    past = (await world.call("GET", f"/sessions/{fork}/turns/{turns[1]['id']}", 200)).json()
    assert past == {**turns[1], "session_id": fork, "calls": [], "usage": None}
    events = await world.events(fork, turns[1]["id"])
    assert [frame.event for frame in events] == [frame.event for frame in await world.events(session, turns[1]["id"])]
    assert events[-1].data["turn"] == past
    # go back by the line, by `follows` (edit), and by regenerate
    moved = (await world.call("PUT", f"/sessions/{fork}/line", 200, json={"turn": turns[0]["id"]})).json()
    assert moved["status"] == "idle"
    assert await told(world, fork) == ["a", "One."]
    edited = await world.turn(fork, "b again", follows=turns[0]["id"])
    assert edited["siblings"] == [turns[1]["id"]]
    assert await told(world, fork) == ["a", "One.", "b again", "Two."]
    path = f"/sessions/{fork}/turns/{turns[2]['id']}/regenerate"
    again = (await world.call("POST", path, 200, headers={"accept": "application/json"})).json()
    assert (again["retry_of"], again["input_seq"], again["siblings"]) == (turns[2]["id"], turns[2]["input_seq"], [turns[2]["id"]])
    assert await told(world, fork) == ["a", "One.", "b", "Two.", "c", "Three."]
    started = await world.turn(fork, "from the start", follows="start")
    assert set(started["siblings"]) == {turns[0]["id"]}
    assert await told(world, fork) == ["from the start", "Four."]
    assert (await world.call("GET", f"/sessions/{fork}/verify", 200)).json()["ok"] is True
    assert await told(world, session) == ["a", "One.", "b", "Two.", "c", "Three."], "the parent's line is its own"
    cancelled = (await world.call("POST", f"/sessions/{fork}/turns/{turns[0]['id']}/cancel", 200)).json()
    assert cancelled["status"] == "completed"


async def test_a_failed_turn_of_the_past_may_be_retried_in_the_fork(world):
    session = await world.session(script=({"error": {"status": 400, "code": "bad"}}, {"text": "Better."}))
    failed = await world.turn(session, "a")
    assert failed["status"] == "failed"
    fork = (await fork_of(world, session))["id"]
    path = f"/sessions/{fork}/turns/{failed['id']}/retry"
    again = (await world.call("POST", path, 200, headers={"accept": "application/json"})).json()
    assert (again["retry_of"], again["input_seq"], again["number"]) == (failed["id"], failed["input_seq"], 2)
    late = {"results": [{"tool_call_id": "c1", "content": "late"}]}
    refused = await world.call("POST", f"/sessions/{fork}/turns/{failed['id']}/tool-results", 422, json=late)
    assert refused.json()["errors"][0]["code"] == "unknown-tool-call"


@pytest.mark.req("X-11")
async def test_a_fork_is_made_beside_a_running_turn_and_never_inside_one(world):
    session = await world.session(script=({"text": "One."}, {"text": "Slowly.", "delay_ms": 30_000}))
    first = await world.turn(session, "a")
    end = first["entry_seqs"][-1]
    running = await world.turn(session, "b", expect=202, background=True)
    await asyncio.sleep(0.2)
    row = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert row["status"] == "busy"
    fork = await fork_of(world, session, at_seq=end)
    assert fork["status"] == "idle"
    for body in ({}, {"at_seq": row["head_seq"]}, {"at_seq": end - 1}):
        refused = await fork_of(world, session, 422, **body)
        assert [(fault["pointer"], fault["code"]) for fault in refused["errors"]] == [("/at_seq", "inside-turn")]
    for seq in (0, -1, row["head_seq"] + 1, 2**70):
        refused = await fork_of(world, session, 422, at_seq=seq)
        assert [(fault["pointer"], fault["code"]) for fault in refused["errors"]] == [("/at_seq", "out-of-range")]
    assert (await fork_of(world, session, 412, at_seq=end, expected_head=1))["code"] == "head-mismatch"
    await world.call("POST", f"/sessions/{session}/turns/{running['id']}/cancel", 200)
    assert await told(world, fork["id"]) == ["a", "One."]


async def test_a_fork_is_made_beside_a_turn_that_waits(world):
    tool = {"name": "lookup", "description": "", "parameters": {"type": "object"}}
    script = ({"text": "One."}, {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}, {"text": "Done."})
    session = await world.session(await world.agent(script, tools=[tool]))
    first = await world.turn(session, "a")
    assert (await world.turn(session, "b"))["status"] == "requires_action"
    assert (await fork_of(world, session, 422))["errors"][0]["code"] == "inside-turn"
    fork = await fork_of(world, session, at_seq=first["entry_seqs"][-1])
    assert (fork["status"], fork["pending_turn"]) == ("idle", None)


async def test_the_first_answer_is_given_again_under_its_key(world):
    session, turns = await talked(world, "a")
    await world.call("PATCH", f"/sessions/{session}", 200, json={"title": "parent's", "model": OTHER})
    headers = {"idempotency-key": "k1"}
    first = await world.call("POST", f"/sessions/{session}/fork", 201, json={}, headers=headers)
    fork = first.json()
    assert (fork["title"], fork["model"]) == ("parent's", OTHER)
    await world.call("PATCH", f"/sessions/{fork['id']}", 200, json={"title": "its own", "metadata": {"n": 1}})
    await world.turn(session, "b")
    again = await world.call("POST", f"/sessions/{session}/fork", 201, json={}, headers=headers)
    assert (again.json(), again.headers["etag"], again.headers["idempotent-replayed"]) == (fork, first.headers["etag"], "true")
    other = await world.call("POST", f"/sessions/{session}/fork", 422, json={"at_seq": turns[0]["entry_seqs"][-1]}, headers=headers)
    assert other.json()["code"] == "idempotency-key-reused"


async def test_state_skills_plan_and_settings_are_those_of_the_seq(world):
    schema = {"session": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    agent = await world.agent(SCRIPT, state_schema=schema, skills=[{"name": "guide", "description": "d", "text": "Be kind."}])
    session = await world.session(agent, state={"session": {"n": 1}})
    first = await world.turn(session, "a", skills=["guide"])
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"n": 2}})
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": OTHER})
    end = first["entry_seqs"][-1]
    early, late = await fork_of(world, session, at_seq=end), await fork_of(world, session)
    for fork, n, warm in ((early, 1, False), (late, 2, True)):
        state = (await world.call("GET", f"/sessions/{fork['id']}/state", 200)).json()
        assert (state["state"], "temperature" in fork["model"]["params"]) == ({"session": {"n": n}}, warm)
        assert ("temperature" in (await world.input(fork["id"]))["body"]) is warm
        snapshots = (await world.call("GET", f"/sessions/{fork['id']}/skill-snapshots", 200)).json()["data"]
        assert [one["text"] for one in snapshots] == ["Be kind."]
    deep = await fork_of(world, (await fork_of(world, late["id"]))["id"])
    await world.call("PATCH", f"/sessions/{deep['id']}/state", 200, json={"session": {"n": 3}})
    states = [(await world.call("GET", f"/sessions/{deep['id']}/state", 200, params={"at_seq": seq})).json() for seq in (end, deep["head_seq"])]
    assert [state["state"]["session"]["n"] for state in states] == [1, 2]
    assert (await world.call("GET", f"/sessions/{session}/state", 200)).json()["state"]["session"]["n"] == 2
    newer = await world.agent(SCRIPT, name=agent, state_schema=schema)
    turn = await world.turn(deep["id"], "goes on")
    assert turn["status"] == "completed"
    assert (await world.call("GET", f"/sessions/{deep['id']}", 200)).json()["agent_revision"] == 2, newer


async def test_bytes_and_exports_of_a_fork_hold_the_past(world):
    session = await world.session(script=SCRIPT)
    content = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    path = f"/sessions/{session}/blobs"
    blob = (await world.call("POST", path, 201, content=content, headers={"content-type": "image/png"})).json()
    long = "x" * 200_000
    entry = {"kind": "user_message", "parts": [{"type": "text", "text": long}, {"type": "image", "blob": blob["digest"]}]}
    await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": [entry]})
    fork = (await fork_of(world, session))["id"]
    assert (await told_texts(world, fork)) == [long]
    assert (await world.call("GET", f"/sessions/{fork}/blobs/{blob['digest']}", 200)).content == content
    await world.call("POST", f"/sessions/{fork}/entries", 201, json={"entries": [entry]})
    assert (await world.call("GET", f"/sessions/{fork}/verify", 200)).json()["ok"] is True
    exported = (await world.call("GET", f"/sessions/{fork}/export?format=jsonl", 200)).text
    parent = (await world.call("GET", f"/sessions/{session}/export?format=openai-chat", 200)).text
    assert exported.count(blob["digest"]) >= 1
    assert long in parent
    assert "session_forked" in exported
    sent = (await world.input(fork))["body"]
    assert roles(sent) == ["user", "user"]


async def test_an_export_of_a_fork_is_whole_by_itself(world):
    """It is read back as one session: nothing of it lies elsewhere any more."""
    session, turns = await talked(world, "a", "b")
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": turns[0]["id"]})
    await world.turn(session, "c")
    fork = (await fork_of(world, session))["id"]
    await world.turn(fork, "d")
    exported = (await world.call("GET", f"/sessions/{fork}/export?format=jsonl", 200)).text
    path = "/sessions/import?format=jsonl"
    again = (await world.call("POST", path, 201, content=exported, headers={"content-type": "application/x-ndjson"})).json()
    assert [(one["id"], one["lost"]) for one in again["sessions"]] == [(fork, [])]
    moved = exported.replace(fork, format_id(SESSION, new_uuid()))
    copy = (await world.call("POST", path, 201, content=moved, headers={"content-type": "application/x-ndjson"})).json()["sessions"][0]["id"]
    assert await told(world, copy) == await told(world, fork) == ["a", "One.", "c", "Three.", "d", "One."]
    assert [(entry["kind"], entry["body"]) for entry in await world.ledger(copy)] == [
        (entry["kind"], entry["body"]) for entry in await world.ledger(fork)
    ]
    assert (await world.call("GET", f"/sessions/{copy}/verify", 200)).json()["ok"] is True
    assert (await world.input(copy))["body"] == (await world.input(fork))["body"]


async def told_texts(world: World, session: str) -> list[str]:
    return [part["text"] for entry in await world.raw(session) for part in entry["body"]["parts"] if part["type"] == "text"]


async def test_live_following_of_a_fork_begins_with_the_past(socket_world):
    world = socket_world
    session, _ = await talked(world, "a")
    fork = (await fork_of(world, session))["id"]
    seen: list[str] = []
    async with world.client.stream("GET", f"/sessions/{fork}/raw", headers={"accept": "text/event-stream"}) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                seen.append(line[4:])
            if len(seen) == 2:
                break
    assert seen == [str(entry["seq"]) for entry in await world.raw(session)]
