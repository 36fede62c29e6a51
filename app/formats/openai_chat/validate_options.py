"""Everything of a Chat request but its messages: tools, choice, caps, and what excludes what."""

import re
from collections.abc import Mapping
from typing import Any

from app.formats.openai_chat import rules
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_NAME = re.compile(rules.RULES.name_pattern)
_RANGES = (
    ("temperature", 0, 2),
    ("top_p", 0, 1),
    ("presence_penalty", -2, 2),
    ("frequency_penalty", -2, 2),
    ("n", 1, 128),
    ("top_logprobs", 0, 20),
)


def check_options(body: Mapping[str, Any], found: list[Violation], target: WireRules = rules.RULES) -> None:
    """Appends what is wrong outside `messages`. `target`: what it takes as tools."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append(Violation("/model", "model-missing", "`model` is a non-empty string."))
    names = _tools(body, found, target)
    _choice(body, names, found, target)
    _numbers(body, found)
    _stream(body, found)
    _keys(body, found, target)
    _reasoning(body, found)
    stop = body.get("stop")
    if isinstance(stop, list) and len(stop) > rules.STOPS_MAX:
        found.append(Violation("/stop", "stops-too-many", f"At most {rules.STOPS_MAX} stop strings are taken."))
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and (len(metadata) > 16 or any(len(str(k)) > 64 or len(str(v)) > 512 for k, v in metadata.items())):
        found.append(Violation("/metadata", "metadata-too-large", "Metadata takes 16 pairs, keys of 64 and values of 512 characters."))
    form = body.get("response_format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        schema = form.get("json_schema")
        name = schema.get("name") if isinstance(schema, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            found.append(Violation("/response_format/json_schema/name", "name-invalid", f"A schema name matches {rules.RULES.name_pattern}."))


def _tools(body: Mapping[str, Any], found: list[Violation], target: WireRules) -> set[str]:
    tools, names = body.get("tools"), set[str]()
    if tools is None:
        return names
    if not isinstance(tools, list) or not tools:
        found.append(Violation("/tools", "tools-empty", "`tools` is a list of at least one tool, or left out."))
        return names
    if len(tools) > target.tools_max:
        found.append(Violation("/tools", "tools-too-many", f"At most {target.tools_max} tools are taken."))
    for index, tool in enumerate(tools):
        kind = tool.get("type") if isinstance(tool, dict) else None
        inner = tool.get(kind) if kind in ("function", "custom") else None
        if not isinstance(inner, dict):
            found.append(Violation(f"/tools/{index}", "tool-invalid", "A tool is of type function or custom and has the object of that name."))
            continue
        at, name = f"/tools/{index}/{kind}", inner.get("name")
        if not isinstance(name, str) or not re.fullmatch(target.name_pattern, name):
            found.append(Violation(f"{at}/name", "name-invalid", f"A tool name matches {target.name_pattern}."))
        elif name in names:
            found.append(Violation(f"{at}/name", "name-repeated", "Two tools bear the same name."))
        else:
            names.add(name)
        described = inner.get("description")
        if isinstance(described, str) and len(described) > target.description_chars_max:
            found.append(Violation(f"{at}/description", "description-too-long", f"At most {target.description_chars_max} characters are taken."))
        if not isinstance(inner.get("parameters", {}), Mapping):
            found.append(Violation(f"{at}/parameters", "schema-invalid", "`parameters` is a JSON Schema object."))
    return names


def _keys(body: Mapping[str, Any], found: list[Violation], target: WireRules) -> None:
    """Keys that other servers take and this one does not."""
    if target.max_tokens_key == "max_tokens" and body.get("max_completion_tokens") is not None:
        found.append(Violation("/max_completion_tokens", "key-not-taken", "The cap is called `max_tokens` here."))
    if not target.temperature and body.get("temperature") is not None:
        found.append(Violation("/temperature", "key-not-taken", "This model takes no sampling parameters."))


def _choice(body: Mapping[str, Any], names: set[str], found: list[Violation], target: WireRules) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not body.get("tools"):
        found.append(Violation("/tool_choice", "choice-without-tools", "`tool_choice` needs `tools`."))
        return
    if not target.tool_choice:
        found.append(Violation("/tool_choice", "choice-not-taken", "This server obeys no choice."))
        return
    if not target.forced_choice and _forces(choice) and not _thinking_is_off(body):
        found.append(Violation("/tool_choice", "choice-not-taken", "While it thinks this model can be forced to no call."))
    if choice in ("auto", "none", "required", target.required_choice):
        return
    if isinstance(choice, dict) and not _taken(choice, target):
        found.append(Violation("/tool_choice", "choice-not-taken", "This server does not take a choice of this kind."))
    elif not isinstance(choice, dict):
        found.append(Violation("/tool_choice", "choice-invalid", "`tool_choice` is auto, none, required or an object."))
    elif choice.get("type") == "allowed_tools":
        inner = choice.get("allowed_tools")
        listed = inner.get("tools") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or inner.get("mode") not in ("auto", "required") or not isinstance(listed, list) or not listed:
            found.append(Violation("/tool_choice/allowed_tools", "choice-invalid", "Allowed tools have a mode (auto, required) and a list."))
            return
        for index, one in enumerate(listed):
            _named(one, f"/tool_choice/allowed_tools/tools/{index}", names, found)
    else:
        _named(choice, "/tool_choice", names, found)


def _forces(choice: Any) -> bool:
    if isinstance(choice, dict):
        inner = choice.get("allowed_tools")
        return choice.get("type") != "allowed_tools" or (isinstance(inner, dict) and inner.get("mode") == "required")
    return choice not in ("auto", "none")


def _thinking_is_off(body: Mapping[str, Any]) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") == "disabled"


def _taken(choice: Mapping[str, Any], target: WireRules) -> bool:
    return target.allowed_tools if choice.get("type") == "allowed_tools" else target.named_choice


def _named(choice: Any, at: str, names: set[str], found: list[Violation]) -> None:
    kind = choice.get("type") if isinstance(choice, dict) else None
    inner = choice.get(kind) if kind in ("function", "custom") else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        found.append(Violation(at, "choice-invalid", "A named choice is `{type, function: {name}}`."))
    elif inner["name"] not in names:
        found.append(Violation(at, "choice-not-declared", "The chosen tool is not among `tools`."))


def _numbers(body: Mapping[str, Any], found: list[Violation]) -> None:
    for key, least, most in _RANGES:
        value = body.get(key)
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most):
            found.append(Violation(f"/{key}", "out-of-range", f"`{key}` lies between {least} and {most}."))
    for key in ("max_completion_tokens", "max_tokens"):
        value = body.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            found.append(Violation(f"/{key}", "out-of-range", f"`{key}` is a positive integer."))


def _stream(body: Mapping[str, Any], found: list[Violation]) -> None:
    if body.get("stream_options") is not None and body.get("stream") is not True:
        found.append(Violation("/stream_options", "options-without-stream", "`stream_options` needs `stream: true`."))


def _reasoning(body: Mapping[str, Any], found: list[Violation]) -> None:
    """Efforts, and the models that refuse function tools on this route while they reason (1.2)."""
    effort, model = body.get("reasoning_effort"), body.get("model")
    if effort is not None and effort not in rules.EFFORTS:
        found.append(Violation("/reasoning_effort", "value-unknown", f"`reasoning_effort` is one of {', '.join(sorted(rules.EFFORTS))}."))
    if not body.get("tools") or not isinstance(model, str):
        return
    if rules.REASONS_ALWAYS.match(model):
        found.append(Violation("/tools", "tools-with-reasoning", "This model takes function tools on the Responses route only."))
    elif rules.REASONS_UNLESS_NONE.match(model) and effort != "none":
        found.append(Violation("/reasoning_effort", "tools-with-reasoning", "With function tools this model needs `reasoning_effort: none`."))
    elif rules.REASONS_WHEN_ASKED.match(model) and effort not in (None, "none"):
        found.append(Violation("/reasoning_effort", "tools-with-reasoning", "With function tools this model takes no `reasoning_effort`."))
