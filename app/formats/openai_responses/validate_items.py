"""Single items of a Responses request: roles, content parts, calls, results and reasoning (wire-format notes 3.1)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from app.formats.openai_responses import rules as words
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_ROLES = ("user", "assistant", "system", "developer")
_DETAILS = ("auto", "low", "high", "original")
_PHASES = ("commentary", "final_answer")

Found = list[Violation]


def check_item(item: Mapping[str, Any], at: str, found: Found, rules: WireRules) -> None:
    """Appends what is wrong with one item by itself."""
    kind = item.get("type")
    if kind == "function_call_output" or kind == "custom_tool_call_output":
        _call_id(item, at, found, rules)
        _content(item.get("output"), f"{at}/output", found, _input_part)
    elif kind == "function_call":
        _call(item, "arguments", at, found, rules)
    elif kind == "custom_tool_call":
        _call(item, "input", at, found, rules)
    elif kind == "message" or (kind is None and "role" in item):
        _message(item, at, found)
    elif kind == "reasoning":
        _reasoning(item, at, found, rules)
    elif kind is None and isinstance(item.get("id"), str):
        return  # a reference, of which the type may be left out
    elif not isinstance(kind, str) or not kind:
        found.append(Violation(f"{at}/type", "item-type-missing", "An item has a type, or a role."))
    elif kind in words.RESULT_OF or kind in words.RESULT_OF.values():
        _call_id(item, at, found, rules)


def _message(item: Mapping[str, Any], at: str, found: Found) -> None:
    role = item.get("role")
    if role not in _ROLES:
        found.append(Violation(f"{at}/role", "role-unknown", f"A role is one of {', '.join(_ROLES)}."))
        return
    _content(item.get("content"), f"{at}/content", found, _said_part if role == "assistant" else _input_part)
    if item.get("phase") is not None and (role != "assistant" or item["phase"] not in _PHASES):
        found.append(Violation(f"{at}/phase", "value-unknown", f"A phase is one of {', '.join(_PHASES)}, and the assistant's."))


def _content(content: Any, at: str, found: Found, check: Callable[[Mapping[str, Any], str, Found], None]) -> None:
    if isinstance(content, str):
        if len(content) > words.TEXT_CHARS_MAX:
            found.append(Violation(at, "content-too-long", f"A text takes at most {words.TEXT_CHARS_MAX} characters."))
    elif content is None:
        found.append(Violation(at, "content-missing", "Content is needed; an empty string will do."))
    elif not isinstance(content, list):
        found.append(Violation(at, "content-invalid", "Content is a string or a list of parts."))
    elif not content:
        found.append(Violation(at, "content-empty", "A list of parts is not empty."))
    else:
        for index, part in enumerate(content):
            if isinstance(part, dict):
                check(part, f"{at}/{index}", found)
            else:
                found.append(Violation(f"{at}/{index}", "not-an-object", "A part is an object."))


def _said_part(part: Mapping[str, Any], at: str, found: Found) -> None:
    kind = part.get("type")
    if kind == "output_text":
        _text(part, "text", words.TEXT_CHARS_MAX, at, found)
    elif kind == "refusal":
        _text(part, "refusal", words.TEXT_CHARS_MAX, at, found)
    else:
        found.append(Violation(f"{at}/type", "part-type-not-taken", "The assistant's messages take output_text and refusal parts."))


def _input_part(part: Mapping[str, Any], at: str, found: Found) -> None:
    kind = part.get("type")
    if kind == "input_text":
        _text(part, "text", words.TEXT_CHARS_MAX, at, found)
    elif kind == "input_image":
        url = part.get("image_url")
        if url is None and not isinstance(part.get("file_id"), str):
            found.append(Violation(at, "image-missing", "An image has `image_url` or `file_id`."))
        elif url is not None and not (isinstance(url, str) and url.startswith(("https://", "http://", "data:"))):
            found.append(Violation(f"{at}/image_url", "url-invalid", "An image has an http or data URL."))
        elif url is not None and len(url) > words.IMAGE_URL_CHARS_MAX:
            found.append(Violation(f"{at}/image_url", "content-too-long", f"An image takes at most {words.IMAGE_URL_CHARS_MAX} characters."))
        if part.get("detail", "auto") not in _DETAILS:
            found.append(Violation(f"{at}/detail", "value-unknown", f"`detail` is one of {', '.join(_DETAILS)}."))
    elif kind == "input_file":
        if not any(isinstance(part.get(key), str) for key in ("file_data", "file_id", "file_url")):
            found.append(Violation(at, "file-missing", "A file has `file_data`, `file_id` or `file_url`."))
        elif isinstance(part.get("file_data"), str):
            _text(part, "file_data", words.FILE_DATA_CHARS_MAX, at, found)
    else:
        found.append(Violation(f"{at}/type", "part-type-not-taken", "Input and results take input_text, input_image and input_file parts."))


def _text(part: Mapping[str, Any], key: str, chars_max: int, at: str, found: Found) -> None:
    text = part.get(key)
    if not isinstance(text, str):
        found.append(Violation(f"{at}/{key}", "text-missing", f"`{key}` is a string."))
    elif len(text) > chars_max:
        found.append(Violation(f"{at}/{key}", "content-too-long", f"`{key}` takes at most {chars_max} characters."))


def _call(item: Mapping[str, Any], said: str, at: str, found: Found, rules: WireRules) -> None:
    _call_id(item, at, found, rules)
    # The default form is what names are made to fit, and narrower than the provider's own: only a server's own word is a rule.
    pattern = words.NAME_PATTERN if rules.name_pattern == words.RULES.name_pattern else rules.name_pattern
    name = item.get("name")
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        found.append(Violation(f"{at}/name", "name-invalid", f"A tool name matches {pattern}."))
    if not isinstance(item.get(said), str):
        found.append(Violation(f"{at}/{said}", "arguments-not-text", f"`{said}` is a string."))


def _call_id(item: Mapping[str, Any], at: str, found: Found, rules: WireRules) -> None:
    value = item.get("call_id")
    if not isinstance(value, str) or not value:
        found.append(Violation(f"{at}/call_id", "call-id-missing", "A `call_id` is a non-empty string."))
    elif rules.call_id_pattern != words.RULES.call_id_pattern and not re.fullmatch(rules.call_id_pattern, value):
        found.append(Violation(f"{at}/call_id", "call-id-invalid", f"A `call_id` matches {rules.call_id_pattern}."))
    elif len(value) > rules.call_id_chars_max:
        found.append(Violation(f"{at}/call_id", "call-id-too-long", f"A `call_id` takes at most {rules.call_id_chars_max} characters."))


def _reasoning(item: Mapping[str, Any], at: str, found: Found, rules: WireRules) -> None:
    if not isinstance(item.get("summary"), list):
        found.append(Violation(f"{at}/summary", "summary-missing", "Reasoning has a list of summaries; an empty one will do."))
    encrypted = item.get("encrypted_content")
    if encrypted is not None and not (isinstance(encrypted, str) and encrypted):
        found.append(Violation(f"{at}/encrypted_content", "encrypted-invalid", "Encrypted content is a non-empty string."))
    elif encrypted is not None and not rules.thinking:
        found.append(Violation(f"{at}/encrypted_content", "encrypted-not-taken", "This model takes no encrypted content."))
