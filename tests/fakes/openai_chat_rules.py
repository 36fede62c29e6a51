"""What OpenAI's Chat Completions endpoint refuses, written from its documentation and its error texts.

On purpose nothing here is shared with the service: a rule that both had wrong in the same way would never show.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# fmt: off
_ARGUMENTS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "temperature",
    "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "reasoning_effort", "response_format", "n",
    "user", "metadata", "store", "verbosity", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs",
    "top_logprobs",
}
# fmt: on
_MESSAGE = {
    "system": ({"role", "content"}, {"name"}),
    "developer": ({"role", "content"}, {"name"}),
    "user": ({"role", "content"}, {"name"}),
    "assistant": ({"role"}, {"content", "tool_calls", "refusal", "name"}),
    "tool": ({"role", "content", "tool_call_id"}, set()),
}
_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "file", "input_audio"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
_STRING_CHARS_MAX = 10_485_760


@dataclass(frozen=True, slots=True)
class Breach:
    """One reason for a 400: the message and the parameter, as in OpenAI's error object."""

    message: str
    param: str | None
    code: str | None = None


def breaches(body: Any) -> list[Breach]:
    """Everything that is wrong with a request body; empty for one that is served."""
    if not isinstance(body, dict):
        return [Breach("We could not parse the JSON body of your request.", None)]
    return [*_arguments(body), *_tools(body), *_conversation(body.get("messages"))]


