"""Order, pairing, texts and places of the blocks of a Converse body (wire-format notes 6.2), for messages of the right shape."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.fakes.claude_models import Claude
from tests.fakes.shapes import Breach

Message = dict[str, Any]
_HOMES = {
    "user": {"text", "image", "document", "video", "audio", "toolResult", "guardContent", "cachePoint", "searchResult"},
    "assistant": {"text", "toolUse", "reasoningContent", "citationsContent", "cachePoint"},
    "system": {"text", "toolAddition", "toolRemoval", "cachePoint"},
}
_WITHOUT_MIXING = ("meta", "mistral")


def family(model: str) -> str:
    """Who made the model, as far as the rules care: `anthropic`, `meta`, `mistral`, `amazon`, `qwen`, or `other`."""
    for name in ("anthropic", "meta", "mistral", "amazon", "qwen"):
        if f"{name}." in model:
            return name
    return "anthropic" if "claude" in model else "other"


def kind(block: dict[str, Any]) -> str:
    return next(iter(block))


def conversation_breaches(messages: list[Message], model: Claude, maker: str) -> Iterator[Breach]:
    """Everything that is wrong with the messages, but for their shape, their media and their thinking."""
    if not messages:
        yield Breach("messages", "The messages field is required. Provide at least one message.")
        return
    yield from _order(messages, model, maker)
    yield from _pairing(messages, maker)
    for number, message in enumerate(messages):
        at = f"messages.{number}"
        if not message["content"]:
            yield Breach(
                "", f"The content field in the Message object at {at} is empty. Add a ContentBlock object to the content field and try again."
            )
        for index, block in enumerate(message["content"]):
            yield from _block(block, message["role"], f"{at}.content.{index}", maker)
        yield from cache_breaches(message["content"], f"{at}.content")
        yield from _mixing(message, at, maker)
    yield from _ending(messages[-1], model)


def _order(messages: list[Message], model: Claude, maker: str) -> Iterator[Breach]:
    said = [(number, message["role"]) for number, message in enumerate(messages) if message["role"] != "system"]
    if said and said[0][1] != "user" and maker not in ("anthropic", "qwen"):
        yield Breach("", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
    for (_, before), (number, role) in pairwise(said):
        if role == before:
            yield Breach(
                f"messages.{number}", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates."
            )
    for number, message in enumerate(messages):
        if message["role"] != "system":
            continue
        following = messages[number + 1]["role"] if number + 1 < len(messages) else None
        if maker != "anthropic" or not model.system_role:
            yield Breach(f"messages.{number}", "role 'system' is not supported on this model")
        elif number == 0 or following not in (None, "assistant"):
            yield Breach(f"messages.{number}", "role 'system' must precede an 'assistant' message or end the array")


def _called(message: Message) -> list[str]:
    """The ids of calls that the client has to answer."""
    calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    return [call["toolUseId"] for call in calls if call.get("type") != "server_tool_use"]


def _pairing(messages: list[Message], maker: str) -> Iterator[Breach]:
    seen: set[str] = set()
    for number, message in enumerate(messages):
        calls = _called(message)
        if len(calls) != len(set(calls)) or seen & set(calls):
            yield Breach(f"messages.{number}.content", "The toolUse ids must be unique.")
        seen |= set(calls)
        answered = _results(messages[number + 1]) if number + 1 < len(messages) else []
        missing = [each for each in calls if each not in answered]
        if missing:
            yield Breach("", f"Expected toolResult blocks at messages.{number + 1}.content for the following Ids: {', '.join(missing)}")
        results = _results(message)
        if len(results) > len(_called(messages[number - 1]) if number else []):
            yield Breach("", f"The number of toolResult blocks at messages.{number}.content exceeds the number of toolUse blocks of previous turn.")
        if maker == "anthropic" and len(results) > _leading(message):
            yield Breach(f"messages.{number - 1}", "`tool_use` ids were found without `tool_result` blocks immediately after")


def _leading(message: Message) -> int:
    """How many results stand before anything else."""
    kinds = [kind(block) for block in message["content"] if "cachePoint" not in block]
    return next((place for place, what in enumerate(kinds) if what != "toolResult"), len(kinds))


def _results(message: Message) -> list[str]:
    return [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block and message["role"] == "user"]


def _block(block: dict[str, Any], role: str, at: str, maker: str) -> Iterator[Breach]:
    what = kind(block)
    of_server = role == "assistant" and what == "toolResult" and block["toolResult"].get("type") is not None
    if what not in _HOMES[role] and not of_server:
        yield Breach(at, f"The {what} block is not supported in messages of the role {role}.")
    if what == "text" and not block["text"].strip():
        yield Breach("", f"The text field in the ContentBlock object at {at} is blank. Add text to the text field, and try again.")
    if what == "toolUse" and not isinstance(block["toolUse"]["input"], dict):
        yield Breach("", f"The format of the value at {at}.toolUse.input is invalid. Provide a json object for the field and try again.")
    if what == "toolResult":
        result = block["toolResult"]
        if result.get("status") == "error" and not result["content"]:
            yield Breach("", f"The content field at {at}.toolResult cannot be empty when status value is error.")
        for index, part in enumerate(result["content"]):
            if "json" in part and not isinstance(part["json"], dict):
                where = f"{at}.toolResult.content.{index}.json"
                yield Breach("", f"The format of the value at {where} is invalid. Provide a json object for the field and try again.")
            # Claude takes a blank text there, as tried against the service; of the others nobody has said so.
            if maker != "anthropic" and "text" in part and not part["text"].strip():
                yield Breach("", f"The text field in the ContentBlock object at {at}.toolResult.content.{index} is blank.")


def _mixing(message: Message, at: str, maker: str) -> Iterator[Breach]:
    kinds = {kind(block) for block in message["content"]} - {"cachePoint"}
    if message["role"] != "user" or "toolResult" not in kinds:
        return
    beside = kinds - {"toolResult"}
    if (maker in _WITHOUT_MIXING and beside) or (maker == "anthropic" and beside & {"document", "video"}):
        yield Breach(at, "Conversation blocks and tool result blocks cannot be provided in the same turn.")


def cache_breaches(blocks: list[dict[str, Any]], at: str) -> Iterator[Breach]:
    """Where a mark of the cache may stand in a row of blocks."""
    before = None
    for index, block in enumerate(blocks):
        if "cachePoint" in block:
            if before is None:
                yield Breach(f"{at}.{index}", "A cachePoint block cannot be the first block.")
            elif before in ("cachePoint", "document"):
                yield Breach(f"{at}.{index}", f"A cachePoint block cannot follow a {before} block.")
        before = kind(block)


def _ending(last: Message, model: Claude) -> Iterator[Breach]:
    if last["role"] != "assistant":
        return
    if not model.prefill:
        yield Breach("", "This model does not support assistant message prefill. The conversation must end with a user message.")
    closing = last["content"][-1] if last["content"] else {}
    if "text" in closing and closing["text"] != closing["text"].rstrip():
        yield Breach("messages", "final assistant content cannot end with trailing whitespace")
