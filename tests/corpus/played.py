"""Sessions of more than 200 calls, played over HTTP: a session file of the shared corpus answer by answer, many files of it in a row, and
one of our own making."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.context.agents.defaults import TOOL_NAME
from app.entries.messages import Answer, ToolResult
from app.entries.parts import Text, ToolCall
from tests.corpus.claude_code import Reading, read
from tests.judges.imported import transcripts
from tests.services.world import World

FORMATS_PLAYED = ("ai-sdk", "anthropic-messages", "codex", "gemini", "openai-chat", "openai-responses", "pi", "claude-code")
LONG = "entire-v2.1.1-very-long.jsonl"
MODEL = {"upstream": "scripted", "name": "scripted"}
LIMITS = {"context_window": 1_000_000, "max_output_tokens": 8_192}
CONTEXT = [{"renderer": "system", "id": "who", "text": "You are a careful engineer."}, {"renderer": "history"}]


@dataclass(frozen=True, slots=True)
class Play:
    """`steps`: what the model says, call by call. `inputs`: before which step a person said what. `results`: of step n, by its calls."""

    steps: Sequence[dict[str, Any]]
    inputs: dict[int, str]
    results: dict[int, list[str]]


def of_file(path: Path) -> Play:
    """The answers of a session file with their calls, the results that they got, and what was said between them."""
    reading: Reading = read(path)
    by_id = {said.tool_call_id: _text(said.pieces) for said in reading.said if said.kind == "tool_result"}
    steps: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    results: dict[int, list[str]] = {}
    for said in reading.said:
        if said.kind == "user_message":
            inputs[len(steps)] = _text(said.pieces)
        elif said.kind == "assistant_message":
            calls = [piece for piece in said.pieces if piece[0] == "call"]
            results[len(steps)] = [by_id.get(call[1], "") for call in calls]
            thought = "\n".join(piece[1] for piece in said.pieces if piece[0] == "reasoning")
            steps.append(
                {
                    "text": _text(said.pieces) or ("" if calls else "."),
                    **({"reasoning": thought} if thought else {}),
                    "tool_calls": [{"id": call[1], "name": call[2], "arguments": orjson.dumps(call[3], default=str).decode()} for call in calls],
                }
            )
    return Play(steps, inputs, results)


def of_corpus(transcripts_folder: Path, turns: int) -> Play:
    """What people and models said in one file after the other, of every format that is imported, until there are so many turns."""
    steps: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    results: dict[int, list[str]] = {}
    said = (message.body for format in FORMATS_PLAYED for each in transcripts(format, transcripts_folder) for message in each.ledger.messages)
    for body in said:
        calls = [part for part in body.parts if isinstance(part, ToolCall) and TOOL_NAME.fullmatch(part.name)]
        spoken = "\n".join(part.text for part in body.parts if isinstance(part, Text))
        if isinstance(body, Answer):
            results[len(steps)] = []
            made = [{"name": call.name, "arguments": call.arguments} for call in calls]
            steps.append({"text": spoken or ("" if calls else "."), "tool_calls": made})
        elif isinstance(body, ToolResult) and steps:
            results[len(steps) - 1].append(spoken)
        elif not isinstance(body, ToolResult):
            if len(inputs) > turns and steps and not steps[-1]["tool_calls"]:
                break
            inputs[len(steps)] = spoken if spoken.strip() else "Go on."
    return Play(steps, inputs, results)


def of_our_own(turns: int = 210) -> Play:
    """Turns of one answer each, every fifth with two calls first."""
    steps: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    results: dict[int, list[str]] = {}
    for turn in range(turns):
        inputs[len(steps)] = f"Question {turn}: größer als 3 m² \U0001f525?"
        if turn % 5 == 0:
            results[len(steps)] = [f"first {turn}", f"second {turn}"]
            calls = [{"id": f"call_{turn}_{n}", "name": "lookup", "arguments": f'{{"n": {n}.0}}'} for n in range(2)]
            steps.append({"reasoning": "I look it up.", "tool_calls": calls})
        steps.append({"text": f"Answer {turn}."})
    return Play(steps, inputs, results)


async def played(world: World, play: Play) -> tuple[str, list[Any]]:
    """The session that the play made, and its calls in their order."""
    names = sorted({call["name"] for step in play.steps for call in step.get("tool_calls", ())})
    tools = [{"name": name, "description": f"The tool {name}.", "parameters": {"type": "object"}} for name in names]
    document = {"model": {**MODEL, "params": {"script": list(play.steps)}}, "limits": LIMITS, "context": CONTEXT, "tools": tools}
    await world.call("PUT", "/agents/player", 201, json=document)
    session = await world.session("player")
    done = 0
    while done < len(play.steps):
        turn = await world.turn(session, play.inputs.get(done) or "Go on.")
        done += 1
        while turn["status"] == "requires_action":
            contents = play.results.get(done - 1, [])
            results = [
                {"tool_call_id": pending["tool_call_id"], "content": contents[at] if at < len(contents) else ""}
                for at, pending in enumerate(turn["pending"])
            ]
            turn = await world.results(session, turn["id"], results)
            done += turn["error"] is None
    calls: list[Any] = []
    after: dict[str, str] = {}
    while True:
        page = (await world.call("GET", f"/sessions/{session}/calls", 200, params={"limit": 1000, **after})).json()
        calls += page["data"]
        if not page["has_more"]:
            return session, calls
        after = {"after": page["next"]}


def _text(pieces: Sequence[Any]) -> str:
    return "\n".join(piece[1] for piece in pieces if piece[0] == "text")
