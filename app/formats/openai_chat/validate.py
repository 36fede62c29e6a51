"""The rules of a Chat Completions request that can be judged from its body: every one that it breaks, with a pointer.

Sources: the wire-format notes 1.1 and 1.2, with the tolerances of 12 (unknown keys and undeclared names are let through).
Written apart from the compiler: it knows nothing of how a body came about.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from app.formats.openai_chat.rules import CALLS_PER_MESSAGE_MAX, CONTENT_CHARS_MAX, RULES
from app.formats.openai_chat.validate_options import check_options
from app.formats.openai_chat.validate_order import check_order
from app.formats.openai_chat.validate_parts import check_assistant_part, check_text_part, check_user_part
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_PLAIN_ROLES = ("user", "assistant", "system", "developer")
_ROLES = ("developer", "system", "user", "assistant", "tool", "function")

Found = list[Violation]
PartCheck = Callable[[Mapping[str, Any], str, Found, WireRules], None]


def validate(body: Mapping[str, Any], rules: WireRules = RULES) -> list[Violation]:
    """All violations of a parsed JSON body, in its order. Details name rules, limits and positions, never content.

    `rules`: those of the target, where what a server takes as ids and names is not what the dialect's defaults say.
    """
    found: Found = []
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        found.append(Violation("/messages", "messages-missing", "`messages` has to be a list of at least one message."))
    else:
        for index, message in enumerate(messages):
            if isinstance(message, dict):
                text = message.get("content")
                if len(message) == 2 and type(text) is str and len(text) <= CONTENT_CHARS_MAX and message.get("role") in _PLAIN_ROLES:
                    continue  # no rule is left that it could break, and hundreds of messages are like it
                _message(message, f"/messages/{index}", found, rules)
            else:
                found.append(Violation(f"/messages/{index}", "not-an-object", "A message is an object."))
        _pairing(messages, found)
        check_order(body, found, rules)
    check_options(body, found, rules)
    return found


def _message(message: Mapping[str, Any], at: str, found: Found, rules: WireRules) -> None:
    role = message.get("role")
    if role not in _ROLES:
        found.append(Violation(f"{at}/role", "role-unknown", f"A role is one of {', '.join(_ROLES)}."))
        return
    name = message.get("name")
    if name is not None and not (isinstance(name, str) and name):
        found.append(Violation(f"{at}/name", "name-invalid", "A name is a non-empty string."))
    if role == "assistant":
        _assistant(message, at, found, rules)
        return
    if role == "function":
        if not isinstance(message.get("content"), str | None):
            found.append(Violation(f"{at}/content", "content-invalid", "A function message has a string or null."))
        return
    if role == "tool":
        _call_id(message, "tool_call_id", at, found, rules)
    content = message.get("content")
    if content is None:
        found.append(Violation(f"{at}/content", "content-missing", f"A {role} message needs content; an empty string will do."))
    elif not _short_text(content):
        _content(content, f"{at}/content", found, rules, check_user_part if role == "user" else check_text_part)


def _short_text(content: Any) -> bool:
    """Whether content is what it nearly always is: a string within the limit, with nothing more to look at."""
    return isinstance(content, str) and len(content) <= CONTENT_CHARS_MAX


def _content(content: Any, at: str, found: Found, rules: WireRules, check: PartCheck) -> None:
    if isinstance(content, str):
        if len(content) > CONTENT_CHARS_MAX:
            found.append(Violation(at, "content-too-long", f"Content takes at most {CONTENT_CHARS_MAX} characters."))
    elif not isinstance(content, list):
        found.append(Violation(at, "content-invalid", "Content is a string or a list of parts."))
    elif not content:
        found.append(Violation(at, "content-empty", "A list of parts is not empty."))
    else:
        for index, part in enumerate(content):
            if isinstance(part, dict):
                check(part, f"{at}/{index}", found, rules)
            else:
                found.append(Violation(f"{at}/{index}", "not-an-object", "A part is an object."))


def _assistant(message: Mapping[str, Any], at: str, found: Found, rules: WireRules) -> None:
    content, calls = message.get("content"), message.get("tool_calls")
    if content is not None:
        if not _short_text(content):
            _content(content, f"{at}/content", found, rules, check_assistant_part)
    elif not any(message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")):
        found.append(Violation(f"{at}/content", "content-missing", "An assistant message needs content or tool calls."))
    if calls is None:
        return
    if not isinstance(calls, list) or not calls:
        found.append(Violation(f"{at}/tool_calls", "tool-calls-empty", "`tool_calls` is a list of at least one call, or left out."))
        return
    if len(calls) > CALLS_PER_MESSAGE_MAX:
        found.append(Violation(f"{at}/tool_calls", "tool-calls-too-many", f"One message takes at most {CALLS_PER_MESSAGE_MAX} calls."))
    seen: set[str] = set()
    for index, call in enumerate(calls):
        place = f"{at}/tool_calls/{index}"
        if not isinstance(call, dict):
            found.append(Violation(place, "not-an-object", "A call is an object."))
            continue
        _call(call, place, found, rules.name_pattern)
        _call_id(call, "id", place, found, rules)
        if isinstance(call.get("id"), str):
            if call["id"] in seen:
                found.append(Violation(f"{place}/id", "call-id-repeated", "Two calls of one message bear the same id."))
            seen.add(call["id"])


def _call(call: Mapping[str, Any], at: str, found: Found, name_pattern: str) -> None:
    kind = call.get("type", "function")
    inner = call.get(kind) if kind in ("function", "custom") else None
    if not isinstance(inner, dict):
        found.append(Violation(f"{at}/type", "call-type-unknown", "A call is of type function or custom and has the object of that name."))
        return
    name = inner.get("name")
    if not isinstance(name, str) or not re.fullmatch(name_pattern, name):
        found.append(Violation(f"{at}/{kind}/name", "name-invalid", f"A tool name matches {name_pattern}."))
    said = "arguments" if kind == "function" else "input"
    if not isinstance(inner.get(said), str):
        found.append(Violation(f"{at}/{kind}/{said}", "arguments-not-text", f"`{said}` is a string."))


def _call_id(holder: Mapping[str, Any], key: str, at: str, found: Found, rules: WireRules) -> None:
    value = holder.get(key)
    if not isinstance(value, str) or not value:
        found.append(Violation(f"{at}/{key}", "call-id-missing", "A tool call id is a non-empty string."))
    elif rules.call_id_pattern != RULES.call_id_pattern and not re.fullmatch(rules.call_id_pattern, value):
        # The default form is what ids are made to fit, and no rule of the provider's: only a server's own word is one.
        found.append(Violation(f"{at}/{key}", "call-id-invalid", f"A tool call id matches {rules.call_id_pattern}."))
    elif len(value) > rules.call_id_chars_max:
        found.append(Violation(f"{at}/{key}", "call-id-too-long", f"A tool call id takes at most {rules.call_id_chars_max} characters."))


def _pairing(messages: list[Any], found: Found) -> None:
    """Every call is answered directly after its message with nothing between, and every result has such a call."""
    open_calls: dict[str, str] = {}
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if not isinstance(call_id, str) or open_calls.pop(call_id, None) is None:
                found.append(Violation(f"/messages/{index}", "result-without-call", "A tool message answers a call of the assistant before it."))
            continue
        if open_calls:
            _unanswered(open_calls, found)
        calls = message.get("tool_calls")
        if calls is None or message.get("role") != "assistant":
            continue
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                open_calls[call["id"]] = f"/messages/{index}/tool_calls/{number}"
    _unanswered(open_calls, found)


def _unanswered(open_calls: dict[str, str], found: Found) -> None:
    found.extend(Violation(at, "call-without-result", "A call has to be answered by a tool message directly after it.") for at in open_calls.values())
    open_calls.clear()
