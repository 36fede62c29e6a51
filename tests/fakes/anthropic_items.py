"""A Messages body as the book of tokens sees it: system, tools and a flat row of blocks, without marks of the cache (wire-format notes 4.2)."""

from collections.abc import Iterator
from typing import Any

from tests.fakes.thinking_book import Conversation, Item, digest


def conversation(body: dict[str, Any], account: str) -> Conversation:
    tools = [({key: value for key, value in tool.items() if key != "cache_control"}, tool) for tool in body.get("tools", ())]
    items = [item for number, message in enumerate(body["messages"]) for item in _message(message, f"messages.{number}")]
    return Conversation(
        model=body["model"],
        account=account,
        system=digest([_plain(block) for block in _blocks(body.get("system") or [])]),
        tools=tuple(digest(plain) for plain, tool in tools if not tool.get("defer_loading")),
        items=tuple(items),
        deferred={tool["name"]: digest(plain) for plain, tool in tools if tool.get("defer_loading")},
    )


def own_items(content: list[dict[str, Any]]) -> tuple[Item, ...]:
    """The items of an answer."""
    return tuple(_message({"role": "assistant", "content": content}, "answer"))


def _message(message: dict[str, Any], at: str) -> Iterator[Item]:
    for index, block in enumerate(_blocks(message["content"])):
        if block["type"] != "text" or block["text"].strip():
            yield _item(block, message["role"], f"{at}.content.{index}")


def _item(block: dict[str, Any], role: str, at: str) -> Item:
    made = digest(_plain(block))
    match block["type"]:
        case "thinking":
            return Item(role, at, made, "thinking", token=block.get("signature", ""), text=block["thinking"])
        case "redacted_thinking":
            return Item(role, at, made, "thinking", token=block["data"])
        case "tool_use":
            return Item(role, at, made, "call", tool_call_id=block["id"])
        case "tool_result":
            inner = _blocks(block.get("content") or [])
            return Item(role, at, made, "result", tools_named=tuple(part["tool_name"] for part in inner if part["type"] == "tool_reference"))
        case _:
            return Item(role, at, made)


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    """A block without what the model never sees: marks of the cache, nulls, values that are the same as leaving the key out."""
    plain = {key: value for key, value in block.items() if key != "cache_control" and value is not None}
    if plain.get("is_error") is False:
        del plain["is_error"]
    if plain.get("caller") == {"type": "direct"}:
        del plain["caller"]
    if plain["type"] == "tool_result":
        plain["content"] = [_plain(part) for part in _blocks(plain.get("content") or [])]
    return plain
