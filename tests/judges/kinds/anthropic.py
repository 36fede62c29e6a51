"""Differences on Messages."""

from typing import Any

from tests.judges.kinds.kind import DESCRIPTIONS, Kind, everywhere, less, listed, without, without_saying


def _blocks(value: dict[str, Any]) -> dict[str, Any]:
    """Text where it may stand for a block of text."""
    if isinstance(value.get("content"), str) and ("role" in value or value.get("type") == "tool_result"):
        return {**value, "content": [{"type": "text", "text": value["content"]}]}
    return value


def _in_a_row(body: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for message in body["messages"]:
        if found and found[-1]["role"] == message["role"] and isinstance(message["content"], list):
            found[-1] = {**found[-1], "content": [*found[-1]["content"], *message["content"]]}
        else:
            found.append(message)
    return {**body, "messages": found}


def _unreadable(value: dict[str, Any]) -> dict[str, Any]:
    """What a client's own search of tools, and its files in a container, become in an import: nothing that could be sent."""
    content = value.get("content")
    if isinstance(content, list):
        kept = [block for block in content if not (isinstance(block, dict) and block.get("type") in ("tool_reference", "container_upload"))]
        if kept != content:
            return {**value, "content": kept or [{"type": "text", "text": "(no output)"}]}
    return value


MESSAGES = (
    DESCRIPTIONS,
    Kind("cache marks", "We mark where the cache may break (4.4).", without("cache_control")),
    Kind("no error", "A result that did not fail does not say so.", without_saying("is_error", False)),
    Kind("text as blocks", "One text stands for a block of it.", everywhere(_blocks)),
    Kind("messages in a row", "Messages of one role in a row are one, as the provider takes them (12.7).", _in_a_row),
    Kind(
        "caller of a call",
        "Calls go back with the `caller` that came with them; the client left it out.",
        without("caller", where=lambda value: value.get("type") == "tool_use"),
    ),
    Kind("null citations", "Blocks go back without the nulls that the client's types add.", without_saying("citations", None)),
    Kind(
        "provider's own tools",
        "Tools that the provider runs are none of an agent document; their blocks go back all the same.",
        listed("tools", lambda tool: tool if "input_schema" in tool else None),
    ),
    Kind(
        "deferred tools",
        "An agent document has no word for tools that are found by search.",
        listed("tools", lambda tool: less(tool, "defer_loading")),
    ),
    Kind(
        "what only the client knows",
        "Results that refer to tools and files in a container are kept by an import for nobody; a result without any text says so.",
        everywhere(_unreadable),
    ),
)
