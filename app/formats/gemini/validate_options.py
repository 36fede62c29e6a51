"""Everything of a Gemini request but its contents: declarations, choice, parameters, and what excludes what."""

import re
from collections.abc import Mapping
from typing import Any

from app.formats.gemini import names
from app.formats.gemini.names import Found, elements, members, number, under
from app.formats.gemini.rules import STOPS_MAX
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_MODES = ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
_RANGES = (
    ("temperature", 0, 2),
    ("topP", 0, 1),
    ("presencePenalty", -2, 2),
    ("frequencyPenalty", -2, 2),
    ("candidateCount", 1, 8),
    ("maxOutputTokens", 1, 2**31 - 1),
    ("topK", 0, 2**31 - 1),
    ("seed", -(2**31), 2**31 - 1),
)
_NOT_WITH_CACHE = ("systemInstruction", "tools", "toolConfig")


def check_options(request: Mapping[str, Any], body: Mapping[str, Any], found: Found, rules: WireRules) -> None:
    """Appends what is wrong outside the contents. `request`: the members of `body`, by their names in camel case."""
    declared = _tools(request, body, found, rules)
    if "toolConfig" in request:
        _tool_config(request["toolConfig"], under("", body, "toolConfig"), declared, found)
    if "generationConfig" in request:
        _generation(request["generationConfig"], under("", body, "generationConfig"), found, rules)
    if "safetySettings" in request:
        for at, value in elements(request["safetySettings"], under("", body, "safetySettings"), found):
            setting = members(value, names.SAFETY, at, found)
            if setting is not None and not all(isinstance(setting.get(key), str | int) for key in ("category", "threshold")):
                found.append(Violation(at, "setting-invalid", "A safety setting has a category and a threshold."))
    if "cachedContent" in request:
        for name in _NOT_WITH_CACHE:
            if name in request:
                found.append(Violation(under("", body, name), "not-with-cache", "What the cached content holds is not sent beside it."))


def _tools(request: Mapping[str, Any], body: Mapping[str, Any], found: Found, rules: WireRules) -> set[str]:
    declared: set[str] = set()
    if "tools" not in request:
        return declared
    count = 0
    at = under("", body, "tools")
    for place, value in elements(request["tools"], at, found):
        tool = members(value, names.TOOL, place, found)
        if tool is None or "functionDeclarations" not in tool:
            continue
        for below, item in elements(tool["functionDeclarations"], under(place, value, "functionDeclarations"), found):
            count += 1
            _declaration(item, below, declared, found, rules)
    if count > rules.tools_max:
        found.append(Violation(at, "tools-too-many", f"At most {rules.tools_max} functions are declared."))
    return declared


def _declaration(value: Any, at: str, declared: set[str], found: Found, rules: WireRules) -> None:
    function = members(value, names.DECLARATION, at, found)
    if function is None:
        return
    name = function.get("name")
    if not isinstance(name, str) or not re.fullmatch(rules.name_pattern, name):
        found.append(Violation(under(at, value, "name"), "name-invalid", f"A tool name matches {rules.name_pattern}."))
    elif name in declared:
        found.append(Violation(under(at, value, "name"), "name-repeated", "Two tools bear the same name."))
    else:
        declared.add(name)
    described = function.get("description", "")
    if not isinstance(described, str):
        found.append(Violation(under(at, value, "description"), "description-invalid", "A description is a string."))
    elif len(described) > rules.description_chars_max:
        found.append(
            Violation(under(at, value, "description"), "description-too-long", f"At most {rules.description_chars_max} characters are taken.")
        )
    if "parameters" in function and "parametersJsonSchema" in function:
        found.append(Violation(at, "schema-twice", "`parameters` and `parametersJsonSchema` exclude each other."))
    if not isinstance(function.get("parametersJsonSchema", {}), Mapping):
        found.append(Violation(under(at, value, "parametersJsonSchema"), "schema-invalid", "`parametersJsonSchema` is a JSON Schema object."))
    if "parameters" in function:
        _schema(function["parameters"], under(at, value, "parameters"), found)


def _schema(value: Any, at: str, found: Found) -> None:
    """A schema in Google's subset of OpenAPI, whose names are a closed set."""
    schema = members(value, names.SCHEMA, at, found)
    if schema is None:
        return
    for name in ("items", "additionalProperties"):
        if name in schema and not isinstance(schema[name], bool):
            _schema(schema[name], under(at, value, name), found)
    for place, item in elements(schema.get("anyOf", ()), under(at, value, "anyOf"), found):
        _schema(item, place, found)
    for name in ("properties", "defs"):
        if isinstance(schema.get(name), Mapping):
            for key, item in schema[name].items():
                _schema(item, f"{under(at, value, name)}/{names.escaped(key)}", found)


