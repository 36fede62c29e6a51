"""Everything of a Responses request but its items: tools, choice, caps, reasoning, and what excludes what (3.1, 3.2)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.formats.openai_responses import rules as words
from app.formats.openai_responses.validate_schema import strict_faults
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_RANGES = (("temperature", 0, 2), ("top_p", 0, 1), ("top_logprobs", 0, 20))
_LEAST = (("max_output_tokens", words.OUTPUT_TOKENS_MIN), ("max_tool_calls", 1))
_SAMPLING = ("temperature", "top_p", "top_logprobs")
_WORDS: Mapping[str, Sequence[str]] = {
    "effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "summary": ("auto", "concise", "detailed"),
    "context": ("auto", "current_turn", "all_turns"),
}
_MOVED: Mapping[str, str] = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "functions": "tools",
    "function_call": "tool_choice",
    "stop": "nothing",
}
"""Keys of Chat that this route refuses, and what takes their place (0.1)."""

Found = list[Violation]


def check_options(body: Mapping[str, Any], found: Found, rules: WireRules) -> None:
    """Appends what is wrong outside `input`. `rules`: what the target takes."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append(Violation("/model", "model-missing", "`model` is a non-empty string."))
    if not isinstance(body.get("instructions", ""), str | list | None):
        found.append(Violation("/instructions", "content-invalid", "`instructions` is a string."))
    for key in [key for key in _MOVED if key in body]:
        found.append(Violation(f"/{key}", "key-not-taken", f"This route has no `{key}`; {_MOVED[key]} stands in its place."))
    _tools(body, found, rules)
    _choice(body, found)
    _numbers(body, found)
    _reasoning(body, found, rules)
    _state(body, found)
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and (len(metadata) > 16 or any(len(str(k)) > 64 or len(str(v)) > 512 for k, v in metadata.items())):
        found.append(Violation("/metadata", "metadata-too-large", "Metadata takes 16 pairs, keys of 64 and values of 512 characters."))
    text = body.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") == "json_schema":
        if not isinstance(form.get("name"), str) or not re.fullmatch(words.RULES.name_pattern, form["name"]):
            found.append(Violation("/text/format/name", "name-invalid", f"A schema name matches {words.RULES.name_pattern}."))
        _schema(form.get("schema"), form.get("strict"), "/text/format/schema", found)


def _schema(schema: Any, strict: Any, at: str, found: Found) -> None:
    if not isinstance(schema, Mapping):
        found.append(Violation(at, "schema-invalid", "This is a JSON Schema object."))
    elif strict is True:
        found.extend(Violation(at, "schema-not-strict", detail) for detail in strict_faults(schema))


def _tools(body: Mapping[str, Any], found: Found, rules: WireRules) -> None:
    tools, names = body.get("tools"), set[str]()
    if tools is None:
        return
    if not isinstance(tools, list):
        found.append(Violation("/tools", "tools-invalid", "`tools` is a list."))
        return
    if len(tools) > rules.tools_max:
        found.append(Violation("/tools", "tools-too-many", f"At most {rules.tools_max} tools are taken."))
    pattern = words.NAME_PATTERN if rules.name_pattern == words.RULES.name_pattern else rules.name_pattern
    for index, tool in enumerate(tools):
        at = f"/tools/{index}"
        kind = tool.get("type") if isinstance(tool, dict) else None
        if not isinstance(kind, str) or (kind in ("function", "custom") and "name" not in tool):
            found.append(Violation(at, "tool-invalid", "A tool has a type, and a function its name beside it."))
            continue
        if kind not in ("function", "custom"):
            continue
        name = tool["name"]
        if not isinstance(name, str) or not re.fullmatch(pattern, name):
            found.append(Violation(f"{at}/name", "name-invalid", f"A tool name matches {pattern}."))
        elif name in names:
            found.append(Violation(f"{at}/name", "name-repeated", "Two tools bear the same name."))
        else:
            names.add(name)
        described = tool.get("description")
        if isinstance(described, str) and len(described) > rules.description_chars_max:
            found.append(Violation(f"{at}/description", "description-too-long", f"At most {rules.description_chars_max} characters are taken."))
        if kind == "function" and tool.get("parameters") is not None:
            _schema(tool["parameters"], tool.get("strict"), f"{at}/parameters", found)


