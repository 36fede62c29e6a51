"""Each rule of tools and settings: a body that is refused for it, and its near twin that is served."""

import pytest

from tests.fakes.gemini_bodies import FLASH, FOUR, THREE, TOOL, Twins, body, choosing, config, declared, schema, shaped, thinking, user

TOOLS = {
    "name out of bounds": Twins(declared({"name": "1st"}), "Invalid function name", declared({"name": "_1.st:a-b"})),
    "name too long": Twins(declared({"name": "n" * 65}), "maximum length of 64", declared({"name": "n" * 64})),
    "two of one name": Twins(declared(TOOL, TOOL), "Duplicate function declaration found: count", declared(TOOL, {**TOOL, "name": "b"})),
    "two schemas": Twins(
        declared({**TOOL, "parametersJsonSchema": {}}), "only one of", declared({"name": "a", "parametersJsonSchema": {"$ref": "#"}})
    ),
    "too many": Twins(
        declared(*({"name": f"t{n}"} for n in range(513))), "At most 512", declared(*({"name": f"t{n}", "description": ""} for n in range(512)))
    ),
    "empty tool": Twins(body(tools=[{}]), "tool_type", body(tools=[{"googleSearch": {}}])),
    "OpenAI's tool": Twins(body(tools=[{"type": "function"}]), "Unknown name \"type\" at 'tools[0]'", body(tools=[])),
    "parameters that are no object": Twins(declared({**TOOL, "parameters": {"type": "STRING"}}), "must be OBJECT", declared(TOOL)),
    "reference": Twins(schema(**{"$ref": "#"}), 'Unknown name "$ref"', schema(type="STRING", title="A")),
    "closed object": Twins(schema(type="OBJECT", additionalProperties=False), 'Unknown name "additionalProperties"', schema(type="OBJECT")),
    "two types": Twins(schema(type=["STRING", "NULL"]), "cannot start list", schema(type="STRING", nullable=True)),
    "unknown type": Twins(schema(type="DATE"), 'Type), "DATE"', schema(type="string", format="date-time")),
    "beside any_of": Twins(schema(anyOf=[{"type": "STRING"}], type="STRING"), "only field set", schema(anyOf=[{"type": "STRING"}], nullable=True)),
    "items of none": Twins(schema(type="ARRAY"), "items: missing field", schema(type="ARRAY", items={"type": "STRING"})),
    "items of text": Twins(schema(type="STRING", items={"type": "STRING"}), "$type == Type.ARRAY", schema(type="STRING", minLength="3")),
    "enum of numbers": Twins(schema(type="INTEGER", enum=["1"]), "only allowed for STRING", schema(type="STRING", enum=["1"])),
    "required but unknown": Twins(
        declared({**TOOL, "parameters": {**TOOL["parameters"], "required": ["b"]}}), "property is not defined", declared(TOOL)
    ),
    "JSON schema that is none": Twins(
        declared({"name": "a", "parametersJsonSchema": "object"}), "must be a schema", declared({"name": "a", "parametersJsonSchema": {}})
    ),
    "properties of text": Twins(schema(type="STRING", properties={}), "only allowed for OBJECT", schema(type="OBJECT", properties={})),
    "within items": Twins(
        schema(type="ARRAY", items={"type": "ARRAY"}), "items.items: missing field", schema(type="ARRAY", items={"type": "ARRAY", "items": {}})
    ),
    "within a choice": Twins(schema(anyOf=[{"type": "ARRAY"}]), "any_of[0].items: missing", schema(anyOf=[{"type": "ARRAY", "items": {}}])),
    "choice without tools": Twins(
        body(toolConfig={"functionCallingConfig": {"mode": "AUTO"}}), "set without function_declarations", choosing(mode="AUTO")
    ),
    "choice of some, free": Twins(choosing("count", mode="AUTO"), "ANY or VALIDATED", choosing("count", mode="any")),
    "choice of some, unset": Twins(choosing("count"), "ANY or VALIDATED", choosing("count", mode="VALIDATED")),
    "choice of another": Twins(choosing("other", mode="ANY"), "'other' is not a declared function", choosing("count", mode="ANY")),
    "choice by an unknown word": Twins(choosing(mode="REQUIRED"), 'Mode), "REQUIRED"', choosing(mode="NONE")),
}
SETTINGS = {
    "unknown argument": Twins(body(messages=[]), 'Unknown name "messages": Cannot find field', body(labels={"a": "b"})),
    "labels that are none": Twins(body(labels="a"), "(Map)", body(labels={})),
    "unknown key": Twins(body({**user(), "seq": 4}), "Unknown name \"seq\" at 'contents[0]'", body(user())),
    "unknown setting": Twins(config(max_tokens=4), "at 'generation_config'", config(max_output_tokens="4", stopSequences="x")),
    "one field in two spellings": Twins(config(topP=1, top_p=1), "set twice", config(top_p=1)),
    "temperature": Twins(config(temperature=2.1), "temperature", config(temperature=2)),
    "output cap": Twins(config(maxOutputTokens=0), "maxOutputTokens", config(maxOutputTokens=1)),
    "half a token": Twins(config(maxOutputTokens=1.5), "TYPE_INT", config(maxOutputTokens=2.0)),
    "stops": Twins(config(stopSequences=[*"abcdef"]), "stop_sequences", config(stopSequences=[*"abcde"])),
    "schema of plain text": Twins(config(responseSchema={"type": "STRING"}), "application/json", config(responseMimeType="application/json")),
    "two response schemas": Twins(
        config(responseMimeType="application/json", responseSchema={"type": "STRING"}, responseJsonSchema={}),
        "only one of",
        config(responseMimeType="application/json", responseSchema={"type": "STRING"}),
    ),
    "response schema": Twins(
        config(responseMimeType="application/json", responseSchema={"type": "ARRAY"}),
        "response_schema.items: missing field",
        config(responseMimeType="application/json", responseSchema={"type": "ARRAY", "items": {"type": "STRING"}}),
    ),
    "budget below none": Twins(thinking(thinkingBudget=-2), "out of range", thinking(thinkingBudget=-1), FLASH),
    "deep schema": Twins(shaped(16), "nesting depth", shaped(15)),
    "budget of 4": Twins(thinking(thinkingBudget=512), "budget is not supported", thinking(thinkingBudget=512), FOUR, THREE),
    "level of 2.5": Twins(thinking(thinkingLevel="LOW"), "Thinking level is not supported", thinking(thinkingBudget=-1), FLASH),
    "thinking of 2.0": Twins(thinking(includeThoughts=True), "Thinking is not supported", thinking(include_thoughts=True), "gemini-2.0-flash", FLASH),
    "both": Twins(thinking(thinkingBudget=1, thinkingLevel="LOW"), "only set only one", thinking(thinkingLevel="low"), THREE),
    "least of 4": Twins(thinking(thinkingLevel="MINIMAL"), "MINIMAL is not supported", thinking(thinkingLevel="MINIMAL"), FOUR, THREE),
    "most of 4": Twins(thinking(thinkingLevel="XHIGH"), "XHIGH is not supported", thinking(thinkingLevel="XHIGH"), FOUR, "gemini-4-neon"),
    "none of pro": Twins(thinking(thinkingBudget=0), "Budget 0 is invalid", thinking(thinkingBudget=0), "gemini-2.5-pro", FLASH),
    "none of 3.1 pro": Twins(thinking(thinkingBudget=0), "Budget 0 is invalid", thinking(thinkingBudget=128), "gemini-3.1-pro-preview"),
    "frequency": Twins(config(frequencyPenalty=1), "frequencyPenalty is not supported", config(frequencyPenalty=1), FOUR, THREE),
    "presence": Twins(config(presencePenalty=1), "presencePenalty is not supported", config(topK=4), FOUR),
    "two candidates": Twins(config(candidateCount=2), "Multiple candidates", config(candidateCount=1), FOUR),
    "cached and told": Twins(
        body(cachedContent="cachedContents/a", systemInstruction={"parts": [{"text": "x"}]}),
        "can not be used",
        body(cachedContent="cachedContents/a"),
    ),
    "cached and armed": Twins(declared(TOOL, cachedContent="cachedContents/a"), "can not be used", declared(TOOL)),
    "cached by 4": Twins(body(cachedContent="cachedContents/a"), "caching is not supported", body(cachedContent="cachedContents/a"), FOUR, THREE),
    "cached elsewhere": Twins(body(cachedContent="a"), "unexpected name", body(cachedContent=None)),
    "safety": Twins(
        body(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "NEVER"}]),
        "HarmBlockThreshold",
        body(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]),
    ),
}


@pytest.mark.parametrize("twins", [*TOOLS.values(), *SETTINGS.values()], ids=[*TOOLS.keys(), *SETTINGS.keys()])
def test_a_body_is_refused_for_its_rule_and_its_twin_is_served(twins: Twins):
    twins.hold()
