"""The shape of a Converse body is closed, and judged as the SDK's own model and the schema derived from it judge it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from app.formats.bedrock.rules import RULES
from app.formats.bedrock.validate import validate
from app.models.wire_rules import with_quirks
from tests.formats.bedrock.bodies import FILE, IMAGE, MARK, RESULT, SPEC, TEXT, THOUGHT, TOOLS, Body, answer, asked, call, called, chat, result, user
from tests.formats.bedrock.judge import objections

ANY = with_quirks(RULES, {"user_first": False, "user_last": False, "history_needs_tools": False})


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (asked(colour="red"), "/colour", "key-unknown"),
        (asked(**{"a/b~c": 1}), "/a~1b~0c", "key-unknown"),
        (chat({"role": "robot", "content": [TEXT]}), "/messages/0/role", "value-unknown"),
        (chat({"role": "user", "content": "x"}), "/messages/0/content", "not-a-list"),
        (chat({"role": "user", "content": []}), "/messages/0/content", "list-length"),
        (chat({"role": "user"}), "/messages/0/content", "key-missing"),
        (chat({"role": "user", "content": [TEXT], "name": "x"}), "/messages/0/name", "key-unknown"),
        ({"messages": [7]}, "/messages/0", "not-an-object"),
        (chat(user({"text": "x", "image": IMAGE["image"]})), "/messages/0/content/0", "not-one-member"),
        (chat(user({})), "/messages/0/content/0", "not-one-member"),
        (chat(user({"text": 7})), "/messages/0/content/0/text", "not-a-text"),
        (chat(user({"image": {"format": "svg", "source": {"bytes": ""}}})), "/messages/0/content/0/image/format", "value-unknown"),
        (chat(user({"image": {"format": "png", "source": {"bytes": "é"}}})), "/messages/0/content/0/image/source/bytes", "not-base64"),
        (called(RESULT, calls=(call(input="{}"),)), "/messages/1/content/0/toolUse/input", "not-an-object"),
        (called(RESULT, calls=(call(name="a b"),)), "/messages/1/content/0/toolUse/name", "text-form"),
        (called(RESULT, calls=(call(toolUseId="t 1"),)), "/messages/1/content/0/toolUse/toolUseId", "text-form"),
        (asked(toolConfig={"tools": []}), "/toolConfig/tools", "list-length"),
        (asked(toolConfig={"tools": [{"toolSpec": {**SPEC, "description": ""}}]}), "/toolConfig/tools/0/toolSpec/description", "text-length"),
        (asked(toolConfig={"tools": [{"toolSpec": {**SPEC, "strict": 1}}]}), "/toolConfig/tools/0/toolSpec/strict", "not-a-flag"),
        (asked(inferenceConfig={"maxTokens": 0}), "/inferenceConfig/maxTokens", "out-of-range"),
        (asked(inferenceConfig={"maxTokens": 1.5}), "/inferenceConfig/maxTokens", "not-a-number"),
        (asked(inferenceConfig={"temperature": 1.1}), "/inferenceConfig/temperature", "out-of-range"),
        (asked(inferenceConfig={"topP": True}), "/inferenceConfig/topP", "not-a-number"),
        (asked(inferenceConfig={"stopSequences": ["x"] * 2501}), "/inferenceConfig/stopSequences", "list-length"),
        (asked(requestMetadata={str(n): "x" for n in range(17)}), "/requestMetadata", "object-length"),
        (asked(requestMetadata=[]), "/requestMetadata", "not-an-object"),
        (asked(system=[{"text": ""}]), "/system/0/text", "text-length"),
    ],
)
def test_the_shape_is_closed(body: Body, pointer: str, code: str):
    assert (pointer, code) in [(found.pointer, found.code) for found in validate(body, ANY)]


GUARDED = {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}
VIDEO = {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/key"}}}}
CITED = {"citationsContent": {"content": [TEXT], "citations": [{"title": "t", "location": {"documentPage": {"start": 1, "end": 2}}}]}}
SEARCHED = {"searchResult": {"source": "s", "title": "t", "content": [TEXT], "citations": {"enabled": True}}}
SOUND = {"audio": {"format": "mp3", "source": {"bytes": "AA=="}}}
SEEDS: list[Body] = [
    called(result(TEXT, {"json": {"a": [1]}}, IMAGE, FILE, status="error")),
    chat(
        user(TEXT, IMAGE, FILE, TEXT, MARK),
        answer(THOUGHT, TEXT),
        user(TEXT),
        system=[TEXT, MARK],
        inferenceConfig={"maxTokens": 5, "temperature": 0.5, "topP": 1, "stopSequences": ["x"]},
    ),
    asked(
        toolConfig={**TOOLS, "toolChoice": {"tool": {"name": "lookup"}}},
        outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{}", "name": "n"}}}, "effort": "low"},
        additionalModelRequestFields={"a": 1},
        additionalModelResponseFieldPaths=["/a"],
        requestMetadata={"a": "b"},
        guardrailConfig={"guardrailIdentifier": "abc", "guardrailVersion": "1", "trace": "enabled", "streamProcessingMode": "sync"},
        performanceConfig={"latency": "standard"},
        serviceTier={"type": "flex"},
        promptVariables={"a": {"text": "b"}},
    ),
    chat(user(GUARDED, VIDEO), answer(CITED), user(SEARCHED, SOUND)),
]
STRUCTURE = frozenset(
    {
        "key-unknown",
        "key-missing",
        "not-an-object",
        "not-a-list",
        "not-one-member",
        "not-a-text",
        "not-a-number",
        "not-a-flag",
        "not-base64",
        "value-unknown",
        "list-length",
        "object-length",
        "text-length",
        "text-form",
        "out-of-range",
    }
)
STRICTER = ("/input", "/json", "/content", "/budget_tokens")
"""What has to be an object, or not empty, by a rule of the notes that the SDK's model leaves to the service."""

