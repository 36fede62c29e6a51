"""Servers that speak Chat in their own way: what they add to it, and what they refuse, from the notes on each (wire-format notes 2).

What a server adds is taken out of a body before the judges of Chat read it: it is nothing that OpenAI's types or endpoint know. What it
refuses is asked here, by rules that share nothing with the compiler.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

Body = dict[str, Any]


class Addition(NamedTuple):
    """What a server takes and Chat does not know."""

    what: str
    reason: str
    without: Callable[[Body], Body]


class Server(NamedTuple):
    additions: tuple[Addition, ...] = ()
    refusals: tuple[Callable[[Body], Iterator[str]], ...] = ()


def _messages(change: Callable[[Body], Body]) -> Callable[[Body], Body]:
    return lambda body: {**body, "messages": [change(message) for message in body["messages"]]}


def _less(value: Body, *keys: str) -> Body:
    return {key: item for key, item in value.items() if key not in keys}


def _reasoning(key: str) -> Addition:
    return Addition(
        f"`{key}` of an answer",
        "The server tells its reasoning under this key and takes it back there (0.3).",
        _messages(lambda message: _less(message, key) if message["role"] == "assistant" else message),
    )


def _without_chunks(message: Body) -> Body:
    content = message.get("content")
    if message["role"] != "assistant" or not isinstance(content, list):
        return message
    kept = [part for part in content if part["type"] != "thinking"]
    return {**message, "content": kept or (None if message.get("tool_calls") else "-")}


def _documents(message: Body) -> Body:
    content = message.get("content")
    if message["role"] != "user" or not isinstance(content, list):
        return message
    return {**message, "content": [{"type": "text", "text": "a document"} if part["type"] == "document_url" else part for part in content]}


THINKING = Addition("`thinking`", "Thinking is a switch of its own (2.5).", lambda body: _less(body, "thinking"))
REASONING = Addition("`reasoning`", "How much is reasoned stands in an object (2.3).", lambda body: _less(body, "reasoning"))
ANY = Addition(
    "the choice `any`",
    "The server's word for `required` (0.2).",
    lambda body: {**body, "tool_choice": "required"} if body.get("tool_choice") == "any" else body,
)
CHUNKS = Addition("chunks of thinking", "Reasoning is a chunk of an answer's content (0.3, 2.4).", _messages(_without_chunks))
DOCUMENTS = Addition("`document_url`", "A file is an address, of the web or of data (2.4).", _messages(_documents))


def ids_of_nine(body: Body) -> Iterator[str]:
    """ "Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9." (2.4)"""
    for message in body["messages"]:
        for id in [call["id"] for call in message.get("tool_calls") or ()] + ([message["tool_call_id"]] if message["role"] == "tool" else []):
            if not re.fullmatch("[a-zA-Z0-9]{9}", id):
                yield "an id that has not nine letters and digits"


def order_of_mistral(body: Body) -> Iterator[str]:
    """ "Unexpected role 'user' after role 'tool'", "Expected last role User or Tool …", and an answer with neither text nor calls (2.4)."""
    messages = body["messages"]
    for before, now in pairwise(messages):
        if (before["role"], now["role"]) == ("tool", "user"):
            yield "a user directly behind a result"
        if now["role"] == "tool" and before["role"] not in ("tool", "assistant"):
            yield "a result behind no answer"
    if messages[-1]["role"] not in ("user", "tool"):
        yield "an answer at the end"
    for message in messages:
        if message["role"] == "assistant" and not message.get("tool_calls") and not message.get("content"):
            yield "an answer that says and asks nothing"


def reasoning_always(body: Body) -> Iterator[str]:
    """ "The `reasoning_content` in the thinking mode must be passed back to the API.", and the other way round where it is off (2.5)."""
    off = (body.get("thinking") or {}).get("type") == "disabled"
    for message in body["messages"]:
        if message["role"] == "assistant" and not off and not isinstance(message.get("reasoning_content"), str):
            yield "an answer without `reasoning_content`"
        if message["role"] == "assistant" and not isinstance(message.get("content"), str | None):
            yield "an answer whose content is a list"
    if not off and body.get("tool_choice") not in (None, "auto", "none"):
        yield "a forced call while it thinks"


def caps(body: Body) -> Iterator[str]:
    """`max_tokens` is the only cap that these servers know (2.2 to 2.5)."""
    if "max_completion_tokens" in body:
        yield "a cap that is not known"


def no_choice(body: Body) -> Iterator[str]:
    """`tool_choice` is not supported, and pictures are taken as bytes alone (2.2)."""
    if "tool_choice" in body:
        yield "a choice of tools"
    for message in body["messages"]:
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part["type"] == "image_url" and not part["image_url"]["url"].startswith("data:"):
                yield "a picture by its address"


def no_subsets(body: Body) -> Iterator[str]:
    """ "Only named tools, "none", "auto" or "required" are supported." (2.1); nobody but OpenAI knows subsets (0.2)."""
    if isinstance(body.get("tool_choice"), dict) and body["tool_choice"].get("type") != "function":
        yield "a subset of tools"


def by_turns(body: Body) -> Iterator[str]:
    """Many chat templates want one system message, at the front, and inputs and answers by turns (1.2, 2.1)."""
    roles = [message["role"] for message in body["messages"]]
    if "system" in roles[1:] or "developer" in roles:
        yield "a system message that is not at the front"
    if any(before == now == "user" for before, now in pairwise(roles)):
        yield "two inputs in a row"


def no_named_choice(body: Body) -> Iterator[str]:
    """A choice that names a tool passes for "auto" without a word (llama.cpp's issue 26535)."""
    if isinstance(body.get("tool_choice"), dict):
        yield "a choice that names a tool"


SERVERS: Mapping[str, Server] = MappingProxyType(
    {
        "azure": Server(),
        "deepseek": Server((_reasoning("reasoning_content"), THINKING), (reasoning_always, caps, no_subsets)),
        "mistral": Server((ANY, CHUNKS, DOCUMENTS), (ids_of_nine, order_of_mistral, caps, no_subsets)),
        "groq": Server((_reasoning("reasoning"),), (no_subsets,)),
        "openrouter": Server((_reasoning("reasoning"), _reasoning("reasoning_details"), REASONING), (caps, no_subsets)),
        "vllm": Server((_reasoning("reasoning"),), (no_subsets, by_turns)),
        "ollama": Server((_reasoning("reasoning"),), (no_choice, caps)),
        "llama-cpp": Server((_reasoning("reasoning_content"),), (no_subsets, no_named_choice, by_turns)),
    }
)
"""Presets of Chat. Those of the vendors' own endpoints are judged as their dialects are."""


def refusals(server: Server, body: Body) -> list[str]:
    """What the server refuses of a body."""
    return [each for refuse in server.refusals for each in refuse(body)]


def plain(server: Server, body: Body) -> Body:
    """The body without what the server adds to Chat."""
    for addition in server.additions:
        body = addition.without(body)
    return body