def _choice(body: Mapping[str, Any], found: Found) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    declared = list(_declared(body))
    if not declared:
        found.append(Violation("/tool_choice", "choice-without-tools", "`tool_choice` needs `tools`."))
    elif isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        listed = choice.get("tools")
        if choice.get("mode") not in ("auto", "required") or not isinstance(listed, list) or not listed:
            found.append(Violation("/tool_choice", "choice-invalid", "Allowed tools have a mode (auto, required) and a list, side by side."))
            return
        for index, one in enumerate(listed):
            _chosen(one, f"/tool_choice/tools/{index}", declared, found)
    elif isinstance(choice, dict):
        _chosen(choice, "/tool_choice", declared, found)
    elif choice not in ("auto", "none", "required"):
        found.append(Violation("/tool_choice", "choice-invalid", "`tool_choice` is auto, none, required or an object."))


def _declared(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every declared tool, those that items bring and those of a namespace too."""
    items = body.get("input")
    later = [item.get("tools") for item in items if isinstance(item, dict) and "tools" in item] if isinstance(items, list) else []
    for tools in (body.get("tools"), *later):
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict):
                yield tool
                nested = tool.get("tools")
                yield from (one for one in nested if isinstance(one, dict)) if isinstance(nested, list) else ()


def _chosen(choice: Any, at: str, declared: Sequence[Mapping[str, Any]], found: Found) -> None:
    kind = choice.get("type") if isinstance(choice, dict) else None
    if not isinstance(kind, str) or (kind in ("function", "custom") and not isinstance(choice.get("name"), str)):
        found.append(Violation(at, "choice-invalid", "A named choice is `{type, name}`."))
    elif kind in ("function", "custom") and not any(tool.get("type") == kind and tool.get("name") == choice["name"] for tool in declared):
        found.append(Violation(at, "choice-not-declared", "The chosen tool is not among `tools`."))


def _numbers(body: Mapping[str, Any], found: Found) -> None:
    for key, least, most in _RANGES:
        value = body.get(key)
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most):
            found.append(Violation(f"/{key}", "out-of-range", f"`{key}` lies between {least} and {most}."))
    for key, least in _LEAST:
        value = body.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            found.append(Violation(f"/{key}", "out-of-range", f"`{key}` is an integer of at least {least}."))
    managed = body.get("context_management")
    for index, one in enumerate(managed if isinstance(managed, list) else ()):
        threshold = one.get("compact_threshold") if isinstance(one, dict) else None
        if threshold is not None and (not isinstance(threshold, int) or threshold < words.COMPACT_THRESHOLD_MIN):
            detail = f"`compact_threshold` is at least {words.COMPACT_THRESHOLD_MIN}."
            found.append(Violation(f"/context_management/{index}/compact_threshold", "out-of-range", detail))


def _reasoning(body: Mapping[str, Any], found: Found, rules: WireRules) -> None:
    """Words of effort, and what a model refuses while it thinks or because it never does."""
    given = body.get("reasoning")
    reasoning = given if isinstance(given, dict) else {}
    for key, known in _WORDS.items():
        value = reasoning.get(key)
        taken = rules.efforts.split() if key == "effort" else known
        if value is not None and value not in taken:
            what = f"`{key}` is one of {', '.join(taken)}." if taken else "This model takes no effort."
            found.append(Violation(f"/reasoning/{key}", "value-unknown", what))
    included = body.get("include")
    if isinstance(included, list) and words.ENCRYPTED_REASONING in included and not rules.thinking:
        found.append(Violation("/include", "encrypted-not-taken", "This model gives no encrypted content."))
    effort = reasoning.get("effort") or rules.default_effort
    for key in _SAMPLING:
        if body.get(key) is not None and (not rules.temperature or (rules.default_effort and effort != "none")):
            found.append(Violation(f"/{key}", "sampling-not-taken", "This model takes no sampling parameters while it thinks."))


def _state(body: Mapping[str, Any], found: Found) -> None:
    previous = body.get("previous_response_id")
    if previous is not None and not (isinstance(previous, str) and previous.startswith("resp")):
        found.append(Violation("/previous_response_id", "id-invalid", "The id of a response begins with `resp`."))
    if previous is not None and body.get("conversation") is not None:
        found.append(Violation("/conversation", "keys-exclude", "`conversation` and `previous_response_id` exclude each other."))
    if body.get("stream_options") is not None and body.get("stream") is not True:
        found.append(Violation("/stream_options", "options-without-stream", "`stream_options` needs `stream: true`."))
    if not isinstance(body.get("include", []), list | None):
        found.append(Violation("/include", "include-invalid", "`include` is a list."))
