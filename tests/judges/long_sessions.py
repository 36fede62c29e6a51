"""Long sessions to drive on: those of the shared corpus, and one of our own that has of everything a little."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.world import World

CORPUS = {
    "pi-before-compaction": ("pi", "pi_session/before-compaction.jsonl"),
    "claude-code-very-long": ("claude-code", "claude_code/entire-v2.1.1-very-long.jsonl"),
    "claude-code-spotter": ("claude-code", "claude_code/spotter-main-8463c716.jsonl"),
    "swe-agent-sqlfluff": ("openai-chat", "mini_swe_agent_traj/reasoner-sqlfluff-1517.traj.json"),
}
"""Importer and file of each. The last one is a trajectory, whose messages are those of Chat Completions."""

OWN = "own"
MESSAGES_MIN = 200
APPEND_MAX = 256


@dataclass(frozen=True, slots=True)
class Long:
    """A session as it was brought in: its head then, and the first seq of its messages."""

    session: str
    head_seq: int
    first_seq: int


async def brought(world: World, name: str, transcripts: Path | None) -> Long:
    """A session of the corpus, imported; or our own, appended. Each has at least `MESSAGES_MIN` messages."""
    if transcripts is None:
        session = await _own(world)
    else:
        format, path = CORPUS[name]
        content = (transcripts / path).read_bytes()
        if format == "openai-chat":
            content = json.dumps({"messages": json.loads(content)["messages"]}).encode()
        report = (await world.call("POST", f"/sessions/import?format={format}", 201, content=content)).json()
        session = str(max(report["sessions"], key=lambda one: one["messages"])["id"])
    shown = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert shown["message_count"] >= MESSAGES_MIN
    first = (await world.call("GET", f"/sessions/{session}/raw", 200, params={"limit": 1})).json()["data"][0]
    return Long(session, shown["head_seq"], first["seq"])


async def _own(world: World) -> str:
    session = await world.session()
    entries = [entry for number in range(64) for entry in _exchange(number)]
    for at in range(0, len(entries), APPEND_MAX):
        await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": entries[at : at + APPEND_MAX]})
    return session


def _exchange(number: int) -> list[dict[str, Any]]:
    """A prompt, two calls at once and their results, one of them long, and an answer; now and then a call that was never answered, a
    result of no call, a note that no model gets, an answer that broke off."""
    one, other, lost = (f"call.{number}:{at}" for at in ("a", "b", "lost"))
    said = [
        _said("user_message", f"Question {number}: où est {'🌊' * 3}? " + "The river, the sea and the rain. " * 6),
        _calls(_call(one, "read", {"path": f"/src/{number}.py"}), _call(other, "run", {"command": ["make", "test"], "n": number})),
        _result(one, f"line {number} of the file\n" * (4 + 80 * (number % 4))),
        _result(other, "it failed", is_error=True),
        _said("assistant_message", f"Answer {number}. " + "It flows down to the sea. " * 40),
    ]
    if number % 6 == 1:
        said += [_said("user_message", "Look again."), _calls(_call(lost, "read", {}))]
    if number % 6 == 2:
        said.append(_result(f"call.{number}:none", "a result of nothing"))
    if number % 6 == 3:
        said.append({**_said("agent_message", "A note for people."), "include_in_context": False})
    if number % 6 == 4:
        said.append({**_said("assistant_message", "And then it"), "status": "interrupted"})
    return said


def _said(kind: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "parts": [{"type": "text", "text": text}]}


def _calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "assistant_message", "parts": [{"type": "text", "text": "I look."}, *calls]}


def _call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "tool_call_id": id, "name": name, "arguments": json.dumps(arguments)}


def _result(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "tool_result", "tool_call_id": id, "parts": [{"type": "text", "text": text}], **more}
