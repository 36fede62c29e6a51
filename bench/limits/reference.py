"""The limit of a compile: a loop by hand from frozen dataclasses to the bytes of an Anthropic body, with nothing kept of why.

It is the loop that the targets were stated against, so it writes that format and not ours: blocks for each part, arguments as
an object, results inside the user's message. The conversation is the one of the targets too: messages of 400 characters, two
tools, every fourth cycle a call and its result.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from bench.limits.postgres import TEXT

TOOLS: tuple[dict[str, Any], ...] = tuple(
    {
        "name": name,
        "description": "Looks something up in the records of the ward.",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["key"]},
    }
    for name in ("lookup", "search")
)
ARGUMENTS = '{"key":"patient-0001","limit":10}'
SYSTEM = "You are a triage nurse. Be brief, be kind, and say what you do not know."


@dataclass(frozen=True, slots=True)
class Words:
    """A text part."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    tool_call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """One message: `role` user, assistant or tool; `answers` is the call that a tool message belongs to."""

    seq: int
    role: str
    parts: tuple[Words | Call, ...]
    answers: str | None = None


def conversation(entries: int) -> list[Said]:
    """That many messages in whole cycles of user, answer; every fourth cycle also a call and its result."""
    found: list[Said] = []
    cycle = 0
    while len(found) < entries:
        words = (Words(f"{cycle} {TEXT}"[:400]),)
        found.append(Said(len(found) + 1, "user", words))
        if cycle % 4 == 3:
            name = f"call_{cycle}"
            found.append(Said(len(found) + 1, "assistant", (Call(name, "lookup", ARGUMENTS),)))
            found.append(Said(len(found) + 1, "tool", words, name))
        found.append(Said(len(found) + 1, "assistant", words))
        cycle += 1
    while len(found) > entries or isinstance(found[-1].parts[0], Call):
        found.pop()
    return found


def body(messages: list[Said], model: str = "bench-model") -> bytes:
    """The bytes of the request. This loop is *ref* in the table."""
    wire: list[dict[str, Any]] = []
    for said in messages:
        blocks: list[dict[str, Any]] = []
        for part in said.parts:
            if isinstance(part, Call):
                blocks.append({"type": "tool_use", "id": part.tool_call_id, "name": part.name, "input": orjson.loads(part.arguments)})
            else:
                blocks.append({"type": "text", "text": part.text})
        role = said.role
        if role == "tool":
            role, blocks = "user", [{"type": "tool_result", "tool_use_id": said.answers, "content": blocks}]
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"].extend(blocks)
        else:
            wire.append({"role": role, "content": blocks})
    tools = [{"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]} for tool in TOOLS]
    return orjson.dumps({"model": model, "max_tokens": 4096, "system": SYSTEM, "messages": wire, "tools": tools, "stream": True})
