"""Snapshots of the older form, as only an import brings them: messages of their own, in step with their history or refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.context.skills import expansion, revision_of
from app.entries.ids import SESSION, format_id
from app.services.minting import new_uuid
from tests.api.conftest import running, talking
from tests.fakes.openai_chat import fake_openai
from tests.services.turns.test_skills import OK, contents, snapshots
from tests.services.world import World


def imported(entries: list[tuple[str, Any]]) -> bytes:
    """An export as another service may have written it: these entries behind the first, with an agent that must be named."""
    session = format_id(SESSION, new_uuid())
    rows = [("session_opened", {"agent": "older", "revision": 1, "follows": True}), *entries]
    lines: list[Any] = [{"context_ledger": 1, "session": {"id": session, "agent": "older", "agent_revision": 1, "agents": {}}}]
    at = {"at": None, "recorded_at": "2026-11-29T12:00:00+00:00", "version": 1, "hidden": False, "include_in_context": True}
    lines += [{"seq": seq, "kind": kind, "body": json.dumps(body), **at} for seq, (kind, body) in enumerate(rows, 1)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in [*lines, {"end": {"entries": len(rows)}}])


def said(text: str) -> dict[str, Any]:
    return {"parts": [{"type": "text", "text": text}]}


def older(turn: int, name: str = "old-guide", text: str = "Old instructions.") -> dict[str, Any]:
    return {"name": name, "revision": revision_of(text), "text": text, "placement": None, "user_turn": turn, "selected_by": None}


TALK = [
    ("user_message", said("first")),
    ("assistant_message", {**said("half an"), "status": "failed", "model": None, "stop_reason": None, "call_id": None}),
    ("user_message", said("second")),
]


@pytest.mark.req("S2-15", "S2-19", "S2-22", "S2-23", "S2-45", "S2-48", "T-20", "S2-10")
async def test_older_snapshots_of_an_import_are_messages_with_rows_of_their_own(world: World) -> None:
    await world.agent(OK, name="older")
    export = imported([("skill_loaded", older(0)), *TALK, ("skill_loaded", older(1, "other"))])
    report = (await world.call("POST", "/sessions/import?format=jsonl", 201, content=export)).json()["sessions"][0]
    assert (report["messages"], report["lost"]) == (3, [])
    session = report["id"]
    seen = await world.input(session)
    told = [(one["type"], one.get("snapshot_index"), one.get("user_turn"), one["message_index"]) for one in seen["source_map"]["sources"]]
    assert told == [("history", None, None, 0), ("runtime-context", 0, 0, 0), ("history", None, None, 2), ("runtime-context", 1, 1, 2)]
    assert seen["source_map"]["history_message_count"] == 3
    assert "Old instructions." not in json.dumps([seen["source_map"], seen["manifest"]])
    assert contents(seen["body"])[1] == expansion([("old-guide", "Old instructions.")])
    rows = [(row["source"]["name"], row["reason"], row["pointer"]) for row in seen["manifest"]["decisions"] if row["source"]["kind"] == "skill"]
    assert [row[:2] for row in rows] == [("old-guide", "skill_replayed"), ("other", "skill_replayed")]
    assert all(row[2].startswith("/messages/") for row in rows)
    assert [(one["anchor"], one["placement"]) for one in await snapshots(world, session)] == [({"user_turn": 0}, None), ({"user_turn": 1}, None)]
    turn = await world.turn(session, "third")
    assert turn["status"] == "completed"
    exported = (await world.call("GET", f"/sessions/{session}/export", 200)).content
    again = (await world.call("POST", "/sessions/import?format=jsonl", 201, content=exported)).json()["sessions"][0]
    assert (again["id"], again["already_stored"], again["lost"]) == (session, again["messages"], [])
    broken = imported([("skill_loaded", {**older(0), "text": 3}), *TALK])
    refused = await world.client.post("/sessions/import?format=jsonl", content=broken)
    assert (refused.status_code, refused.json()["code"]) == (422, "unreadable-import")


@pytest.mark.req("S2-39", "S2-34", "S2-45")
@pytest.mark.parametrize("turns", [[7], [0, 0], [1, 0]])
async def test_snapshots_that_contradict_the_history_are_refused_before_anything_is_sent(settings: Settings, turns: list[int]) -> None:
    async with fake_openai([]) as fake:
        settings = replace(settings, upstreams={**settings.upstreams, "openai": fake.upstream(retries_max=0)})
        async with running(settings) as app, talking(app) as client:
            world = World(client)
            await world.agent(name="older", model={"upstream": "openai", "name": "gpt-4o"})
            export = imported([*TALK, *[("skill_loaded", older(turn)) for turn in turns]])
            session = (await world.call("POST", "/sessions/import?format=jsonl", 201, content=export)).json()["sessions"][0]["id"]
            assert (await world.call("GET", f"/sessions/{session}/model-input", 409)).json()["code"] == "invalid-origins"
            turn = await world.turn(session, "third")
            assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-error")
            assert "invalid-origins" in turn["error"]["detail"]
            assert (fake.served, fake.refused, fake.failed) == ([], [], [])
            assert [entry["kind"] for entry in await world.ledger(session)][-3:] == ["user_message", "model_call_finished", "turn_settled"]
            await world.call("GET", f"/sessions/{session}/source-map", 404)