def _tool_config(value: Any, at: str, declared: set[str], found: Found) -> None:
    config = members(value, names.TOOL_CONFIG, at, found)
    if config is None or "functionCallingConfig" not in config:
        return
    place, inner = under(at, value, "functionCallingConfig"), config["functionCallingConfig"]
    calling = members(inner, names.CALLING, place, found)
    if calling is None:
        return
    if not declared:
        found.append(Violation(place, "choice-without-tools", "`functionCallingConfig` needs function declarations."))
    mode = calling.get("mode", "AUTO")
    if not isinstance(mode, int) and not (isinstance(mode, str) and mode.upper() in _MODES):
        found.append(Violation(under(place, inner, "mode"), "value-unknown", f"`mode` is one of {', '.join(_MODES)}."))
    if "allowedFunctionNames" not in calling:
        return
    below = under(place, inner, "allowedFunctionNames")
    if isinstance(mode, str) and mode.upper() not in ("ANY", "VALIDATED"):
        found.append(Violation(below, "names-without-mode", "`allowedFunctionNames` needs the mode ANY or VALIDATED."))
    for here, name in elements(calling["allowedFunctionNames"], below, found):
        if not isinstance(name, str) or name not in declared:
            found.append(Violation(here, "choice-not-declared", "The chosen function is not declared."))


def _generation(value: Any, at: str, found: Found, rules: WireRules) -> None:
    config = members(value, names.GENERATION, at, found)
    if config is None:
        return
    for name, least, most in _RANGES:
        if name in config:
            given = number(config[name])
            if given is None or not least <= given <= most:
                found.append(Violation(under(at, value, name), "out-of-range", f"`{name}` lies between {least} and {most}."))
    stops = config.get("stopSequences", ())
    if not isinstance(stops, list | tuple) or len(stops) > STOPS_MAX:
        found.append(Violation(under(at, value, "stopSequences"), "stops-too-many", f"At most {STOPS_MAX} stop strings are taken."))
    if "responseSchema" in config:
        _schema(config["responseSchema"], under(at, value, "responseSchema"), found)
        if "responseJsonSchema" in config:
            found.append(Violation(at, "schema-twice", "`responseSchema` and `responseJsonSchema` exclude each other."))
    if "thinkingConfig" in config:
        _thinking(config["thinkingConfig"], under(at, value, "thinkingConfig"), found, rules)
    if not rules.temperature:
        _fourth(config, value, at, found)


def _fourth(config: Mapping[str, Any], value: Any, at: str, found: Found) -> None:
    """What models that ignore sampling parameters refuse of them (Gemini 4, 5.1)."""
    for name in ("presencePenalty", "frequencyPenalty"):
        if name in config:
            found.append(Violation(under(at, value, name), "parameter-refused", f"This model refuses `{name}`."))
    if number(config.get("candidateCount", 1)) != 1:
        found.append(Violation(under(at, value, "candidateCount"), "parameter-refused", "This model gives one candidate."))


def _thinking(value: Any, at: str, found: Found, rules: WireRules) -> None:
    thinking = members(value, names.THINKING, at, found)
    if thinking is None:
        return
    efforts = rules.efforts.split()
    if "thinkingBudget" in thinking:
        place, budget = under(at, value, "thinkingBudget"), number(thinking["thinkingBudget"])
        if "thinkingLevel" in thinking:
            found.append(Violation(at, "thinking-twice", "`thinkingBudget` and `thinkingLevel` exclude each other."))
        if budget is None or budget < -1:
            found.append(Violation(place, "out-of-range", "`thinkingBudget` is -1, or a number of tokens."))
        elif rules.thinking == "level" and not rules.temperature:
            found.append(Violation(place, "parameter-refused", "This model refuses `thinkingBudget`."))
        elif budget == 0 and rules.thinking and "none" not in efforts:
            found.append(Violation(place, "budget-zero", "This model only works in thinking mode."))
    level = thinking.get("thinkingLevel")
    if level is None or isinstance(level, int):
        return
    place = under(at, value, "thinkingLevel")
    if rules.thinking == "budget":
        found.append(Violation(place, "parameter-refused", "This model thinks by a budget and refuses `thinkingLevel`."))
    elif not isinstance(level, str) or (rules.thinking == "level" and level.lower() not in (*efforts, "thinking_level_unspecified")):
        found.append(Violation(place, "value-unknown", "The model does not take this level."))
