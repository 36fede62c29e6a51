"""A Converse body as the book of tokens sees it: system, tools and a flat row of blocks, without marks of the cache (wire-format notes 4.2)."""

from collections.abc import Iterator
from typing import Any

from tests.fakes.bedrock_conversation import kind
from tests.fakes.thinking_book import Conversation, Item, digest


def conversation(body: dict[str, Any], model: str, account: str) -> Conversation:
    tools = (body.get("toolConfig") or {}).get("tools", ())
    items = [item for number, message in enumerate(body["messages"]) for item in _message(message, f"messages.{number}")]
    return Conversation(
        model=model,
        account=account,
        system=digest([block for block in body.get("system", ()) if "cachePoint" not in block]),
        tools=tuple(digest(tool) for tool in tools if "cachePoint" not in tool),
        items=tuple(items),
    )


def own_items(content: list[dict[str, Any]]) -> tuple[Item, ...]:
    """The items of an answer."""
    return tuple(_message({"role": "assistant", "content": content}, "answer"))


def _message(message: dict[str, Any], at: str) -> Iterator[Item]:
    for index, block in enumerate(message["content"]):
        blank = "text" in block and not block["text"].strip()
        unsigned = "reasoningText" in block.get("reasoningContent", {}) and not block["reasoningContent"]["reasoningText"].get("signature")
        if not blank and not unsigned and "cachePoint" not in block:
            yield _item(block, message["role"], f"{at}.content.{index}")


def _item(block: dict[str, Any], role: str, at: str) -> Item:
    made = digest(_plain(block))
    match block:
        case {"reasoningContent": {"reasoningText": told}}:
            return Item(role, at, made, "thinking", token=told["signature"], text=told["text"])
        case {"reasoningContent": {"redactedContent": data}}:
            return Item(role, at, made, "thinking", token=data)
        case {"toolUse": call}:
            return Item(role, at, made, "call", tool_call_id=call["toolUseId"])
        case {"toolResult": _}:
            return Item(role, at, made, "result")
        case _:
            return Item(role, at, made)


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    """A result that says it succeeded is the same as one that says nothing."""
    what = kind(block)
    if what == "toolResult" and block[what].get("status") == "success":
        return {what: {key: value for key, value in block[what].items() if key != "status"}}
    return block