def _arguments(body: dict[str, Any]) -> Iterator[Breach]:
    for key in body.keys() - _ARGUMENTS:
        yield Breach(f"Unrecognized request argument supplied: {key}", None, "unknown_parameter")
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield Breach("you must provide a model parameter", "model")
    if "stream_options" in body and body.get("stream") is not True:
        yield Breach("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    for key, most in (("temperature", 2), ("top_p", 1)):
        if key in body and not (type(body[key]) in (int, float) and 0 <= body[key] <= most):
            yield Breach(f"Invalid '{key}'.", key)
    for key in ("max_tokens", "max_completion_tokens"):
        if key in body and not (type(body[key]) is int and body[key] >= 1):
            yield Breach(f"Invalid '{key}': integer below minimum value.", key)
    if {"max_tokens", "max_completion_tokens"} <= body.keys():
        yield Breach("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", "max_tokens")


def _tools(body: dict[str, Any]) -> Iterator[Breach]:
    tools, choice = body.get("tools"), body.get("tool_choice")
    if "tools" in body and not (isinstance(tools, list) and 1 <= len(tools) <= 128):
        yield Breach("Invalid 'tools': an array of 1 to 128 tools is expected.", "tools", "invalid_type")
    names = []
    for index, tool in enumerate(tools if isinstance(tools, list) else []):
        at = f"tools[{index}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.keys() != {"type", "function"} or tool["type"] != "function":
            yield Breach(f"Invalid '{at}'.", at)
            continue
        names.append(function.get("name"))
        if not isinstance(function.get("name"), str) or not _NAME.fullmatch(function["name"]):
            yield Breach(f"Invalid '{at}.function.name': string does not match pattern.", f"{at}.function.name")
        if not isinstance(function.get("parameters", {}), dict) or len(function.get("description") or "") > 1024:
            yield Breach(f"Invalid '{at}.function'.", f"{at}.function")
    if len(names) != len(set(names)):
        yield Breach("Tool names must be unique.", "tools")
    if choice is None:
        return
    if not names:
        yield Breach("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    if isinstance(choice, dict):
        yield from _choice(choice, names)
    elif choice not in ("auto", "none", "required"):
        yield Breach("Invalid value for 'tool_choice'.", "tool_choice", "invalid_value")


def _choice(choice: dict[str, Any], names: list[Any]) -> Iterator[Breach]:
    allowed = choice.get("allowed_tools")
    if choice.get("type") == "allowed_tools" and isinstance(allowed, dict) and allowed.get("mode") in ("auto", "required"):
        chosen = allowed.get("tools")
    else:
        chosen = [choice]
    for one in chosen if isinstance(chosen, list) and chosen else [None]:
        function = one.get("function") if isinstance(one, dict) else None
        if not isinstance(function, dict) or function.get("name") not in names:
            yield Breach("Tool choice names a function that is not among 'tools'.", "tool_choice", "invalid_value")


def _conversation(messages: Any) -> Iterator[Breach]:
    """Walks the messages once. `open_calls` are those of the last answer that no tool message has answered yet."""
    if not isinstance(messages, list) or not messages:
        yield Breach("Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages", "empty_array")
        return
    open_calls: set[str] = set()
    seen: set[str] = set()
    after_calls = False
    for index, message in enumerate(messages):
        at = f"messages[{index}]"
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in _MESSAGE:
            yield Breach(f"Invalid value for '{at}.role'.", f"{at}.role", "invalid_value")
            continue
        yield from _keys(message, role, at)
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                what = "must be a response to a preceeding message with 'tool_calls'" if not after_calls else "answers no open call"
                yield Breach(f"Invalid parameter: messages with role 'tool' {what}.", f"{at}.role")
            open_calls.discard(message.get("tool_call_id"))
            continue
        if open_calls:
            yield _unanswered(open_calls, at)
        open_calls, after_calls = set(), False
        if role == "assistant":
            for call_id, breach in _calls(message, at):
                if breach is not None:
                    yield breach
                if call_id in seen:
                    yield Breach(f"Duplicate tool call id '{call_id}'.", f"{at}.tool_calls")
                seen.add(call_id)
                open_calls.add(call_id)
            after_calls = bool(open_calls)
    if open_calls:
        yield _unanswered(open_calls, f"messages[{len(messages)}]")


def _unanswered(calls: set[str], at: str) -> Breach:
    ids = ", ".join(sorted(calls))
    message = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    return Breach(f"{message} The following tool_call_ids did not have response messages: {ids}", f"{at}.role")


def _keys(message: dict[str, Any], role: str, at: str) -> Iterator[Breach]:
    needed, allowed = _MESSAGE[role]
    for key in needed - message.keys():
        yield Breach(f"Missing required parameter: '{at}.{key}'.", f"{at}.{key}", "missing_required_parameter")
    for key in message.keys() - needed - allowed:
        yield Breach(f"Unknown parameter: '{at}.{key}'.", f"{at}.{key}", "unknown_parameter")
    content = message.get("content")
    if role == "assistant" and content is None:
        if not message.get("tool_calls"):
            yield Breach(f"Invalid value for '{at}.content': expected a string, got null.", f"{at}.content", "invalid_type")
    elif isinstance(content, str):
        if len(content) > _STRING_CHARS_MAX:
            yield Breach(f"Invalid '{at}.content': string too long.", f"{at}.content", "string_above_max_length")
    elif isinstance(content, list) and content:
        for index, part in enumerate(content):
            kind = part.get("type") if isinstance(part, dict) else None
            if (
                kind not in _PARTS[role]
                or part.keys() - {"type", kind}
                or not isinstance(part.get(kind), str if kind in ("text", "refusal") else dict)
            ):
                yield Breach(f"Invalid value for '{at}.content[{index}]'.", f"{at}.content[{index}]", "invalid_value")
    else:
        yield Breach(f"Invalid type for '{at}.content'.", f"{at}.content", "invalid_type")
    if not isinstance(message.get("name", "x"), str):
        yield Breach(f"Invalid type for '{at}.name'.", f"{at}.name", "invalid_type")


def _calls(message: dict[str, Any], at: str) -> Iterator[tuple[str, Breach | None]]:
    """Each call's id, and what is wrong with the call."""
    if "tool_calls" not in message:
        return
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not 1 <= len(calls) <= 128:
        yield "", Breach(f"Invalid '{at}.tool_calls': an array of 1 to 128 calls is expected.", f"{at}.tool_calls")
        return
    for index, call in enumerate(calls):
        where = f"{at}.tool_calls[{index}]"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or call.keys() != {"id", "type", "function"} or function.keys() != {"name", "arguments"}:
            yield "", Breach(f"Invalid '{where}'.", where)
            continue
        breach = None
        if call["type"] != "function" or not isinstance(function["arguments"], str):
            breach = Breach(f"Invalid '{where}'.", where)
        if not isinstance(function["name"], str) or not _NAME.fullmatch(function["name"]):
            breach = Breach(f"Invalid '{where}.function.name': string does not match pattern.", f"{where}.function.name")
        if not isinstance(call["id"], str) or not 1 <= len(call["id"]) <= 40:
            breach = Breach(f"Invalid '{where}.id': string too long or empty.", f"{where}.id", "string_above_max_length")
        yield str(call["id"]), breach
