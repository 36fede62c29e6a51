"""What the Responses endpoint refuses of a single input item: its keys, its ids and its content (wire-format notes 3.1, 3.2 and 12.2).

An item's own id is optional on the wire, though the SDK's types ask for it; a given one must look like what the endpoint makes.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.openai_chat_rules import Breach
from tests.fakes.openai_models import never_reasons, takes_updates
from tests.fakes.openai_responses_tools import NAME, each_tool

TEXT_CHARS_MAX = 10_485_760
IMAGE_CHARS_MAX = 20_971_520
FILE_CHARS_MAX = 73_400_320
CALL_ID_CHARS_MAX = 64

_ID = {"id", "status"}
# fmt: off
ITEM_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "message": ({"role", "content"}, {"type", "phase", *_ID}),
    "function_call": ({"type", "call_id", "name", "arguments"}, {"namespace", "caller", "async", *_ID}),
    "function_call_output": ({"type", "call_id", "output"}, {"name", "namespace", "caller", *_ID}),
    "custom_tool_call": ({"type", "call_id", "name", "input"}, {"namespace", "caller", "async", *_ID}),
    "custom_tool_call_output": ({"type", "call_id", "output"}, {"caller", *_ID}),
    "reasoning": ({"type", "summary"}, {"content", "encrypted_content", *_ID}),
    "compaction": ({"type", "encrypted_content"}, {"id"}),
    "compaction_trigger": ({"type"}, {"id"}),
    "configuration_update": ({"type"}, {"id", "reasoning", "text"}),
    "additional_tools": ({"type", "role", "tools"}, {"id"}),
    "item_reference": ({"id"}, {"type"}),
    "tool_search_call": ({"type", "arguments"}, {"call_id", "execution", *_ID}),
    "tool_search_output": ({"type", "tools"}, {"call_id", "execution", *_ID}),
    "web_search_call": ({"type", "action", "status"}, {"id"}),
    "file_search_call": ({"type", "queries", "status"}, {"id", "results"}),
    "code_interpreter_call": ({"type", "code", "container_id", "outputs", "status"}, {"id"}),
    "image_generation_call": (
        {"type", "result", "status"},
        {"id", "action", "background", "error", "output_format", "quality", "revised_prompt", "size", "svg_usage"},
    ),
    "computer_call": ({"type", "call_id", "pending_safety_checks", "status"}, {"id", "action", "actions"}),
    "computer_call_output": ({"type", "call_id", "output"}, {"acknowledged_safety_checks", *_ID}),
    "local_shell_call": ({"type", "call_id", "action", "status"}, {"id"}),
    "local_shell_call_output": ({"type", "id", "output"}, {"status"}),
    "shell_call": ({"type", "call_id", "action"}, {"caller", "environment", *_ID}),
    "shell_call_output": ({"type", "call_id", "output"}, {"caller", "max_output_length", *_ID}),
    "apply_patch_call": ({"type", "call_id", "operation", "status"}, {"caller", "id"}),
    "apply_patch_call_output": ({"type", "call_id", "status"}, {"caller", "id", "output"}),
    "mcp_list_tools": ({"type", "server_label", "tools"}, {"id", "error"}),
    "mcp_call": ({"type", "arguments", "name", "server_label"}, {"approval_request_id", "error", "output", *_ID}),
    "mcp_approval_request": ({"type", "id", "arguments", "name", "server_label"}, set()),
    "mcp_approval_response": ({"type", "approval_request_id", "approve"}, {"id", "reason"}),
    "program": ({"type", "call_id", "code", "fingerprint"}, {"id"}),
    "program_output": ({"type", "call_id", "result", "status"}, {"id"}),
}
_CACHED = {"prompt_cache_breakpoint"}
_INPUT_PARTS = {
    "input_text": ({"type", "text"}, _CACHED),
    "input_image": ({"type"}, {"detail", "image_url", "file_id", *_CACHED}),
    "input_file": ({"type"}, {"detail", "file_data", "file_id", "file_url", "filename", *_CACHED}),
}
_SAID_PARTS = {"output_text": ({"type", "text"}, {"annotations", "logprobs"}), "refusal": ({"type", "refusal"}, set[str]())}
# fmt: on
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc"}
_STATUSES = (None, "in_progress", "completed", "incomplete")
_IMAGE_URL = re.compile(r"https?://.+|data:image/(png|jpe?g|webp|gif);base64,.+", re.DOTALL)


def kind_of(item: Any) -> str:
    """The type of an item, also of one that leaves it out; empty for what is no item."""
    if not isinstance(item, dict):
        return ""
    kind = item.get("type") or ("message" if "role" in item else "item_reference")
    return kind if isinstance(kind, str) else ""


def item_breaches(items: list[Any], model: str, stored: bool) -> Iterator[Breach]:
    """What is wrong with each item by itself. `stored`: whether the request lets the endpoint keep items."""
    for index, item in enumerate(items):
        at = f"input[{index}]"
        kind = kind_of(item)
        if kind not in ITEM_KEYS:
            yield Breach(f"Invalid value: '{kind}'.", at, "invalid_value")
            continue
        needed, allowed = ITEM_KEYS[kind]
        yield from _keys(item, needed, allowed, at)
        yield from _id(item, kind, at)
        if item.get("status") not in (*_STATUSES, "failed", "searching", "generating", "interpreting"):
            yield Breach(f"Invalid value for '{at}.status'.", f"{at}.status", "invalid_value")
        if kind == "message":
            yield from _message(item, at)
        elif kind == "reasoning":
            yield from _reasoning(item, at, model, stored)
        elif kind in ("function_call", "custom_tool_call"):
            yield from _call(item, at, "arguments" if kind == "function_call" else "input")
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield from _content(item.get("output"), _INPUT_PARTS, f"{at}.output")
        elif kind in ("additional_tools", "tool_search_output") and isinstance(item.get("tools"), list):
            yield from each_tool(item["tools"], f"{at}.tools")
        elif kind == "configuration_update" and not takes_updates(model):
            yield Breach("Configuration updates are not supported with this model.", at)
        elif kind == "compaction_trigger" and index != len(items) - 1:
            yield Breach("A compaction trigger must be the last item.", at)


def _keys(item: dict[str, Any], needed: set[str], allowed: set[str], at: str) -> Iterator[Breach]:
    for key in needed - item.keys():
        yield Breach(f"Missing required parameter: '{at}.{key}'.", f"{at}.{key}", "missing_required_parameter")
    for key in item.keys() - needed - allowed:
        yield Breach(f"Unknown parameter: '{at}.{key}'.", f"{at}.{key}", "unknown_parameter")


def _id(item: dict[str, Any], kind: str, at: str) -> Iterator[Breach]:
    given, prefix = item.get("id"), _PREFIXES.get(kind, "")
    if given is not None and not (isinstance(given, str) and given and len(given) <= 128):
        yield Breach(f"Invalid '{at}.id'.", f"{at}.id", "invalid_value")
    elif given is not None and not given.startswith(prefix):
        yield Breach(f"Invalid '{at}.id': '{given}'. Expected an ID that begins with '{prefix}'.", f"{at}.id", "invalid_value")
    call_id = item.get("call_id")
    if "call_id" not in item or (call_id is None and kind.startswith("tool_search")):
        return
    if not isinstance(call_id, str) or not call_id:
        yield Breach(f"Invalid '{at}.call_id': empty string.", f"{at}.call_id", "empty_string")
    elif len(call_id) > CALL_ID_CHARS_MAX:
        words = f"Invalid '{at}.call_id': string too long. Expected a string with maximum length {CALL_ID_CHARS_MAX}."
        yield Breach(words, f"{at}.call_id", "string_above_max_length")


def _message(item: dict[str, Any], at: str) -> Iterator[Breach]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        words = f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        yield Breach(words, f"{at}.role", "invalid_value")
        return
    yield from _content(item.get("content"), _SAID_PARTS if role == "assistant" else _INPUT_PARTS, f"{at}.content")
    if item.get("phase") is not None and (role != "assistant" or item["phase"] not in ("commentary", "final_answer")):
        yield Breach(f"Invalid value for '{at}.phase'.", f"{at}.phase", "invalid_value")


def _call(item: dict[str, Any], at: str, said: str) -> Iterator[Breach]:
    if not isinstance(item.get("name"), str) or not NAME.fullmatch(item["name"]):
        words = f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        yield Breach(words, f"{at}.name", "invalid_value")
    if not isinstance(item.get(said), str):
        yield Breach(f"Invalid type for '{at}.{said}': expected a string.", f"{at}.{said}", "invalid_type")


def _reasoning(item: dict[str, Any], at: str, model: str, stored: bool) -> Iterator[Breach]:
    for key, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        parts = item.get(key)
        if parts is None and key == "content":
            continue
        if not isinstance(parts, list):
            yield Breach(f"Invalid type for '{at}.{key}': expected an array.", f"{at}.{key}", "invalid_type")
            continue
        for part in parts:
            if not isinstance(part, dict) or part.keys() != {"type", "text"} or part["type"] != kind or not isinstance(part["text"], str):
                yield Breach(f"Invalid value for '{at}.{key}'.", f"{at}.{key}", "invalid_value")
    token = item.get("encrypted_content")
    if token is not None and not (isinstance(token, str) and token):
        yield Breach(f"Invalid '{at}.encrypted_content'.", f"{at}.encrypted_content", "invalid_value")
    if token is not None and never_reasons(model):
        yield Breach("Encrypted content is not supported with this model.", "input")
    if token is None and item.get("id") is None:
        yield Breach(f"Missing required parameter: '{at}.encrypted_content'.", f"{at}.encrypted_content", "missing_required_parameter")
    elif token is None and not stored:
        yield not_kept(item["id"])


def not_kept(id: str) -> Breach:
    """An item is named that the endpoint does not have."""
    words = f"Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true."
    return Breach(words, "input")


def _content(content: Any, kinds: dict[str, tuple[set[str], set[str]]], at: str) -> Iterator[Breach]:
    if isinstance(content, str):
        yield from _length(content, TEXT_CHARS_MAX, at)
        return
    if not isinstance(content, list):
        yield Breach(f"Invalid type for '{at}': expected one of a string or array of objects.", at, "invalid_type")
        return
    for index, part in enumerate(content):
        where = f"{at}[{index}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            yield Breach(f"Invalid value: '{kind}'. Supported values are: {', '.join(map(repr, kinds))}.", where, "invalid_value")
            continue
        yield from _keys(part, *kinds[kind], where)
        for key in ("text", "refusal"):
            if key in part and not isinstance(part[key], str):
                yield Breach(f"Invalid type for '{where}.{key}'.", f"{where}.{key}", "invalid_type")
            yield from _length(part.get(key), TEXT_CHARS_MAX, f"{where}.{key}")
        if kind == "input_image":
            yield from _image(part, where)
        elif kind == "input_file":
            yield from _file(part, where)


def _image(part: dict[str, Any], at: str) -> Iterator[Breach]:
    url = part.get("image_url")
    if (url is None) == (part.get("file_id") is None):
        yield Breach(f"Invalid '{at}': one of 'image_url' and 'file_id' is expected.", at, "invalid_value")
    if url is not None and not (isinstance(url, str) and _IMAGE_URL.fullmatch(url)):
        yield Breach(f"Invalid '{at}.image_url'. Expected a valid URL.", f"{at}.image_url", "invalid_value")
    if part.get("detail", "auto") not in ("low", "high", "auto", "original"):
        yield Breach(f"Invalid value for '{at}.detail'.", f"{at}.detail", "invalid_value")
    yield from _length(url, IMAGE_CHARS_MAX, f"{at}.image_url")


def _file(part: dict[str, Any], at: str) -> Iterator[Breach]:
    if len([key for key in ("file_data", "file_id", "file_url") if part.get(key) is not None]) != 1:
        yield Breach(f"Invalid '{at}': one of 'file_data', 'file_id' and 'file_url' is expected.", at, "invalid_value")
    data = part.get("file_data")
    if data is not None and not str(data).startswith("data:"):
        words = f"Invalid '{at}.file_data'. Expected a base64-encoded data URL, but got a value without the 'data:' prefix."
        yield Breach(words, f"{at}.file_data", "invalid_value")
    yield from _length(data, FILE_CHARS_MAX, f"{at}.file_data")


def _length(text: Any, most: int, at: str) -> Iterator[Breach]:
    if isinstance(text, str) and len(text) > most:
        yield Breach(f"Invalid '{at}': string too long. Expected a string with maximum length {most}.", at, "string_above_max_length")
