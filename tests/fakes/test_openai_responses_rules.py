"""Each rule of the Responses endpoint: a body that is refused for it, and its near twin that is served."""

from typing import Any, NamedTuple

import pytest

from tests.fakes.openai_responses_items import CALL_ID_CHARS_MAX
from tests.fakes.openai_responses_rules import breaches

USER: dict[str, Any] = {"role": "user", "content": "How many?"}
SAID: dict[str, Any] = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Seven.", "annotations": []}]}
TOOL: dict[str, Any] = {"type": "function", "name": "count", "strict": False, "parameters": {"type": "object", "properties": {}}}
IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def call(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "count", "arguments": "{}", **more}


def output(call_id: str, output: Any = "7", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


def thought(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA", **more}


def body(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "store": False, "input": list(items), **more}


def tools(*given: Any, **more: Any) -> dict[str, Any]:
    return body(USER, tools=list(given), **more)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    return tools({**TOOL, "strict": True, "parameters": schema})


def shaped(**more: Any) -> dict[str, Any]:
    return body(USER, text={"format": {"type": "json_schema", "name": "count", "schema": {"type": "object"}, **more}})


class Twins(NamedTuple):
    refused: dict[str, Any]
    words: str
    served: dict[str, Any]


LONG = "c" * CALL_ID_CHARS_MAX
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
ALLOWED: dict[str, Any] = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "count"}]}
NESTED_CHOICE = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "count"}}]}}
CHAT_TOOL = {"type": "function", "function": {"name": "count", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "name": "other"}
TWO = [{**TOOL, "name": "a"}, {**TOOL, "name": "b"}]
SEARCH = {"type": "tool_search_call", "arguments": {}, "call_id": "s", "execution": "client"}
FOUND = {"type": "tool_search_output", "tools": [TOOL], "call_id": "s", "execution": "client"}
CUSTOM = {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "x"}
PATCHED = {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"}

ITEMS = {
    "output without a call": Twins(body(USER, output("a")), "No tool call found for function call output", body(USER, call("a"), output("a"))),
    "output before its call": Twins(body(output("a"), call("a")), "No tool call found", body(call("a"), output("a"))),
    "output twice": Twins(body(call("a"), output("a"), output("a")), "No tool call found", body(call("a"), call("b"), output("b"), output("a"))),
    "output of another kind": Twins(body(CUSTOM, output("a")), "No tool call found", body(CUSTOM, PATCHED)),
    "call without an output": Twins(body(USER, call("a")), "No tool output found for function call a", body(USER, call("a"), output("a"))),
    "one of two": Twins(body(call("a"), call("b"), output("b")), "No tool output found for function call a", body(call("b"), output("b"))),
    "custom call alone": Twins(body(CUSTOM), "No tool output found for custom tool call a", body(CUSTOM, PATCHED)),
    "client's search alone": Twins(body(SEARCH), "No tool output found for tool search call", body(SEARCH, FOUND)),
    "endpoint's search alone": Twins(body(SEARCH), "No tool output found", body({**SEARCH, "execution": "server"})),
    "call id twice": Twins(
        body(call("a"), output("a"), call("a"), output("a")), "Duplicate 'call_id'", body(call("a"), output("a"), call("b"), output("b"))
    ),
    "item id twice": Twins(body({**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}), "Duplicate item found with id msg_1", body(SAID, SAID)),
    "call id too long": Twins(body(call(LONG + "c"), output(LONG + "c")), "maximum length 64", body(call(LONG), output(LONG))),
    "call id empty": Twins(body(call(""), output("")), "call_id': empty string", body(call("a"), output("a"))),
    "another endpoint's id": Twins(body(call("a", id="call_1"), output("a")), "begins with 'fc'", body(call("a", id="fc_1"), output("a"))),
    "invented id": Twins(body({**SAID, "id": "m1"}), "begins with 'msg'", body({**SAID, "id": "msg_1"})),
    "reasoning's id": Twins(body(thought(id="th_1"), SAID), "begins with 'rs'", body(thought(), SAID)),
    "reasoning at the end": Twins(body(USER, thought()), "without its required following item", body(USER, thought(), SAID)),
    "reasoning before a user": Twins(body(thought(), USER), "without its required following item", body(thought(), SAID, USER)),
    "reasoning before an output": Twins(
        body(call("a"), thought(), output("a")), "without its required following item", body(thought(), call("a"), output("a"))
    ),
    "reasoning without its content": Twins(
        body(thought(encrypted_content=None), SAID), "not persisted", body(thought(encrypted_content=None), SAID, store=True)
    ),
    "reasoning without anything": Twins(body({"type": "reasoning", "summary": []}, SAID), "encrypted_content", body(thought(id=None), SAID)),
    "reasoning without a summary": Twins(body({**thought(), "summary": None}, SAID), "summary", body(thought(), SAID)),
    "summary of text": Twins(body(thought(summary=["Hm."]), SAID), "summary", body(thought(summary=[{"type": "summary_text", "text": "Hm."}]), SAID)),
    "reasoning for a plain model": Twins(
        body(thought(), SAID, model="gpt-4o"), "Encrypted content is not supported", body(thought(), SAID, model="gpt-5")
    ),
    "unknown item": Twins(body({"type": "tool_result", "content": "x"}), "Invalid value: 'tool_result'", body(USER)),
    "unknown key": Twins(body(call("a", index=0), output("a")), "Unknown parameter: 'input[0].index'", body(call("a", status=None), output("a"))),
    "unknown role": Twins(body({"role": "tool", "content": "x"}), "Invalid value: 'tool'", body({"role": "developer", "content": "x"})),
    "unknown part": Twins(
        body({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        "Invalid value: 'text'",
        body({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
    ),
    "input as output": Twins(
        body({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}), "'output_text', 'refusal'", body({**SAID, "id": None})
    ),
    "picture by the model": Twins(body({"role": "assistant", "content": [IMAGE]}), "input_image", body({"role": "user", "content": [IMAGE]})),
    "picture in an output": Twins(
        body(call("a"), output("a", [{"type": "image_url", "image_url": {"url": "u"}}])), "image_url", body(call("a"), output("a", [IMAGE]))
    ),
    "picture of no kind": Twins(
        body({"role": "user", "content": [{**IMAGE, "image_url": "data:image/tiff;base64,AA=="}]}),
        "Expected a valid URL",
        body({"role": "user", "content": [{**IMAGE, "image_url": "https://example.com/a"}]}),
    ),
    "picture twice": Twins(
        body({"role": "user", "content": [{**IMAGE, "file_id": "f"}]}),
        "one of",
        body({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}),
    ),
    "file without its type": Twins(
        body({"role": "user", "content": [{"type": "input_file", "file_data": "AA=="}]}),
        "'data:' prefix",
        body({"role": "user", "content": [{"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}]}),
    ),
    "no content": Twins(body({"role": "user", "content": None}), "Invalid type", body({"role": "user", "content": ""})),
    "no output": Twins(body(call("a"), output("a", None)), "Invalid type", body(call("a"), output("a", ""))),
    "arguments as an object": Twins(body(call("a", arguments={}), output("a")), "expected a string", body(call("a", arguments="{"), output("a"))),
    "name out of bounds": Twins(body(call("a", name="co unt"), output("a")), "does not match pattern", body(call("a", name="co-unt"), output("a"))),
    "phase of a user": Twins(body({**USER, "phase": "commentary"}), "phase", body({**SAID, "phase": "commentary"})),
    "text too long": Twins(
        body({"role": "user", "content": "x" * 10_485_761}), "string too long", body({"role": "user", "content": "x" * 10_485_760})
    ),
    "trigger amidst": Twins(body({"type": "compaction_trigger"}, USER), "last item", body(USER, {"type": "compaction_trigger"})),
    "update for an older model": Twins(
        body(USER, {"type": "configuration_update", "reasoning": {"effort": "low"}}, model="gpt-5.6-sol"),
        "not supported with this model",
        body(USER, {"type": "configuration_update", "reasoning": {"effort": "low"}}, model="gpt-6-sol"),
    ),
    "nothing": Twins(body(), "must be provided", body(USER)),
}
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
    "truncation": Twins(body(USER, truncation="middle"), "truncation", body(USER, truncation="auto")),
}
RULES = {**ITEMS, **TOOLS, **ARGUMENTS}


@pytest.mark.parametrize("twins", RULES.values(), ids=RULES.keys())
def test_a_body_is_refused_for_its_rule_and_its_twin_is_served(twins: Twins):
    assert any(twins.words in breach.message for breach in breaches(twins.refused)), breaches(twins.refused)
    assert breaches(twins.served) == []


def test_what_is_counted_has_no_arguments_of_an_answer():
    counted = {"model": "m", "input": [USER], "tools": [TOOL]}
    assert breaches(counted, counting=True) == []
    arguments: list[dict[str, Any]] = [{"max_output_tokens": 99}, {"store": False}, {"stream": True}, {"include": []}]
    for argument in arguments:
        assert [breach.code for breach in breaches({**counted, **argument}, counting=True)] == ["unknown_parameter"]


def test_an_output_may_answer_a_call_that_the_endpoint_keeps():
    assert breaches(body(output("a"), previous_response_id="resp_1")) == []
    assert breaches(body(output("a"), output("a"), call("a"), previous_response_id="resp_1"))
