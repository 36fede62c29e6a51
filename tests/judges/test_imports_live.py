"""A file of each kind that is read goes in over HTTP, and each provider in turn goes on with what came out of it, streaming."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.formats.registry import IMPORTERS
from tests.fakes.answers import Answer, Text, Thinking, ToolCall
from tests.judges.conftest import Providers
from tests.judges.judging import objections
from tests.judges.targets import MODELS, target_of
from tests.judges.test_switching import model_of
from tests.services.world import said

OWN = Path(__file__).parents[1] / "transcripts"
CHAT = {
    "messages": [
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "tool_calls": [{"id": "functions.count:0", "type": "function", "function": {"name": "count", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "functions.count:0", "content": "Seven."},
        {"role": "assistant", "content": "Seven trees."},
    ]
}
FILES: dict[str, Path | None] = {
    "openai-chat": None,
    "openai-responses": OWN / "openai_responses" / "orchard.json",
    "anthropic-messages": OWN / "anthropic" / "orchard.json",
    "gemini": OWN / "gemini" / "orchard.json",
    "ai-sdk": OWN / "ai_sdk" / "orchard.json",
    "claude-code": OWN / "claude_code" / "orchard-2.jsonl",
    "codex": OWN / "codex" / "orchard.jsonl",
    "pi": OWN / "pi" / "tree.jsonl",
    "jsonl": None,
}


def test_there_is_a_file_for_each_importer():
    assert set(FILES) == set(IMPORTERS)


@pytest.mark.req("S0-28", "X-17")
@pytest.mark.parametrize("format", FILES)
async def test_a_streamed_turn_by_each_provider_on_an_imported_session(providers: Providers, format: str):
    world = providers.world
    await world.agent(name="gardener", limits={"context_window": 200_000, "max_output_tokens": 8_192}, tools=[{"name": "count"}])
    session = await brought(providers, format)
    for dialect in MODELS:
        await world.call("PATCH", f"/sessions/{session}", 200, json={"model": model_of(dialect)})
        providers.fakes[dialect].answers = [Answer((Thinking("Hm."), Text("I count."), ToolCall("count"))), Answer((Text(f"{dialect} says seven."),))]
        frames = await world.stream(session, f"What does {dialect} say?")
        assert frames[-1].event == "turn.requires_action", (dialect, frames[-1])
        assert said(frames) == "I count."
        turn = frames[-1].data["turn"]
        results = [{"tool_call_id": each["tool_call_id"], "content": "Seven."} for each in turn["pending"]]
        settled = await world.results(session, turn["id"], results)
        assert settled["status"] == "completed", (dialect, settled)
        fake = providers.fakes[dialect]
        assert not fake.refused, (dialect, fake.refused)
        target = target_of(dialect, **model_of(dialect)["params"])
        assert [objections(dialect, json.dumps(body).encode(), target) for body in fake.served] == [[], []]
    texts = [part["text"] for entry in await world.raw(session) for part in entry["body"]["parts"] if part["type"] == "text"]
    assert {f"{dialect} says seven." for dialect in MODELS} <= set(texts)


async def brought(providers: Providers, format: str) -> str:
    """The id of the session that a file becomes; our own export is of a session that is there already."""
    world, path = providers.world, FILES[format]
    content: Any = json.dumps(CHAT).encode() if path is None else path.read_bytes()
    first = "openai-chat" if format == "jsonl" else format
    report = (await world.call("POST", f"/sessions/import?format={first}&agent=gardener", 201, content=content)).json()["sessions"][-1]
    if format == "jsonl":
        exported = (await world.call("GET", f"/sessions/{report['id']}/export", 200)).content
        report = (await world.call("POST", "/sessions/import?format=jsonl", 201, content=exported)).json()["sessions"][-1]
        assert report["already_stored"] == report["messages"]
    assert report["messages"] > 1
    return str(report["id"])