junk = st.sampled_from(["null", "true", "7", "-1", "1.5", '""', '"x"', '"a b"', f'"{"x" * 70}"', "[]", '["x"]', "{}", '{"x":1}', '{"text":"x"}'])


@st.composite
def mutated(draw: st.DrawFn) -> Body:
    """A valid body in which something was replaced, left out or put in, somewhere."""
    body: Body = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    for _ in range(draw(st.integers(0, 2))):
        node: Any = body
        for _ in range(7):
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(node[key], dict | list) or draw(st.integers(0, 3)) == 0:
                if draw(st.booleans()):
                    node[key] = json.loads(draw(junk))
                elif isinstance(node, dict):
                    del node[key]
                break
            node = node[key]
        if isinstance(node, dict) and draw(st.integers(0, 3)) == 0:
            node["extra"] = json.loads(draw(junk))
    return body


def tolerated(body: Any) -> Any:
    """The body without the keys that we let through where the provider's own words go back: of citations and of reasoning."""
    known = {"citationsContent": ("content", "citations"), "reasoningText": ("text", "signature")}
    if isinstance(body, list):
        return [tolerated(item) for item in body]
    if not isinstance(body, dict):
        return body
    kept = {key: tolerated(value) for key, value in body.items()}
    for name, keys in known.items():
        if isinstance(kept.get(name), dict):
            kept[name] = {key: value for key, value in kept[name].items() if key in keys}
    if isinstance(kept.get("citations"), list):
        kept["citations"] = [
            {key: value for key, value in one.items() if key != "extra"} if isinstance(one, dict) else one for one in kept["citations"]
        ]
    return kept


def test_what_a_provider_has_learnt_since_goes_back_to_it():
    cited = {"citationsContent": {"content": [TEXT], "citations": [{"title": "t", "weight": 1}], "kind": "new"}}
    thought = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s", "kind": "new"}}}
    assert validate(chat(user(TEXT), answer(thought, cited), user(TEXT))) == []


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_what_the_sdk_refuses_is_refused_and_the_shape_is_no_stricter_than_its_own(body: Body):
    found = validate(body, ANY)
    if objections(tolerated(body)):
        assert found
    shape = [one for one in found if one.code in STRUCTURE and not one.pointer.endswith(STRICTER)]
    if shape:
        assert objections(body), shape


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=mutated())
def test_what_the_derived_schema_refuses_is_refused(shared: Path, body: Body):
    errors = [error.json_path for error in derived(shared).iter_errors(tolerated(body))]
    if errors:
        assert validate(body, ANY), errors


@cache
def derived(shared: Path) -> Draft202012Validator:
    return Draft202012Validator(json.loads((shared / "specs" / "derived" / "bedrock_converse.request_stream.schema.json").read_text()))
