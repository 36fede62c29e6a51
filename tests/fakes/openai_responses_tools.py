"""What the Responses endpoint refuses of tools and of the choice among them (wire-format notes 0.2, 3.1, 3.2 and 12.1)."""

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.openai_chat_rules import Breach
from tests.fakes.openai_strict_schema import strict_faults

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
TOOLS_MAX = 128

_SEARCH = ({"type"}, {"search_context_size", "search_content_types", "user_location", "filters", "external_web_access"})
_CALLERS = {"allowed_callers"}
# fmt: off
TOOL_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "function": (
        {"type", "name", "parameters", "strict"}, {"description", "defer_loading", "allowed_callers", "async", "output_schema"},
    ),
    "custom": ({"type", "name"}, {"description", "format", "defer_loading", "allowed_callers", "async"}),
    "namespace": ({"type", "name", "description", "tools"}, set()),
    "tool_search": ({"type"}, {"description", "execution", "parameters"}),
    "web_search": _SEARCH, "web_search_2025_08_26": _SEARCH, "web_search_preview": _SEARCH, "web_search_preview_2025_03_11": _SEARCH,
    "file_search": ({"type", "vector_store_ids"}, {"filters", "max_num_results", "ranking_options"}),
    "code_interpreter": ({"type", "container"}, _CALLERS),
    "image_generation": ({"type"}, {
        "action", "background", "complexity", "frame_count", "frame_duration_ms", "input_fidelity", "input_image_mask", "model", "moderation",
        "output_compression", "output_format", "partial_images", "quality", "size", "svg",
    }),
    "mcp": ({"type", "server_label"}, {
        "allowed_callers", "allowed_tools", "authorization", "connector_id", "defer_loading", "headers", "require_approval",
        "server_description", "server_url", "tunnel_id",
    }),
    "shell": ({"type"}, {"environment", *_CALLERS}),
    "apply_patch": ({"type"}, _CALLERS),
    "local_shell": ({"type"}, set()),
    "computer": ({"type"}, set()),
    "computer_use_preview": ({"type", "display_height", "display_width", "environment"}, set()),
    "programmatic_tool_calling": ({"type"}, set()),
}
# fmt: on
_HOSTED = TOOL_KEYS.keys() - {"function", "custom", "namespace", "mcp"}


def tool_breaches(body: dict[str, Any]) -> Iterator[Breach]:
    """What is wrong with `tools` and `tool_choice`. An empty list of tools is in order here (12.1)."""
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        yield Breach("Invalid type for 'tools': expected an array of tools.", "tools", "invalid_type")
        return
    if len(tools) > TOOLS_MAX:
        words = f"Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MAX}."
        yield Breach(words, "tools", "array_above_max_length")
    yield from each_tool(tools, "tools")
    items = body.get("input") if isinstance(body.get("input"), list) else []
    assert isinstance(items, list)
    later = [tool for item in items if isinstance(item, dict) and isinstance(item.get("tools"), list) for tool in item["tools"]]
    yield from _choice(body.get("tool_choice"), [tool for tool in _flat([*tools, *later]) if isinstance(tool, dict)])


def each_tool(tools: list[Any], where: str) -> Iterator[Breach]:
    """What is wrong with each tool, and with two of one name."""
    names = set()
    for index, tool in enumerate(tools):
        at = f"{where}[{index}]"
        kind = tool.get("type") if isinstance(tool, dict) else None
        if not isinstance(kind, str) or kind not in TOOL_KEYS:
            yield Breach(f"Invalid value: '{kind}'.", f"{at}.type", "invalid_value")
            continue
        needed, allowed = TOOL_KEYS[kind]
        for key in needed - tool.keys():
            yield Breach(f"Missing required parameter: '{at}.{key}'.", f"{at}.{key}", "missing_required_parameter")
        for key in tool.keys() - needed - allowed:
            yield Breach(f"Unknown parameter: '{at}.{key}'.", f"{at}.{key}", "unknown_parameter")
        if kind in ("function", "custom", "namespace") and "name" in tool:
            if not isinstance(tool["name"], str) or not NAME.fullmatch(tool["name"]):
                words = f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
                yield Breach(words, f"{at}.name", "invalid_value")
            if tool["name"] in names:
                yield Breach("Tool names must be unique.", "tools", "invalid_value")
            names.add(tool["name"])
        if kind == "function":
            yield from _function(tool, at)
        elif kind == "namespace" and isinstance(tool.get("tools"), list):
            yield from each_tool(tool["tools"], f"{at}.tools")


def _function(tool: dict[str, Any], at: str) -> Iterator[Breach]:
    if not isinstance(tool.get("description", ""), str | None):
        yield Breach(f"Invalid type for '{at}.description'.", f"{at}.description", "invalid_type")
    if not isinstance(tool.get("strict"), bool | None):
        yield Breach(f"Invalid type for '{at}.strict'.", f"{at}.strict", "invalid_type")
    schema = tool.get("parameters")
    if schema is None:
        return
    if not isinstance(schema, dict) or schema.get("type") != "object":
        words = "schema must be a JSON Schema of 'type: \"object\"'."
        yield Breach(f"Invalid schema for function '{tool.get('name')}': {words}", f"{at}.parameters", "invalid_function_parameters")
    elif tool.get("strict"):
        for fault in strict_faults(schema):
            yield Breach(f"Invalid schema for function '{tool.get('name')}': {fault}", f"{at}.parameters", "invalid_function_parameters")


def _flat(tools: list[Any]) -> Iterator[Any]:
    for tool in tools:
        yield tool
        if isinstance(tool, dict) and isinstance(tool.get("tools"), list):
            yield from _flat(tool["tools"])


def _choice(choice: Any, tools: list[dict[str, Any]]) -> Iterator[Breach]:
    if choice is None:
        return
    if not tools:
        yield Breach("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    elif not isinstance(choice, dict):
        if choice not in ("auto", "none", "required"):
            yield Breach(f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.", "tool_choice", "invalid_value")
    elif choice.get("type") != "allowed_tools":
        yield from _chosen(choice, tools, "tool_choice")
    else:
        chosen = choice.get("tools")
        if choice.keys() != {"type", "mode", "tools"} or choice["mode"] not in ("auto", "required") or not isinstance(chosen, list) or not chosen:
            yield Breach("Invalid 'tool_choice': a mode and at least one tool are expected.", "tool_choice", "invalid_value")
            return
        for index, one in enumerate(chosen):
            yield from _chosen(one, tools, f"tool_choice.tools[{index}]")


def _chosen(one: Any, tools: list[dict[str, Any]], at: str) -> Iterator[Breach]:
    kind = one.get("type") if isinstance(one, dict) else None
    key = {"function": "name", "custom": "name", "mcp": "server_label"}.get(str(kind))
    allowed = {"type", "name", "server_label"} if kind == "mcp" else {"type", key}
    if key is None and kind not in _HOSTED:
        yield Breach(f"Invalid value: '{kind}'.", f"{at}.type", "invalid_value")
    elif key is not None and key not in one:
        yield Breach(f"Missing required parameter: '{at}.{key}'.", f"{at}.{key}", "missing_required_parameter")
    elif one.keys() - allowed:
        yield Breach(f"Unknown parameter in '{at}'.", at, "unknown_parameter")
    elif not any(tool.get("type") == kind and (key is None or tool.get(key) == one[key]) for tool in tools):
        yield Breach(f"Tool choice '{one.get(key, kind)}' not found in 'tools' parameter.", at, "invalid_value")
