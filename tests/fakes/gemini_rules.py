"""What Gemini's generateContent refuses, written from its documentation and its error texts (wire-format notes 5.1, 5.2 and 12).

On purpose nothing here is shared with the service: a rule that both had wrong in the same way would never show. The reading of proto JSON,
the turns of the conversation and the schemas have modules of their own; signatures that this endpoint made are in the book.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.gemini_models import cannot_stop_thinking, levels, since, thinks
from tests.fakes.gemini_proto import Breach, read
from tests.fakes.gemini_schemas import depth, schema_breaches
from tests.fakes.gemini_turns import turn_breaches

DECLARATIONS_MAX = 512
STOPS_MAX = 5
SCHEMA_LEVELS_MAX = 15
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_RANGES = {"temperature": (0, 2), "topP": (0, 1), "candidateCount": (1, 8), "maxOutputTokens": (1, float("inf")), "topK": (0, float("inf"))}
_JSON = ("application/json", "text/x.enum")


def breaches(body: Any, model: str, counting: bool = False) -> list[Breach]:
    """Everything that is wrong with a request body, as far as the body alone tells; empty for one that is served.

    `counting`: the body goes to `countTokens`, whose `generateContentRequest` is judged as if it were sent.
    """
    asked, found = canonical(body, model, counting)
    if found:
        return found
    names = [declaration.get("name", "") for declaration in _declarations(asked)]
    config = asked.get("generationConfig", {})
    found = [*_tools(asked, names), *_tool_config(asked, names), *_cached(asked, model), *_generation(config, model), *_thinking(config, model)]
    if not asked.get("contents"):
        return [*found, Breach("* GenerateContentRequest.contents: contents is not specified")]
    if any(not part.get("text") for part in asked.get("systemInstruction", {}).get("parts", [{}]) if "systemInstruction" in asked):
        found.append(Breach("* GenerateContentRequest.system_instruction: only text is supported"))
    return [*found, *turn_breaches(asked["contents"], model)]


def canonical(body: Any, model: str, counting: bool = False) -> tuple[dict[str, Any], list[Breach]]:
    """What is asked, in canonical form, and why nothing can be."""
    if not counting:
        return read(body, "GenerateContentRequest")
    asked, found = read(body, "CountTokensRequest")
    inner = asked.get("generateContentRequest")
    if found or inner is None:
        return asked, found
    if "contents" in asked:
        return {}, [Breach("contents and generate_content_request are mutually exclusive.")]
    if inner.get("model") != f"models/{model}":
        return {}, [Breach("* CountTokensRequest.generate_content_request.model: unexpected model name format")]
    return inner, []


def _declarations(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [declaration for tool in asked.get("tools", ()) for declaration in tool.get("functionDeclarations", ())]


def _tools(asked: dict[str, Any], names: list[str]) -> Iterator[Breach]:
    for index, tool in enumerate(asked.get("tools", ())):
        if not tool:
            yield Breach(f"* GenerateContentRequest.tools[{index}].tool_type: required one_of 'tool_type' must have one initialized field")
    if len(names) > DECLARATIONS_MAX:
        yield Breach(f"At most {DECLARATIONS_MAX} function declarations are supported.")
    for name in {name for name in names if names.count(name) > 1}:
        yield Breach(f"Duplicate function declaration found: {name}")
    for index, declaration in enumerate(_declarations(asked)):
        at = f"* GenerateContentRequest.tools[0].function_declarations[{index}]"
        if not _NAME.fullmatch(declaration.get("name", "")):
            yield Breach(f"{at}.name: Invalid function name. Must start with a letter or an underscore, with a maximum length of 64.")
        if "parameters" in declaration and "parametersJsonSchema" in declaration:
            yield Breach(f"{at}.parameters_json_schema: only one of parameters and parameters_json_schema may be set")
        if "parameters" in declaration:
            if declaration["parameters"].get("type") != "OBJECT":
                yield Breach(f"{at}.parameters.type: must be OBJECT")
            yield from schema_breaches(declaration["parameters"], f"{at}.parameters")
        elif not isinstance(declaration.get("parametersJsonSchema", {}), dict):
            yield Breach(f"{at}.parameters_json_schema: must be a schema")


def _tool_config(asked: dict[str, Any], names: list[str]) -> Iterator[Breach]:
    config = asked.get("toolConfig", {}).get("functionCallingConfig")
    if config is None:
        return
    if not names:
        yield Breach("Function calling config is set without function_declarations.")
    allowed = config.get("allowedFunctionNames", [])
    if allowed and config.get("mode") not in ("ANY", "VALIDATED"):
        yield Breach("allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.")
    for name in allowed:
        if name not in names:
            yield Breach(f"allowed_function_names: '{name}' is not a declared function.")


def _cached(asked: dict[str, Any], model: str) -> Iterator[Breach]:
    """With cached content go no instructions and no tools: they are in it."""
    name = asked.get("cachedContent")
    if name is None:
        return
    if not name.startswith("cachedContents/"):
        yield Breach("* GenerateContentRequest.cached_content: unexpected name format")
    if asked.keys() & {"systemInstruction", "tools", "toolConfig"}:
        yield Breach("CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.")
    if since(model, 4):
        yield Breach("Explicit caching is not supported for this model.")


def _generation(config: dict[str, Any], model: str) -> Iterator[Breach]:
    for key, (least, most) in _RANGES.items():
        if key in config and not least <= config[key] <= most:
            yield Breach(f"* GenerateContentRequest.generation_config.{key}: {key} must be in the range [{least}, {most}].")
    if len(config.get("stopSequences", ())) > STOPS_MAX or not all(config.get("stopSequences", ())):
        yield Breach(f"* GenerateContentRequest.generation_config.stop_sequences: from 1 to {STOPS_MAX} texts that are not empty.")
    if "responseSchema" in config and "responseJsonSchema" in config:
        yield Breach("* GenerateContentRequest.generation_config: only one of response_schema and response_json_schema may be set.")
    for key in config.keys() & {"responseSchema", "responseJsonSchema"}:
        if config.get("responseMimeType") not in _JSON:
            yield Breach(f"* GenerateContentRequest.generation_config.response_mime_type: {key} is only allowed with {_JSON[0]}.")
        if depth(config[key]) > SCHEMA_LEVELS_MAX:
            yield Breach("The specified schema exceeds the maximum allowed nesting depth.")
    if "responseSchema" in config:
        yield from schema_breaches(config["responseSchema"], "* GenerateContentRequest.generation_config.response_schema")
    if since(model, 4):
        for key in ("frequencyPenalty", "presencePenalty"):
            if key in config:
                yield Breach(f"{key} is not supported for this model.")
        if config.get("candidateCount", 1) != 1:
            yield Breach("Multiple candidates is not enabled for this model.")


def _thinking(config: dict[str, Any], model: str) -> Iterator[Breach]:
    """Before 2.5 nothing of it, 2.5 by budget, from 3 on by level; 3 still takes a budget, 4 does not."""
    thinking = config.get("thinkingConfig", {})
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if thinking and not thinks(model):
        yield Breach("Thinking is not supported for this model.")
        return
    if budget is not None and level is not None:
        yield Breach("You can only set only one of thinking budget and thinking level.")
    if level is not None and level not in levels(model):
        reason = f"Thinking level {level} is not supported for this model." if levels(model) else "Thinking level is not supported for this model."
        yield Breach(reason)
    if budget is not None and since(model, 4):
        yield Breach("Thinking budget is not supported for this model.")
    elif budget == 0 and cannot_stop_thinking(model):
        yield Breach("Budget 0 is invalid. This model only works in thinking mode.")
    elif budget is not None and budget < -1:
        yield Breach("The thinking budget is out of range.")
