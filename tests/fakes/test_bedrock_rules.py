"""Each rule of the Converse fake: a body that breaks it, and its near twin that does not."""

from typing import Any, NamedTuple

import pytest

from tests.fakes.anthropic_bodies import HUGE_PNG, PNG
from tests.fakes.bedrock_rules import breaches

CLAUDE, CLAUDE_45, NOVA = "anthropic.claude-opus-5-v1:0", "eu.anthropic.claude-haiku-4-5-20251001-v1:0", "amazon.nova-pro-v1:0"
LLAMA, MISTRAL, OPUS_55 = "us.meta.llama4-maverick-17b-instruct-v1:0", "mistral.mistral-large-3", "us.anthropic.claude-opus-5-5"
TOOLS = {"tools": [{"toolSpec": {"name": "count", "inputSchema": {"json": {"type": "object"}}}}]}
IMAGE: dict[str, Any] = {"image": {"format": "png", "source": {"bytes": PNG}}}
DOCUMENT: dict[str, Any] = {"document": {"format": "txt", "name": "document-1", "source": {"bytes": "eA=="}}}
POINT = {"cachePoint": {"type": "default"}}
HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": each} if isinstance(each, str) else each for each in content]}


def says(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def system(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "system"}


def call(id: str, **more: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": "count", "input": {}, **more}}


def result(id: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id, "content": list(content) or [{"text": "7"}], **more}}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages) or [user("x")], **more}


def round_(*results: Any, calls: tuple[Any, ...] = (), **more: Any) -> dict[str, Any]:
    """A body with one round of calls."""
    return body(user("x"), says(*(calls or (call("a"),))), user(*results), **{"toolConfig": TOOLS, **more})


def spec(name: str = "count", schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"toolSpec": {"name": name, "inputSchema": {"json": schema or {"type": "object"}}, **more}}


def reasoning(**told: Any) -> dict[str, Any]:
    return {"reasoningContent": {"reasoningText": {"text": "Hm.", **told}}}


def extra(**fields: Any) -> dict[str, Any]:
    return body(additionalModelRequestFields=fields)


class Rule(NamedTuple):
    """A body that is refused with these words, its twin, and the models that the two are for (None: that of the first)."""

    gist: str
    refused: Any
    served: Any
    model: str = CLAUDE
    twin: str | None = None


