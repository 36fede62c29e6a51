"""The rules of a Converse body: each is caught where it is broken and not in its near twin."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from app.formats.bedrock.families import rules_for
from app.formats.bedrock.rules import RULES
from app.formats.bedrock.validate import validate
from app.models.wire_rules import WireRules, with_quirks
from tests.formats.bedrock.bodies import (
    CALL,
    FILE,
    IMAGE,
    MARK,
    RESULT,
    SPEC,
    TEXT,
    THOUGHT,
    TOOL,
    TOOLS,
    Body,
    answer,
    asked,
    call,
    called,
    chat,
    choosing,
    formatted,
    named,
    result,
    thinking,
    user,
)
from tests.formats.bedrock.judge import objections
from tests.formats.bedrock.requests import BOUND, HAIKU, LLAMA, MISTRAL, OPUS

FILES = [named(f"d{number}") for number in range(6)]
BUDGET = {key: value for key, value in thinking(1024, 2000).items() if key != "messages"}
NONE = {"additionalModelRequestFields": {"tool_choice": {"type": "none"}}}


def codes(body: Body, rules: WireRules = RULES) -> list[tuple[str, str]]:
    return [(found.pointer, found.code) for found in validate(body, rules)]


def marked(inputs: int, tools: int = 1) -> Body:
    """A body with that many cache points in its inputs, one in its instructions, and some in its tools."""
    return chat(user(*[TEXT, MARK] * inputs), system=[TEXT, MARK], toolConfig={"tools": [TOOL, *[MARK] * tools]})


@pytest.mark.req("X-24")
@pytest.mark.parametrize(
    ("broken", "pointer", "code", "twin"),
    [
        (called(TEXT), "/messages/1/content/0/toolUse", "call-without-result", called(RESULT)),
        (chat(user(TEXT), answer(CALL), toolConfig=TOOLS), "/messages/1/content/0/toolUse", "call-without-result", None),
        (chat(user(TEXT), answer(CALL), user(TEXT, RESULT)), "/toolConfig", "tools-missing", called(TEXT, RESULT)),
        (called(RESULT, calls=(TEXT,)), "/messages/2/content/0/toolResult/toolUseId", "result-without-call", called(RESULT)),
        (called(RESULT, RESULT), "/messages/2/content/1/toolResult/toolUseId", "result-repeated", called(RESULT)),
        (called(RESULT, calls=(CALL, CALL)), "/messages/1/content/1/toolUse/toolUseId", "call-id-repeated", None),
        (chat(user(TEXT), user(TEXT)), "/messages/1/role", "roles-alternate", chat(user(TEXT, TEXT))),
        (chat(user(TEXT), answer(TEXT), answer(TEXT), user(TEXT)), "/messages/2/role", "roles-alternate", None),
        (chat(answer(TEXT), user(TEXT)), "/messages/0", "user-first", chat(user(TEXT), answer(TEXT), user(TEXT))),
        (chat(user(TEXT), answer(TEXT)), "/messages/1", "user-last", asked()),
        (called(RESULT, TEXT, FILE), "/messages/2/content/2", "beside-results", called(RESULT, TEXT, IMAGE)),
        (called(result(status="error")), "/messages/2/content/0/toolResult/content", "error-result-empty", called(result())),
        (called(result({"text": " "})), "/messages/2/content/0/toolResult/content/0/text", "text-blank", called(result({"text": "."}))),
        (chat(user({"text": "\n\t"})), "/messages/0/content/0/text", "text-blank", chat(user({"text": "\nx"}))),
        (chat(user({"text": ""})), "/messages/0/content/0/text", "text-blank", chat(user({"text": "."}))),
        (chat(user(FILE)), "/messages/0/content", "document-without-text", chat(user(FILE, TEXT))),
        (chat(user(TEXT), answer(TEXT, IMAGE), user(TEXT)), "/messages/1/content/1", "media-in-answer", chat(user(TEXT, IMAGE))),
        (chat(user(TEXT), answer(FILE), user(TEXT)), "/messages/1/content/0", "media-in-answer", None),
        (chat(user(TEXT, *[IMAGE] * 21)), "/messages/0/content", "images-too-many", chat(user(TEXT, *[IMAGE] * 20))),
        (chat(user(TEXT, *FILES)), "/messages/0/content", "documents-too-many", chat(user(TEXT, *FILES[:5]))),
        (called(result(*[IMAGE] * 21)), "/messages/2/content", "images-too-many", called(result(*[IMAGE] * 20))),
        (chat(user(TEXT, named("a.b"))), "/messages/0/content/1/document/name", "name-invalid", chat(user(TEXT, named("a (b) [c]-d")))),
        (chat(user(TEXT, named("a  b"))), "/messages/0/content/1/document/name", "name-invalid", chat(user(TEXT, named("a b")))),
        (chat(user(TEXT, named("x" * 201))), "/messages/0/content/1/document/name", "text-length", chat(user(TEXT, named("x" * 200)))),
        (called(result(FILE, FILE)), "/messages/2/content/0/toolResult/content/1/document/name", "name-repeated", called(result(*FILES[:2]))),
        (chat(user(MARK, TEXT)), "/messages/0/content/0", "cache-point-first", chat(user(TEXT, MARK))),
        (chat(user(TEXT, MARK, MARK)), "/messages/0/content/2", "cache-point-misplaced", chat(user(TEXT, MARK, TEXT, MARK))),
        (chat(user(TEXT, FILE, MARK)), "/messages/0/content/2", "cache-point-misplaced", chat(user(TEXT, MARK, FILE))),
        (asked(system=[MARK]), "/system/0", "cache-point-first", asked(system=[TEXT, MARK])),
        (asked(toolConfig={"tools": [MARK, TOOL]}), "/toolConfig/tools/0", "cache-point-first", asked(toolConfig={"tools": [TOOL, MARK]})),
        (marked(3), "", "cache-points-too-many", marked(2)),
        (chat(user(CALL), toolConfig=TOOLS), "/messages/0/content/0", "call-in-input", None),
        (chat(user(TEXT, THOUGHT)), "/messages/0/content/1", "reasoning-in-input", chat(user(TEXT), answer(THOUGHT, TEXT), user(TEXT))),
        (chat(user(TEXT), answer(RESULT), user(TEXT), toolConfig=TOOLS), "/messages/1/content/0", "result-in-answer", None),
        (chat(), "/messages", "messages-missing", asked()),
        ({"messages": {}}, "/messages", "messages-missing", {"promptVariables": {"a": {"text": "b"}}}),
        (asked(system=[{"text": " "}]), "/system/0/text", "text-blank", asked(system=[])),
        (asked(toolConfig={"tools": [TOOL, TOOL]}), "/toolConfig/tools/1/toolSpec/name", "name-repeated", asked(toolConfig=TOOLS)),
        (choosing(tool={"name": "other"}), "/toolConfig/toolChoice/tool/name", "choice-not-declared", choosing(tool={"name": "lookup"})),
        (choosing(auto={}) | NONE, "/additionalModelRequestFields/tool_choice", "choice-twice", asked(toolConfig=TOOLS) | NONE),
        (thinking(2000, 2000), "/additionalModelRequestFields/thinking/budget_tokens", "out-of-range", thinking(2000, 2001)),
        (thinking(1023, 2000), "/additionalModelRequestFields/thinking/budget_tokens", "out-of-range", thinking(1024, 2000)),
        (called(RESULT, **BUDGET), "/messages/1/content/0", "thinking-missing", called(RESULT, calls=(THOUGHT, CALL), **BUDGET)),
        (chat(user(TEXT), answer(TEXT), **BUDGET), "/messages/1/content/0", "thinking-missing", chat(user(TEXT), answer(TEXT), user(TEXT), **BUDGET)),
        (formatted("x"), "/outputConfig/textFormat/structure/jsonSchema/schema", "schema-invalid", formatted("{}")),
    ],
)
def test_each_rule_is_caught_and_its_near_twin_is_not(broken: Body, pointer: str, code: str, twin: Body | None):
    assert (pointer, code) in codes(broken)
    if twin is not None:
        assert codes(twin) == []


@pytest.mark.parametrize(
    ("model", "body", "code", "elsewhere"),
    [
        (LLAMA, called(RESULT, TEXT), "beside-results", OPUS),
        (MISTRAL, called(RESULT), "call-id-invalid", OPUS),
        (OPUS, called(result(toolUseId="a.b"), calls=(call(toolUseId="a.b"),)), "call-id-invalid", "x"),
        ("writer.palmyra-x5-v1:0", called(result(TEXT, status="error")), "status-not-taken", OPUS),
        (BOUND, choosing(any={}), "choice-not-taken", OPUS),
        (LLAMA, choosing(tool={"name": "lookup"}), "choice-not-taken", OPUS),
        (OPUS, asked(inferenceConfig={"temperature": 0.5}), "temperature-not-taken", HAIKU),
        (OPUS, chat(user(TEXT), answer(TEXT)), "user-last", HAIKU),
        (HAIKU, chat(user(TEXT), answer({"text": "x "})), "trailing-blanks", None),
        ("amazon.nova-pro-v1:0", chat(answer(TEXT), user(TEXT)), "user-first", OPUS),
    ],
)
def test_rules_of_one_family_are_no_others(model: str, body: Body, code: str, elsewhere: str | None):
    assert code in [found for _, found in codes(body, rules_for(model))]
    if elsewhere is not None:
        assert codes(body, rules_for(elsewhere)) == []


def test_sizes_are_those_of_the_target():
    small = with_quirks(RULES, {"image_bytes_max": 8, "file_bytes_max": 4})
    assert codes(chat(user(TEXT, IMAGE)), small) == []
    assert codes(chat(user(TEXT, FILE)), small) == [("/messages/0/content/1/document/source/bytes", "document-too-large")]
    assert codes(called(result(IMAGE)), with_quirks(RULES, {"image_bytes_max": 7})) == [
        ("/messages/2/content/0/toolResult/content/0/image/source/bytes", "image-too-large")
    ]
    few = with_quirks(RULES, {"tools_max": 1, "description_chars_max": 1, "name_pattern": "[a-z]{1,6}"})
    body = asked(toolConfig={"tools": [TOOL, {"toolSpec": {**SPEC, "name": "lookups", "description": "dd"}}, MARK]})
    assert [code for _, code in codes(body, few)] == ["tools-too-many", "name-invalid", "description-too-long"]


@pytest.mark.parametrize(
    ("inner", "broken"),
    [
        ({"properties": {"minimum": {"type": "string", "pattern": "^a", "minLength": 2}}}, None),
        ({"additionalProperties": True}, ""),
        ({"properties": {"a": {"type": "object"}}}, "/properties/a"),
        ({"properties": {"a": {"type": "integer", "maximum": 3}}}, "/properties/a/maximum"),
        ({"properties": {"a": {"type": "array", "minItems": 1}}}, None),
        ({"properties": {"a": {"type": "array", "minItems": 2}}}, "/properties/a/minItems"),
        ({"anyOf": [{"pattern": "(?!a)"}]}, "/anyOf/0/pattern"),
        ({"properties": {"a": {"enum": [{"maximum": 1}]}}}, None),
    ],
)
def test_a_strict_schema_says_less(inner: Body, broken: str | None):
    schema = {"type": "object", "additionalProperties": False, **inner}
    strict = asked(toolConfig={"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema}, "strict": True}}]})
    place = "/toolConfig/tools/0/toolSpec/inputSchema/json"
    assert codes(strict) == ([] if broken is None else [(place + broken, "schema-not-strict")])
    assert codes(asked(toolConfig={"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema}}}]})) == []


def test_no_content_in_details():
    body = chat(user({"text": "secret", "x": "secret"}), secret_role=1)
    assert not any("secret" in found.detail for found in validate(body))


def test_a_message_of_the_system_between_is_let_through():
    assert codes(chat(user(TEXT), {"role": "system", "content": [TEXT]}, answer(CALL), user(RESULT), toolConfig=TOOLS)) == []


@pytest.mark.req("X-90")
def test_recorded_bodies_that_bedrock_accepted_are_accepted(shared: Path):
    schema = Draft202012Validator(json.loads((shared / "specs" / "derived" / "bedrock_converse.request.schema.json").read_text()))
    judged = 0
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("bedrock--*.json")):
        for exchange in json.loads(path.read_text())["interactions"]:
            if "/converse" not in exchange["uri"]:
                continue
            model = exchange["uri"].split("/model/")[1].split("/")[0].replace("%3A", ":")
            assert validate(exchange["request"], rules_for(model)) == [], path.name
            assert validate(exchange["request"]) == [], path.name
            assert not objections(exchange["request"], "Converse")
            assert not list(schema.iter_errors(exchange["request"]))
            judged += 1
    assert judged == 3
