"""Differences on Chat Completions, and on servers that speak it in their own way."""

import json
import re
from typing import Any

from tests.judges.kinds.kind import DESCRIPTIONS, Kind, less, listed, top


def _chat_message(message: Any) -> Any:
    if message["role"] == "assistant" and message.get("tool_calls") and message.get("content") in ("", None):
        return {**message, "content": None}
    return message


def _known_function(tool: Any) -> Any:
    known = ("name", "description", "parameters", "strict")
    return {**tool, "function": {key: value for key, value in tool["function"].items() if key in known}}


STREAM = Kind("stream options", "We ask for the usage at the end of every stream.", top("stream_options"))
STRICT = Kind(
    "strict tools",
    "An agent document has no word for strictness.",
    listed("tools", lambda tool: {**tool, "function": less(tool["function"], "strict")}),
)
SILENT = Kind(
    "no content beside calls",
    "An answer of calls alone has null for its content, as it came; the client made it empty text.",
    listed("messages", _chat_message),
)
CHAT = (
    DESCRIPTIONS,
    STREAM,
    STRICT,
    SILENT,
    Kind("unknown keys", "Keys in a function that OpenAI ignores (wire-format notes 12.4).", listed("tools", _known_function)),
    Kind(
        "system role",
        "Models before gpt-5 take instructions as `system`, which the client called `developer`.",
        listed("messages", lambda message: {**message, "role": "system"} if message["role"] == "developer" else message),
    ),
)
TEXTS = Kind(
    "text as a string",
    "One text stands for a list of it.",
    listed("messages", lambda message: {**message, "content": _one_text(message["content"])} if "content" in message else message),
)
THOUGHT = Kind(
    "place of thoughts",
    "What the model thought goes back under the server's own key; the client wrote it into the text.",
    listed("messages", lambda message: _thoughtless(message)),
)


DEFAULTS = Kind(
    "defaults",
    "The client spells out what is meant without a word: no prefix, the index of a call, an empty list of content, the type of a tool.",
    lambda body: listed("tools", lambda tool: {**tool, "type": "function"})(listed("messages", lambda message: _said(message))(body)),
)
IDS = Kind(
    "ids of calls",
    "An id of more than Chat's 40 characters (1.2) is derived anew for call and result alike.",
    lambda body: _numbered(body),
)


def _said(message: Any) -> Any:
    calls = [less(call, "index") for call in message.get("tool_calls", ())]
    told = {**less(message, "prefix"), **({"tool_calls": calls} if calls else {})}
    return {**told, "content": told["content"] or None} if calls else told


def _numbered(body: dict[str, Any]) -> dict[str, Any]:
    found = [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]
    text = json.dumps(body)
    for number, id in enumerate(found):
        text = text.replace(json.dumps(id), json.dumps(f"call {number}"))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _one_text(content: Any) -> Any:
    return content[0]["text"] if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text" else content


def _thoughtless(message: Any) -> Any:
    content = message.get("content")
    said = re.sub(r"\A<think>.*</think>\s*", "", content, flags=re.DOTALL) if isinstance(content, str) else content
    return {**less(message, "reasoning"), **({"content": said or None} if "content" in message else {})}


GROQ = (DESCRIPTIONS, STREAM, SILENT, TEXTS, THOUGHT)
MISTRAL = (DESCRIPTIONS, STREAM, TEXTS, DEFAULTS)
OPENROUTER = (STREAM, STRICT, IDS)
