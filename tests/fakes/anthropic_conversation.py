"""Order, pairing and texts of the messages of a Messages body (wire-format notes 4.3, 12.7), for messages of the right shape."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.claude_models import Claude
from tests.fakes.shapes import Breach


@dataclass(slots=True)
class Run:
    """Messages of one role in a row, which the API merges before it judges. `blocks` have their places; a string is one text block."""

    role: str
    at: str
    blocks: list[tuple[dict[str, Any], str]] = field(default_factory=list)

    def ids(self, kind: str, key: str) -> list[str]:
        return [block[key] for block, _ in self.blocks if block.get("type") == kind]


def runs(messages: list[dict[str, Any]]) -> list[Run]:
    found: list[Run] = []
    for index, message in enumerate(messages):
        at = f"messages.{index}"
        if not found or found[-1].role != message["role"]:
            found.append(Run(message["role"], at))
        content = message["content"]
        if isinstance(content, str):
            found[-1].blocks.append(({"type": "text", "text": content}, f"{at}.content"))
        else:
            found[-1].blocks += [(block, f"{at}.content.{place}") for place, block in enumerate(content)]
    return found


def conversation_breaches(messages: list[dict[str, Any]], model: Claude) -> Iterator[Breach]:
    """Everything that is wrong with the messages, but for their shape and their thinking."""
    found = runs(messages)
    for index, message in enumerate(messages):
        if not message["content"] and not (index == len(messages) - 1 and message["role"] == "assistant"):
            yield Breach(f"messages.{index}", "all messages must have non-empty content except for the optional final assistant message")
    for run in found:
        yield from _texts(run)
        yield from _server_results(run)
    if found[0].role == "assistant":
        yield Breach("messages", 'first message must use the "user" role')
    yield from _pairing(found)
    yield from _systems(found, model)
    yield from _ending(found, model)


def _texts(run: Run) -> Iterator[Breach]:
    for block, _ in run.blocks:
        yield from blank("messages", block)
        inner = block.get("content") if block["type"] in ("tool_result", "search_result") else None
        for part in inner if isinstance(inner, list) else ():
            yield from blank("messages", part)


def blank(where: str, block: dict[str, Any]) -> Iterator[Breach]:
    """A text block that says nothing."""
    if block.get("type") == "text" and not block["text"]:
        yield Breach(where, "text content blocks must be non-empty")
    elif block.get("type") == "text" and not block["text"].strip():
        yield Breach(where, "text content blocks must contain non-whitespace text")


def _server_results(run: Run) -> Iterator[Breach]:
    """A result of the server's own tools stands in the answer that called them."""
    called: set[str] = set()
    for block, at in run.blocks:
        if block["type"] in ("server_tool_use", "mcp_tool_use"):
            called.add(block["id"])
        elif block["type"].endswith("_tool_result") and block["tool_use_id"] not in called:
            yield Breach(at, f"unexpected `tool_use_id` found in `{block['type']}` blocks: {block['tool_use_id']}.")


def _pairing(found: list[Run]) -> Iterator[Breach]:
    seen: set[str] = set()
    for place, run in enumerate(found):
        calls = run.ids("tool_use", "id")
        for tool_call_id in calls:
            if tool_call_id in seen:
                yield Breach(run.at, "`tool_use` ids must be unique")
            seen.add(tool_call_id)
        if calls:
            following = found[place + 1] if place + 1 < len(found) else None
            missing = [each for each in calls if following is None or each not in _leading_results(following)]
            if missing:
                yield Breach(
                    run.at,
                    f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
                    "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                )
        yield from _results(run, set(found[place - 1].ids("tool_use", "id")) if place else set())


def _leading_results(run: Run) -> list[str]:
    """Results count as long as nothing else stands before them."""
    leading = []
    for block, _ in run.blocks:
        if block["type"] != "tool_result":
            break
        leading.append(block["tool_use_id"])
    return leading if run.role == "user" else []


def _results(run: Run, calls: set[str]) -> Iterator[Breach]:
    answered: set[str] = set()
    for block, at in run.blocks:
        if block["type"] != "tool_result":
            continue
        tool_call_id = block["tool_use_id"]
        if tool_call_id not in calls:
            yield Breach(
                at,
                f"unexpected `tool_use_id` found in `tool_result` blocks: {tool_call_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
            )
        if tool_call_id in answered:
            yield Breach(at, f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {tool_call_id}")
        answered.add(tool_call_id)
        inner = block.get("content")
        if block.get("is_error") and isinstance(inner, list) and any(part["type"] != "text" for part in inner):
            yield Breach(f"{at}.tool_result", "all content must be type `text` if `is_error` is true")


def _systems(found: list[Run], model: Claude) -> Iterator[Breach]:
    for place, run in enumerate(found):
        if run.role != "system":
            continue
        following = found[place + 1].role if place + 1 < len(found) else None
        if not model.system_role:
            yield Breach(run.at, "role 'system' is not supported on this model")
        elif place == 0:
            yield Breach(run.at, "role 'system' must not be the first message")
        elif following not in (None, "assistant"):
            yield Breach(run.at, "role 'system' must precede an 'assistant' message or end the array")


def _ending(found: list[Run], model: Claude) -> Iterator[Breach]:
    last = found[-1]
    if last.role != "assistant":
        return
    paused = any(block["type"] in ("server_tool_use", "mcp_tool_use") for block, _ in last.blocks)
    if not model.prefill and not paused:
        yield Breach("", "This model does not support assistant message prefill. The conversation must end with a user message.")
    closing = last.blocks[-1][0] if last.blocks else {}
    if closing.get("type") == "text" and closing["text"] != closing["text"].rstrip():
        yield Breach("messages", "final assistant content cannot end with trailing whitespace")
