"""Everything of a Converse request but its messages, as far as its shape does not say it: what excludes what, and names."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.entries import lossless
from app.formats.bedrock.rules import RULES, THINKING_TOKENS_MIN
from app.formats.bedrock.shapes import Found, pointed
from app.formats.bedrock.validate_blocks import cache_point
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems"})
_LOOKAROUND = re.compile(r"\(\?<?[=!]")
_SCHEMA_DEPTH_MAX = 64


def check_options(body: Mapping[str, Any], rules: WireRules, found: Found) -> int:
    """Appends what is wrong; returns how many cache points stand in tools and instructions."""
    system = body.get("system")
    marks = _marked(system, "/system", found)
    for index, block in enumerate(system if isinstance(system, list | tuple) else ()):
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str) and text.isspace() and not rules.blank_texts:
            found.append(Violation(f"/system/{index}/text", "text-blank", "A text has something to say."))
    config, additional = _mapping(body.get("toolConfig")), _mapping(body.get("additionalModelRequestFields"))
    tools = config.get("tools")
    marks += _marked(tools, "/toolConfig/tools", found)
    names = _tools(tools if isinstance(tools, list | tuple) else (), rules, found)
    _choice(_mapping(config.get("toolChoice")), names, additional, rules, found)
    inference = _mapping(body.get("inferenceConfig"))
    if "temperature" in inference and not rules.temperature:
        found.append(Violation("/inferenceConfig/temperature", "temperature-not-taken", "This model takes no temperature."))
    _budget(additional, inference, body.get("messages"), found)
    _output(_mapping(body.get("outputConfig")), found)
    return marks


def _marked(blocks: Any, at: str, found: Found) -> int:
    kinds = [next(iter(block), "") if isinstance(block, Mapping) else "" for block in blocks] if isinstance(blocks, list | tuple) else []
    for number, kind in enumerate(kinds):
        if kind == "cachePoint":
            cache_point(kinds, number, f"{at}/{number}", found)
    return kinds.count("cachePoint")


def _tools(tools: Sequence[Any], rules: WireRules, found: Found) -> set[str]:
    names: set[str] = set()
    if sum("cachePoint" not in _mapping(tool) for tool in tools) > rules.tools_max:
        found.append(Violation("/toolConfig/tools", "tools-too-many", f"At most {rules.tools_max} tools are taken."))
    for index, tool in enumerate(tools):
        spec, at = _mapping(_mapping(tool).get("toolSpec")), f"/toolConfig/tools/{index}/toolSpec"
        name, described = spec.get("name"), spec.get("description")
        if isinstance(name, str):
            if rules.name_pattern != RULES.name_pattern and not re.fullmatch(rules.name_pattern, name):
                found.append(Violation(f"{at}/name", "name-invalid", f"A tool name matches {rules.name_pattern}."))
            if name in names:
                found.append(Violation(f"{at}/name", "name-repeated", "Two tools bear the same name."))
            names.add(name)
        if isinstance(described, str) and len(described) > rules.description_chars_max:
            found.append(Violation(f"{at}/description", "description-too-long", f"At most {rules.description_chars_max} characters are taken."))
        if spec.get("strict") is True:
            _strict(_mapping(spec.get("inputSchema")).get("json"), f"{at}/inputSchema/json", _SCHEMA_DEPTH_MAX, found)
    return names


def _choice(choice: Mapping[str, Any], names: set[str], additional: Mapping[str, Any], rules: WireRules, found: Found) -> None:
    if not choice:
        return
    if ("any" in choice or "tool" in choice) and not (rules.tool_choice and rules.forced_choice):
        found.append(Violation("/toolConfig/toolChoice", "choice-not-taken", "A call cannot be forced with this model."))
    name = _mapping(choice.get("tool")).get("name")
    if isinstance(name, str) and name not in names:
        found.append(Violation("/toolConfig/toolChoice/tool/name", "choice-not-declared", "The chosen tool is not among `tools`."))
    if "tool_choice" in additional:
        found.append(Violation("/additionalModelRequestFields/tool_choice", "choice-twice", "A native choice and `toolChoice` exclude each other."))


def _budget(additional: Mapping[str, Any], inference: Mapping[str, Any], messages: Any, found: Found) -> None:
    """Thinking of Claude by a budget: at least so much, less than the cap (4.1), and from the beginning of an answer that is under way (4.2)."""
    budget, cap = _mapping(additional.get("thinking")).get("budget_tokens"), inference.get("maxTokens")
    if isinstance(budget, int) and (budget < THINKING_TOKENS_MIN or (isinstance(cap, int) and budget >= cap)):
        at = "/additionalModelRequestFields/thinking/budget_tokens"
        found.append(Violation(at, "out-of-range", f"A budget is at least {THINKING_TOKENS_MIN} and less than `maxTokens`."))
    if _mapping(additional.get("thinking")).get("type") != "enabled" or not isinstance(messages, list | tuple):
        return
    for place in range(len(messages) - 1, -1, -1):
        content = _mapping(messages[place]).get("content")
        blocks = [_mapping(block) for block in content] if isinstance(content, list | tuple) else []
        if _mapping(messages[place]).get("role") == "assistant":
            if blocks and "reasoningContent" not in blocks[0]:
                at = f"/messages/{place}/content/0"
                found.append(Violation(at, "thinking-missing", "With a budget, the answer that is under way begins with its thinking."))
            return
        if not any("toolResult" in block for block in blocks):
            return


def _output(config: Mapping[str, Any], found: Found) -> None:
    """The schema of an answer is the text of a JSON object."""
    inner = _mapping(_mapping(_mapping(config.get("textFormat")).get("structure")).get("jsonSchema"))
    schema = inner.get("schema")
    if not isinstance(schema, str):
        return
    try:
        valid = isinstance(lossless.loads(schema), dict)
    except lossless.InvalidJson:
        valid = False
    if not valid:
        found.append(Violation("/outputConfig/textFormat/structure/jsonSchema/schema", "schema-invalid", "This is the text of a JSON Schema object."))


def _strict(schema: Any, at: str, depth: int, found: Found) -> None:
    """What a strict schema may not say (6.2): bounds of numbers, `maxItems`, `minItems` above 1, lookaround; and objects are closed."""
    if depth == 0:
        return
    if isinstance(schema, list | tuple):
        for index, item in enumerate(schema):
            _strict(item, f"{at}/{index}", depth - 1, found)
    if not isinstance(schema, Mapping):
        return
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        found.append(Violation(at, "schema-not-strict", "An object of a strict schema has `additionalProperties: false`."))
    for key, value in schema.items():
        place = pointed(at, key)
        named = at.endswith("/properties")  # a property may be called as a keyword is
        least = key == "minItems" and isinstance(value, int) and value > 1
        if not named and (key in _BOUNDS or least or (key == "pattern" and isinstance(value, str) and _LOOKAROUND.search(value))):
            found.append(Violation(place, "schema-not-strict", "A strict schema has no bounds of numbers and lists and no lookaround."))
        if key not in ("enum", "const", "default", "examples") or named:
            _strict(value, place, depth - 1, found)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
