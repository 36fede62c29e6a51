"""A model without native calling, over the wire: its calls are calls like any other."""

import json
from dataclasses import replace

import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.fakes.openai_chat import fake_openai
from tests.services.turns.test_dispatch import DONE, MODEL, TOOLS, stream
from tests.services.world import World

ASKED = stream({"content": '{"tool": "lookup", "arguments": {"id":  "7"}}'}, "stop")
CALLED = {"name": "lookup", "arguments": '{"id":  "7"}'}
NATIVE = stream({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": CALLED}]}, "tool_calls")


async def ledger_of(settings: Settings, first: bytes, quirks: dict[str, str]) -> tuple[list[tuple[str, list[str]]], list[str], str]:
    """Kinds and part types of the turn's messages, the events of its first answer, and the second body."""
    async with fake_openai([first, DONE]) as fake:
        settings = replace(settings, upstreams={**settings.upstreams, "openai": fake.upstream(quirks=quirks)})
        async with running(settings) as app, talking(app) as client:
            world = World(client)
            session = await world.session(await world.agent(model=MODEL, tools=TOOLS))
            turn = await world.turn(session, "who is 7?")
            (pending,) = turn["pending"]
            assert (pending["name"], pending["arguments"]) == ("lookup", '{"id":  "7"}')
            events = [frame.event for frame in await world.events(session, turn["id"])]
            await world.results(session, turn["id"], [{"tool_call_id": pending["tool_call_id"], "content": "Ann"}])
            entries = [entry for entry in await world.ledger(session) if entry["message_index"] is not None]
            rows = [(entry["kind"], [part["type"] for part in entry["body"]["parts"]]) for entry in entries]
            return rows, events, json.dumps(fake.served[1])


@pytest.mark.req("S0-26", "S0-27", "X-34")
async def test_a_promoted_call_leaves_the_rows_of_a_native_one(settings: Settings) -> None:
    rows, events, body = await ledger_of(settings, ASKED, {"tools": "text"})
    native_rows, native_events, native_body = await ledger_of(settings, NATIVE, {})
    assert rows == native_rows
    assert "text.delta" not in events
    assert events == native_events
    assert '"tool_calls"' in native_body
    assert '"tool_calls"' not in body
    assert "[result of lookup]" in body


@pytest.mark.req("S0-27", "S3-24", "X-34")
async def test_a_control_that_is_called_in_text_changes_the_plan(settings: Settings) -> None:
    change = {"operation": "create", "objective": "Find out.", "steps": [{"text": "look", "status": "active"}]}
    asked = stream({"content": json.dumps({"tool": "update_plan", "arguments": change})}, "stop")
    async with fake_openai([asked, DONE]) as fake:
        settings = replace(settings, upstreams={**settings.upstreams, "openai": fake.upstream(quirks={"tools": "text"})})
        async with running(settings) as app, talking(app) as client:
            world = World(client)
            session = await world.session(await world.agent(model=MODEL, tools=TOOLS, plan={"enabled": True}))
            assert (await world.turn(session, "Plan it."))["status"] == "completed"
            (entry,) = await world.ledger(session, kinds="plan_changed")
            assert (entry["body"]["accepted"], entry["body"]["plan"]["objective"]) == (True, "Find out.")
            assert "update_plan" in json.dumps(fake.served[0])
