"""The limit of a compile: a loop by hand from frozen dataclasses to the bytes of an OpenAI chat body, with nothing kept of why.

The conversation is the one of the targets: messages of 400 characters, two tools, every fourth cycle a call and its result.
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
class Said:
    """One message: `role` user, assistant or tool."""

    seq: int
    role: str
    text: str
    tool_call_id: str | None = None
    calls: tuple[tuple[str, str, str], ...] = ()


def conversation(entries: int) -> list[Said]:
    """That many messages in whole cycles of user, answer; every fourth cycle also a call and its result."""
    found: list[Said] = []
    cycle = 0
    while len(found) < entries:
        found.append(Said(len(found) + 1, "user", f"{cycle} {TEXT}"[:400]))
        if cycle % 4 == 3:
            name = f"call_{cycle}"
            found.append(Said(len(found) + 1, "assistant", "", None, ((name, "lookup", ARGUMENTS),)))
            found.append(Said(len(found) + 1, "tool", f"{cycle} {TEXT}"[:400], name))
        found.append(Said(len(found) + 1, "assistant", f"{cycle} {TEXT}"[:400]))
        cycle += 1
    while len(found) > entries or found[-1].calls:
        found.pop()
    return found


def body(messages: list[Said], model: str = "bench-model") -> bytes:
    """The bytes of the request. This loop is *ref* in the table."""
    wire: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    for said in messages:
        if said.role == "tool":
            wire.append({"role": "tool", "tool_call_id": said.tool_call_id, "content": said.text})
        elif said.calls:
            calls = [{"id": key, "type": "function", "function": {"name": name, "arguments": text}} for key, name, text in said.calls]
            wire.append({"role": "assistant", "content": said.text or None, "tool_calls": calls})
        else:
            wire.append({"role": said.role, "content": said.text})
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    return orjson.dumps({"model": model, "messages": wire, "tools": tools, "stream": True, "stream_options": {"include_usage": True}})