ORDER = {
    "no messages": Rule("messages field is required", {"messages": []}, body()),
    "two users in a row": Rule("must alternate", body(user("x"), user("y")), body(user("x", "y"))),
    "two answers in a row": Rule("must alternate", body(user("x"), says("y"), says("z"), user("x")), body(user("x"), says("y", "z"), user("x"))),
    "answer first": Rule("must start with a user message", body(says("x"), user("y")), body(says("x"), user("y")), NOVA, CLAUDE),
    "system on a model without": Rule(
        "role 'system'", body(user("x"), system("y"), says("z"), user("x")), body(user("x"), system("y")), NOVA, CLAUDE
    ),
    "system before a user": Rule(
        "must precede", body(user("x"), says("y"), system("z"), user("x")), body(user("x"), system("z"), says("y"), user("x"))
    ),
    "unknown role": Rule("enum value set", body({"role": "tool", "content": []}), body()),
    "empty message": Rule("content field in the Message object at messages.0 is empty", body(user()), body()),
    "blank text": Rule("at messages.0.content.1 is blank", body(user("x", " ")), body(user("x", "y"))),
    "blank text in a result": Rule("is blank", round_(result("a", {"text": ""})), round_(result("a", {"text": ""})), NOVA, CLAUDE),
    "blank system": Rule("SystemContentBlock object is blank", body(system=[{"text": " "}]), body(system=[])),
    "prefill": Rule("assistant message prefill", body(user("x"), says("y")), body(user("x"), says("y")), CLAUDE, CLAUDE_45),
    "prefill that ends blank": Rule("trailing whitespace", body(user("x"), says("y ")), body(user("x"), says("y")), CLAUDE_45),
    "image of the assistant": Rule("not supported in messages", body(user("x"), says(IMAGE), user("x")), body(user(IMAGE), says("x"), user("x"))),
    "call of the user": Rule("not supported in messages", body(user(call("a")), toolConfig=TOOLS), body(user("x"), toolConfig=TOOLS)),
    "unknown block": Rule("extraneous key [music]", body(user({"music": {}})), body()),
    "two members of a union": Rule("exactly one of", body(user({"text": "x", **POINT})), body(user("x", POINT))),
    "unknown key": Rule("extraneous key [colour]", body(colour="red"), body(requestMetadata={"a": "b"})),
    "unknown key of a message": Rule("extraneous key [seq]", body({**user("x"), "seq": 1}), body()),
}
PAIRING = {
    "call without a result": Rule(
        "Expected toolResult blocks at messages.2.content for the following Ids: a",
        body(user("x"), says(call("a")), user("y"), toolConfig=TOOLS),
        round_(result("a"), "y"),
    ),
    "one of two": Rule(
        "following Ids: b", round_(result("a"), calls=(call("a"), call("b"))), round_(result("b"), result("a"), calls=(call("a"), call("b")))
    ),
    "call at the end": Rule("at messages.2.content", body(user("x"), says(call("a")), toolConfig=TOOLS), round_(result("a")), CLAUDE_45),
    "one result too many": Rule("messages.2.content exceeds the number", round_(result("a"), result("a")), round_(result("a"))),
    "result without a call": Rule("messages.0.content exceeds", body(user(result("a")), toolConfig=TOOLS), body(toolConfig=TOOLS)),
    "result of another call": Rule("following Ids: a", round_(result("b")), round_(result("a"))),
    "id twice": Rule("must be unique", round_(result("a"), result("b"), calls=(call("a"), call("a"))), round_(result("a"))),
    "text before the result": Rule("immediately after", round_("y", result("a")), round_(result("a"), "y")),
    "text beside the result": Rule("cannot be provided in the same turn", round_(result("a"), "y"), round_(result("a"), "y"), LLAMA, NOVA),
    "document beside the result": Rule("in the same turn", round_(result("a"), DOCUMENT, "y"), round_(result("a", DOCUMENT), "y")),
    "failure that says nothing": Rule(
        "cannot be empty when status value is error",
        round_({"toolResult": {"toolUseId": "a", "content": [], "status": "error"}}),
        round_({"toolResult": {"toolUseId": "a", "content": [], "status": "success"}}),
    ),
    "no tools for the calls": Rule("toolConfig field must be defined", {"messages": round_(result("a"))["messages"]}, round_(result("a"))),
    "id out of bounds": Rule("regular expression pattern", round_(result("a b"), calls=(call("a b"),)), round_(result("a.b"), calls=(call("a.b"),))),
    "id too long": Rule(
        "less than or equal to 64", round_(result("a" * 65), calls=(call("a" * 65),)), round_(result("a" * 64), calls=(call("a" * 64),))
    ),
    "id that Mistral has not": Rule("length of 9", round_(result("a")), round_(result("abcdefgh1"), calls=(call("abcdefgh1"),)), MISTRAL),
    "input that is no object": Rule("Provide a json object", round_(result("a"), calls=(call("a", input="{}"),)), round_(result("a"))),
    "result in JSON that is no object": Rule("Provide a json object", round_(result("a", {"json": [7]})), round_(result("a", {"json": {"n": 7}}))),
    "result of a server's tool": Rule(
        "not supported in messages",
        body(user("x"), says(call("a", type="server_tool_use"), result("a"), "y"), user("z"), toolConfig=TOOLS),
        body(user("x"), says(call("a", type="server_tool_use"), result("a", type="nova_code_interpreter_result"), "y"), user("z"), toolConfig=TOOLS),
        NOVA,
    ),
}
TOOL_RULES = {
    "no tools": Rule("greater than or equal to 1", body(toolConfig={"tools": []}), body()),
    "empty description": Rule("greater than or equal to 1", body(toolConfig={"tools": [spec(description="")]}), body(toolConfig={"tools": [spec()]})),
    "name out of bounds": Rule("regular expression pattern", body(toolConfig={"tools": [spec("a.b")]}), body(toolConfig={"tools": [spec("a-b")]})),
    "names twice": Rule("must be unique", body(toolConfig={"tools": [spec(), spec()]}), body(toolConfig={"tools": [spec(), spec("b")]})),
    "schema of no object": Rule(
        "one of the following: object", body(toolConfig={"tools": [spec(schema={"type": "string"})]}), body(toolConfig=TOOLS)
    ),
    "choice of nothing": Rule(
        "extraneous key [none]", body(toolConfig={**TOOLS, "toolChoice": {"none": {}}}), body(toolConfig={**TOOLS, "toolChoice": {"auto": {}}})
    ),
    "choice of no tool": Rule(
        "not among the tools",
        body(toolConfig={**TOOLS, "toolChoice": {"tool": {"name": "other"}}}),
        body(toolConfig={**TOOLS, "toolChoice": {"tool": {"name": "count"}}}),
    ),
    "choice of a tool elsewhere": Rule(
        "doesn't support the toolConfig.toolChoice.tool",
        body(toolConfig={**TOOLS, "toolChoice": {"tool": {"name": "count"}}}),
        body(toolConfig={**TOOLS, "toolChoice": {"any": {}}}),
        LLAMA,
    ),
    "strict with bounds": Rule(
        "'minimum' is not supported",
        body(
            toolConfig={"tools": [spec(schema={"type": "object", "additionalProperties": False, "properties": {"a": {"minimum": 1}}}, strict=True)]}
        ),
        body(
            toolConfig={"tools": [spec(schema={"type": "object", "additionalProperties": False, "properties": {"a": {"minLength": 1}}}, strict=True)]}
        ),
    ),
    "output that is no schema": Rule(
        "not valid JSON",
        body(outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{"}}}}),
        body(outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{}"}}}}),
    ),
}
REST = {
    "mark first": Rule("cannot be the first block", body(user(POINT, "x")), body(user("x", POINT))),
    "mark first among the tools": Rule(
        "cannot be the first", body(toolConfig={"tools": [POINT, spec()]}), body(toolConfig={"tools": [spec(), POINT]})
    ),
    "mark twice": Rule("cannot follow a cachePoint", body(user("x", POINT, POINT)), body(user("x", POINT, "y", POINT))),
    "mark after a document": Rule("cannot follow a document", body(user("x", DOCUMENT, POINT)), body(user(DOCUMENT, "x", POINT))),
    "five marks": Rule("maximum of 4", body(user(*["x", POINT] * 5)), body(user(*["x", POINT] * 4))),
    "hour after minutes": Rule("must not come after", body(user("x", POINT, "y", HOUR)), body(user("x", HOUR, "y", POINT))),
    "document alone": Rule("text block is required", body(user(DOCUMENT)), body(user(DOCUMENT, "x"))),
    "name of a document": Rule(
        "document name can only",
        body(user("x", {"document": {**DOCUMENT["document"], "name": "notes.txt"}})),
        body(user("x", {"document": {**DOCUMENT["document"], "name": "notes (1) [a]"}})),
    ),
    "six documents": Rule("limit of 5", body(user("x", *[DOCUMENT] * 6)), body(user("x", *[DOCUMENT] * 5))),
    "too many images": Rule("limit of 20", body(user("x", *[IMAGE] * 21)), body(user("x", *[IMAGE] * 20))),
    "image of another kind": Rule("appears to be png", body(user({"image": {**IMAGE["image"], "format": "gif"}})), body(user(IMAGE))),
    "image too large": Rule("8000 pixels", body(user({"image": {"format": "png", "source": {"bytes": HUGE_PNG}}})), body(user(IMAGE))),
    "image that is no base64": Rule("no base64", body(user({"image": {"format": "png", "source": {"bytes": "%"}}})), body(user(IMAGE))),
    "image by address": Rule("extraneous key [url]", body(user({"image": {"format": "png", "source": {"url": "u"}}})), body(user(IMAGE))),
    "cap of nothing": Rule("greater than or equal to 1", body(inferenceConfig={"maxTokens": 0}), body(inferenceConfig={"maxTokens": 1})),
    "cap too high": Rule(
        "model limit of 64000", body(inferenceConfig={"maxTokens": 64_001}), body(inferenceConfig={"maxTokens": 64_001}), CLAUDE_45, CLAUDE
    ),
    "temperature out of bounds": Rule(
        "less than or equal to 1", body(inferenceConfig={"temperature": 1.5}), body(inferenceConfig={"temperature": 1}), NOVA
    ),
    "temperature on a new model": Rule(
        "is deprecated", body(inferenceConfig={"temperature": 1}), body(inferenceConfig={"temperature": 1}), CLAUDE, CLAUDE_45
    ),
    "field that Claude has not": Rule("colour: Extra inputs", extra(colour="red"), extra(colour="red"), CLAUDE, NOVA),
    "budget on a new model": Rule('"thinking.type.enabled" is not supported', extra(**BUDGET), extra(**BUDGET), CLAUDE, CLAUDE_45),
    "budget beyond the cap": Rule(
        "must be greater than",
        body(additionalModelRequestFields=BUDGET, inferenceConfig={"maxTokens": 1024}),
        body(additionalModelRequestFields=BUDGET, inferenceConfig={"maxTokens": 1025}),
        CLAUDE_45,
    ),
    "forced where it always thinks": Rule(
        "forces tool use", body(toolConfig={**TOOLS, "toolChoice": {"any": {}}}), body(toolConfig={**TOOLS, "toolChoice": {"auto": {}}}), OPUS_55
    ),
    "none by Claude's own field, misspelt": Rule("does not match any", extra(tool_choice={"type": "never"}), extra(tool_choice={"type": "none"})),
    "unsigned thinking": Rule(
        "Invalid `signature`", body(user("x"), says(reasoning(), "y"), user("z")), body(user("x"), says(reasoning(), "y"), user("z")), CLAUDE, NOVA
    ),
    "budget, and a call without its thinking": Rule(
        "Expected `thinking`",
        round_(result("a"), additionalModelRequestFields=BUDGET),
        round_(result("a"), calls=(reasoning(signature="c2ln"), call("a")), additionalModelRequestFields=BUDGET),
        CLAUDE_45,
    ),
    "binding without its beta": Rule(
        "block_binding",
        extra(thinking={"type": "adaptive", "block_binding": {}}),
        extra(thinking={"type": "adaptive", "block_binding": {}}, anthropic_beta=["thinking-binding-controls-2026-08-01"]),
    ),
}
RULES = ORDER | PAIRING | TOOL_RULES | REST
COUNT: dict[str, Any] = {"input": {"converse": body(system=[{"text": "x"}])}}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_each_rule_parts_a_body_from_its_twin(rule: Rule):
    found = [breach.message for breach in breaches(rule.refused, rule.model)]
    assert any(rule.gist in message for message in found), found
    assert [breach.message for breach in breaches(rule.served, rule.twin or rule.model)] == []


def test_a_count_is_of_the_conversation_alone_and_of_claude():
    assert breaches(COUNT, CLAUDE, "CountTokens") == []
    assert breaches(COUNT, NOVA, "CountTokens")
    assert breaches({"input": {"converse": body(inferenceConfig={})}}, CLAUDE, "CountTokens")
    assert breaches({"input": {"converse": body(says("x"), says("y"))}}, CLAUDE, "CountTokens")
    assert breaches({"input": {"invokeModel": {"body": "e30="}}}, CLAUDE, "CountTokens") == []
