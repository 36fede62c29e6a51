"""Each rule of tools and of arguments: a body that is refused for it, and its near twin that is served."""

from typing import Any

import pytest

from tests.fakes.openai_responses_bodies import TOOL, USER, Twins, body, nested, shaped, strict, tools
from tests.fakes.openai_responses_rules import breaches

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
ALLOWED: dict[str, Any] = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "count"}]}
NESTED_CHOICE = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "count"}}]}}
CHAT_TOOL = {"type": "function", "function": {"name": "count", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "name": "other"}
OPEN = {"type": "object", "properties": {}}
SPACE = {"type": "namespace", "name": "trees", "description": "x", "tools": [TOOL]}
TWO = [{**TOOL, "name": "a"}, {**TOOL, "name": "b"}]


def holding(schema: dict[str, Any]) -> dict[str, Any]:
    """A closed object with one property of that schema."""
    return {**CLOSED, "properties": {"a": schema}}


def wide(properties: int) -> dict[str, Any]:
    names = [f"p{number}" for number in range(properties)]
    return {**CLOSED, "properties": {name: {"type": "string"} for name in names}, "required": names}


def listed(values: int, chars: int) -> dict[str, Any]:
    return holding({"type": "string", "enum": [f"{number:0{chars}}" for number in range(values)]})


TOOLS = {
    "no tools but a choice": Twins(tools(tool_choice="auto"), "only allowed when 'tools'", tools()),
    "choice of another": Twins(tools(TOOL, tool_choice=OTHER), "Tool choice 'other' not found", tools(TOOL, tool_choice={**OTHER, "name": "count"})),
    "choice of the chat kind": Twins(
        tools(TOOL, tool_choice={"type": "function", "function": {"name": "count"}}), "tool_choice.name", tools(TOOL, tool_choice="required")
    ),
    "choice by an unknown word": Twins(tools(TOOL, tool_choice="any"), "Invalid value: 'any'", tools(TOOL, tool_choice="none")),
    "choice of a hosted tool": Twins(
        tools(TOOL, tool_choice={"type": "web_search"}), "not found", tools({"type": "web_search"}, tool_choice={"type": "web_search"})
    ),
    "choice of some, nested": Twins(tools(TOOL, tool_choice=NESTED_CHOICE), "Invalid 'tool_choice'", tools(TOOL, tool_choice=ALLOWED)),
    "choice of some, one unknown": Twins(
        tools(TOOL, tool_choice={**ALLOWED, "tools": [*ALLOWED["tools"], OTHER]}), "'other' not found", tools(TOOL, tool_choice=ALLOWED)
    ),
    "choice of none of them": Twins(
        tools(TOOL, tool_choice={**ALLOWED, "tools": []}), "at least one", tools(TOOL, tool_choice={**ALLOWED, "mode": "required"})
    ),
    "tool of the chat kind": Twins(tools(CHAT_TOOL), "Missing required parameter: 'tools[0].name'", tools(TOOL)),
    "strict left out": Twins(tools({key: TOOL[key] for key in TOOL if key != "strict"}), "'tools[0].strict'", tools({**TOOL, "strict": None})),
    "two of one name": Twins(tools(TOOL, TOOL), "must be unique", tools(*TWO)),
    "tool's name": Twins(tools({**TOOL, "name": "a.b"}), "does not match pattern", tools({**TOOL, "name": "a_b"})),
    "unknown tool": Twins(tools({"type": "retrieval"}), "Invalid value: 'retrieval'", tools({"type": "tool_search"})),
    "unknown key of a tool": Twins(tools({**TOOL, "cache_control": {}}), "Unknown parameter: 'tools[0].cache", tools({**TOOL, "description": None})),
    "parameters that are no object": Twins(tools({**TOOL, "parameters": {}}), 'type: "object"', tools({**TOOL, "parameters": {"type": "object"}})),
    "too many": Twins(
        tools(*({**TOOL, "name": f"t{n}"} for n in range(129))), "maximum length 128", tools(*({**TOOL, "name": f"t{n}"} for n in range(128)))
    ),
    "strict but open": Twins(strict({**CLOSED, "additionalProperties": True}), "additionalProperties", strict(CLOSED)),
    "strict but optional": Twins(strict({**CLOSED, "required": []}), "'required'", strict(CLOSED)),
    "strict and combined": Twins(
        strict({**CLOSED, "properties": {"a": {"allOf": []}}}), "allOf", strict({**CLOSED, "properties": {"a": {"anyOf": [{"type": "null"}]}}})
    ),
    "description that is none": Twins(tools({**TOOL, "description": 4}), "'tools[0].description'", tools({**TOOL, "description": ""})),
    "word for strict": Twins(tools({**TOOL, "strict": "yes"}), "'tools[0].strict'", tools(TOOL)),
    "tool of a namespace": Twins(tools({**SPACE, "tools": [{**TOOL, "name": "a.b"}]}), "'tools[0].tools[0].name'", tools(SPACE)),
    "choice of a hosted tool that is none": Twins(
        tools(TOOL, tool_choice={"type": "retrieval"}), "Invalid value: 'retrieval'", tools(SPACE, tool_choice={"type": "function", "name": "count"})
    ),
    "choice with more": Twins(
        tools(TOOL, tool_choice={"type": "function", "name": "count", "strict": True}),
        "Unknown parameter in 'tool_choice'",
        tools(TOOL, tool_choice={"type": "function", "name": "count"}),
    ),
    "strict and within items": Twins(
        strict(holding({"type": "array", "items": OPEN})), "additionalProperties", strict(holding({"type": "array", "items": CLOSED}))
    ),
    "strict and within a choice": Twins(strict(holding({"anyOf": [OPEN]})), "additionalProperties", strict(holding({"anyOf": [CLOSED]}))),
    "strict and within definitions": Twins(
        strict({**CLOSED, "$defs": {"a": OPEN}}), "additionalProperties", strict({**CLOSED, "$defs": {"a": CLOSED}})
    ),
    "strict and a choice at its root": Twins(strict({**CLOSED, "anyOf": []}), "at its root", strict(CLOSED)),
    "strict and wide": Twins(strict(wide(5001)), "5001 parameters exceeds limit of 5000.", strict(wide(5000))),
    "strict and full of values": Twins(strict(listed(1001, 1)), "1001 enum values exceeds limit of 1000.", strict(listed(1000, 1))),
    "strict and one long enum": Twins(strict(listed(251, 60)), "more than 250 values", strict(listed(250, 60))),
    "strict and long": Twins(strict(listed(240, 501)), "characters of names and enums", strict(listed(240, 490))),
    "strict and deep": Twins(strict(nested(11)), "11 levels of nesting exceeds limit of 10.", strict(nested(10))),
}
ARGUMENTS = {
    "unknown argument": Twins(body(USER, messages=[]), "Unknown parameter: 'messages'", body(USER, prompt_cache_key="k")),
    "no model": Twins(body(USER, model=""), "model", body(USER)),
    "output cap": Twins(body(USER, max_output_tokens=15), "Expected a value >= 16", body(USER, max_output_tokens=16)),
    "chat's output cap": Twins(body(USER, max_tokens=99), "Unknown parameter: 'max_tokens'", body(USER, max_output_tokens=None)),
    "stop strings": Twins(body(USER, stop=["x"]), "Unknown parameter: 'stop'", body(USER, truncation="disabled")),
    "temperature": Twins(body(USER, temperature=2.1), "temperature", body(USER, temperature=2)),
    "temperature while reasoning": Twins(
        body(USER, temperature=1, model="gpt-5"), "Unsupported parameter", body(USER, temperature=1, model="gpt-4o")
    ),
    "temperature on 5.4": Twins(
        body(USER, temperature=1, model="gpt-5.4", reasoning={"effort": "low"}), "Unsupported parameter", body(USER, temperature=1, model="gpt-5.4")
    ),
    "temperature on 5.6": Twins(
        body(USER, temperature=1, model="gpt-5.6-sol"),
        "Unsupported parameter",
        body(USER, temperature=1, model="gpt-5.6-sol", reasoning={"effort": "none"}),
    ),
    "effort that does not exist": Twins(body(USER, reasoning={"effort": "huge"}), "effort", body(USER, reasoning={"effort": "max"})),
    "effort of another model": Twins(
        body(USER, model="gpt-5.6-sol", reasoning={"effort": "minimal"}),
        "Unsupported value",
        body(USER, model="gpt-5", reasoning={"effort": "minimal"}),
    ),
    "no effort": Twins(
        body(USER, model="gpt-6-astra", reasoning={"effort": "none"}),
        "Unsupported value",
        body(USER, model="gpt-6-sol", reasoning={"effort": "none"}),
    ),
    "effort of a plain model": Twins(
        body(USER, model="gpt-4.1", reasoning={"effort": "low"}), "Unsupported parameter", body(USER, model="gpt-4.1", reasoning={})
    ),
    "encrypted content of a plain model": Twins(
        body(USER, model="gpt-4o", include=["reasoning.encrypted_content"]),
        "Encrypted content is not supported",
        body(USER, model="o4-mini", include=["reasoning.encrypted_content"]),
    ),
    "included": Twins(body(USER, include=["usage"]), "Invalid value: 'usage'", body(USER, include=[])),
    "summary": Twins(body(USER, reasoning={"summary": "long"}), "reasoning.summary", body(USER, reasoning={"summary": "auto"})),
    "previous response": Twins(body(USER, previous_response_id="r1"), "begins with 'resp'", body(USER, previous_response_id="resp_1")),
    "two pasts": Twins(
        body(USER, previous_response_id="resp_1", conversation="c"), "Mutually exclusive", body(USER, previous_response_id=None, conversation="c")
    ),
    "options without a stream": Twins(
        body(USER, stream=False, stream_options={}), "'stream' is enabled", body(USER, stream_options={"include_obfuscation": False})
    ),
    "verbosity": Twins(body(USER, text={"verbosity": "loud"}), "verbosity", body(USER, text={"verbosity": "low"})),
    "format of the chat kind": Twins(
        body(USER, text={"format": {"type": "json_schema", "json_schema": {}}}), "Unknown parameter", body(USER, text={"format": {"type": "text"}})
    ),
    "format without a schema": Twins(shaped(schema=None), "'text.format.schema'", shaped()),
    "format that is open": Twins(shaped(strict=True), "Invalid schema for response_format", shaped(strict=True, schema=CLOSED)),
    "metadata": Twins(body(USER, metadata={"k": "v" * 513}), "metadata", body(USER, metadata={"k": "v" * 512})),
    "safety identifier": Twins(body(USER, safety_identifier="s" * 65), "safety_identifier", body(USER, safety_identifier="s" * 64)),
    "cache options": Twins(body(USER, prompt_cache_options={"ttl": "5m"}), "prompt_cache_options", body(USER, prompt_cache_options={"ttl": "12h"})),
    "compaction": Twins(
        body(USER, context_management=[{"type": "compaction", "compact_threshold": 999}]),
        "context_management",
        body(USER, context_management=[{"type": "compaction", "compact_threshold": 1000}]),
    ),
    "unknown key of text": Twins(body(USER, text={"style": "x"}), "Unknown parameter: 'text.style'", body(USER, text={})),
    "unknown format": Twins(body(USER, text={"format": {"type": "grammar"}}), "'text.format'", body(USER, text={"format": {"type": "json_object"}})),
    "name of a format": Twins(shaped(name="a b"), "'text.format.name'", shaped(name="a_b")),
    "unknown key of reasoning": Twins(
        body(USER, reasoning={"max_tokens": 9}), "Unknown parameter: 'reasoning.max_tokens'", body(USER, reasoning={"mode": "pro"})
    ),
    "word for a switch": Twins(body(USER, parallel_tool_calls="no"), "Invalid type", body(USER, parallel_tool_calls=False)),
    "tools in an object": Twins(body(USER, tools={}), "Invalid type for 'tools'", body(USER, tools=None)),
    "truncation": Twins(body(USER, truncation="middle"), "truncation", body(USER, truncation="auto")),
}


@pytest.mark.parametrize("twins", [*TOOLS.values(), *ARGUMENTS.values()], ids=[*TOOLS.keys(), *ARGUMENTS.keys()])
def test_a_body_is_refused_for_its_rule_and_its_twin_is_served(twins: Twins):
    twins.hold()


def test_what_is_counted_has_no_arguments_of_an_answer():
    counted = {"model": "m", "input": [USER], "tools": [TOOL]}
    assert breaches(counted, counting=True) == []
    arguments: list[dict[str, Any]] = [{"max_output_tokens": 99}, {"store": False}, {"stream": True}, {"include": []}]
    for argument in arguments:
        assert [breach.code for breach in breaches({**counted, **argument}, counting=True)] == ["unknown_parameter"]
