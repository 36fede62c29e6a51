"""The rules of a Gemini conversation: each one fires where it should, and its near twin passes."""

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.gemini import names
from app.formats.gemini.rules import rules_for
from app.formats.gemini.validate import validate
from tests.formats.gemini.conversations import OLDER, PNG, THIRD, answered, call, content, faults, model, result, user
from tests.formats.gemini.judge import sdk_names


@pytest.mark.parametrize(
    "contents",
    [
        [user("", " "), user(), model(), model({"text": "a", "thought": True}, {"text": "", "thoughtSignature": "a-_="}), user()],
        [{"parts": [{"text": "no role"}]}],
        [content("user", PNG, {"fileData": {"fileUri": "gs://x"}}, {"text": "q", "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}})],
        [*answered(call("a"), call("b", signature=None)), model(call("c")), content("user", result("c")), model()],
        [user(), model(call(id="x")), content("user", result(id="x", parts=[PNG]))],
        [user(), model(call("f"), call("g", signature=None)), content("user", result("g"), result("f")), user()],
        [user(), model({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}, {"toolCall": {"id": "1"}}), user()],
        [*answered(call(signature=None)), user("a new turn")],
        [user(), model({"functionCall": {"name": "f"}, "thoughtSignature": "Zm9v"}), content("user", result())],
    ],
)
def test_conversations_that_pass(contents: list[Any]):
    assert faults(*contents) == []


@pytest.mark.req("S0-30")
@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([], [("/contents", "contents-missing")]),
        (["x"], [("/contents/0", "not-an-object")]),
        ([content("robot", {"text": "x"})], [("/contents/0/role", "role-unknown")]),
        ([{"role": "user"}], [("/contents/0/parts", "parts-missing")]),
        ([content("user")], [("/contents/0/parts", "parts-missing")]),
        ([user(), {"role": "user", "parts": {"text": "q"}}], [("/contents/1/parts", "not-a-list")]),
        ([user(), content("model", "x")], [("/contents/1/parts/0", "not-an-object")]),
        ([content("user", {"text": 7})], [("/contents/0/parts/0/text", "text-invalid")]),
        ([content("user", {"thought": True})], [("/contents/0/parts/0", "part-data")]),
        ([content("user", {"text": "x", **PNG})], [("/contents/0/parts/0", "part-data")]),
        ([content("user", {"text": "x", "thought": "yes"})], [("/contents/0/parts/0/thought", "flag-invalid")]),
        ([content("user", {"text": "x", "thoughtSignature": "ü"})], [("/contents/0/parts/0/thoughtSignature", "signature-invalid")]),
        ([content("user", {"text": "x", "cache_control": {}})], [("/contents/0/parts/0/cache_control", "name-unknown")]),
        ([{"role": "user", "content": "x"}], [("/contents/0/content", "name-unknown"), ("/contents/0/parts", "parts-missing")]),
        ([user() | {"a/b~": 1}], [("/contents/0/a~1b~0", "name-unknown")]),
        ([model(), user()], [("/contents/0", "first-not-user")]),
        ([content("user", {"inlineData": {"data": "AA"}})], [("/contents/0/parts/0/inlineData/mimeType", "media-type-missing")]),
        (
            [content("user", {"inlineData": {"mimeType": "image/gif", "data": "AA"}})],
            [("/contents/0/parts/0/inlineData/mimeType", "media-type-not-taken")],
        ),
        (
            [content("user", {"inlineData": {"mimeType": "image/png", "data": "data:image/png;base64,AA"}})],
            [("/contents/0/parts/0/inlineData/data", "data-invalid")],
        ),
        ([content("user", {"fileData": {"mimeType": "image/png"}})], [("/contents/0/parts/0/fileData/fileUri", "uri-missing")]),
        (
            [*answered(call("a b"))],
            [("/contents/1/parts/0/functionCall/name", "name-invalid"), ("/contents/2/parts/0/functionResponse/name", "name-invalid")],
        ),
        ([*answered(call(args=[]))], [("/contents/1/parts/0/functionCall/args", "arguments-no-object")]),
        ([*answered(call(id=7))], [("/contents/1/parts/0/functionCall/id", "id-invalid"), ("/contents/2/parts/0", "result-of-other-call")]),
        ([user(), model(call()), content("user", result(response="r"))], [("/contents/2/parts/0/functionResponse/response", "response-no-object")]),
        (
            [user(), model(call()), content("user", {"functionResponse": {"name": "f"}})],
            [("/contents/2/parts/0/functionResponse/response", "response-no-object")],
        ),
        ([content("user", call())], [("/contents/0/parts/0/functionCall", "part-not-taken")]),
        (
            [user(), model(result())],
            [("/contents/1/parts/0/functionResponse", "part-not-taken"), ("/contents/1/parts/0", "result-without-call")],
        ),
        ([user(), model(call())], [("/contents/1/parts/0", "call-without-result")]),
        ([user(), model(call()), user()], [("/contents/1/parts/0", "call-without-result")]),
        (
            [user(), model(call()), user(), content("user", result())],
            [("/contents/1/parts/0", "call-without-result"), ("/contents/3/parts/0", "result-without-call")],
        ),
        ([user(), content("user", result())], [("/contents/1/parts/0", "result-without-call")]),
        ([*answered(call()), content("user", result())], [("/contents/3/parts/0", "result-without-call")]),
        ([user(), model(call("f"), call("g")), content("user", result("f"))], [("/contents/2", "results-unequal")]),
        (
            [user(), model(call("f"), call("g")), content("user", result("f")), content("user", result("g"))],
            [("/contents/2", "results-unequal"), ("/contents/3/parts/0", "result-without-call")],
        ),
        ([user(), model(call()), content("user", result(), result())], [("/contents/2", "results-unequal")]),
        ([user(), model(call()), content("user", result(), {"text": "and"})], [("/contents/2", "results-mixed")]),
        ([user(), model(call()), content("user", result("g"))], [("/contents/2/parts/0", "result-of-other-call")]),
        ([user(), model(call()), content("user", result(id="x"))], [("/contents/2/parts/0", "result-of-other-call")]),
        ([user(), model(call(id="x")), content("user", result(id="y"))], [("/contents/2/parts/0", "result-of-other-call")]),
        ([user(), model(), model(call()), content("user", result())], [("/contents/2", "calls-after-model")]),
        ([*answered(call(signature=None))], [("/contents/1/parts/0", "call-unsigned")]),
        (
            [*answered(call(signature="")), model()],
            [("/contents/1/parts/0/thoughtSignature", "signature-invalid"), ("/contents/1/parts/0", "call-unsigned")],
        ),
        ([*answered(call(signature=None), call("g"))], [("/contents/1/parts/0", "call-unsigned")]),
        ([*answered(call()), model(call(signature=None)), content("user", result())], [("/contents/3/parts/0", "call-unsigned")]),
    ],
)
def test_conversations_that_are_refused(contents: list[Any], expected: list[tuple[str, str]]):
    assert faults(*contents) == expected


def test_what_a_model_takes_is_its_own():
    assert faults(*answered(call(signature=None)), rules=OLDER) == []
    with_picture = [user(), model(call()), content("user", result(parts=[PNG]))]
    assert faults(*with_picture, rules=OLDER) == [("/contents/2/parts/0/functionResponse/parts", "media-in-result")]
    assert faults(user(), model(), rules=OLDER) == []
    assert faults(user(), model(), rules=rules_for("gemini-4-argon")) == [("/contents/1", "last-not-user")]


def test_spellings_of_proto_json_are_tolerated():
    """As the accepted bodies of 12.3 have them: underscores, nulls, lower-case types, URL-safe signatures, numbers as strings."""
    body = {
        "contents": [
            {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "_9j_"}, "text": None}]},
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": None}, "thought_signature": "EqoeCqce-_"}]},
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": {}, "id": None}}]},
        ],
        "system_instruction": {"parts": [{"text": "s"}], "role": "user"},
        "tools": [{"function_declarations": [{"name": "f", "description": None, "parameters": {"type": "object", "properties": {}}}]}],
        "generation_config": {"max_output_tokens": "99", "stop_sequences": ["x"]},
        "cached_content": None,
    }
    assert validate(body, THIRD) == []


def test_every_violation_is_listed_and_none_repeats_content():
    secret = [content("secret-role", {"text": 1}), model(call("secret name")), content("user", result("other secret"))]
    found = validate({"contents": secret, "toolConfig": {"functionCallingConfig": {"mode": "secret"}}, "generationConfig": {"temperature": 9}}, THIRD)
    assert len(found) == 8
    assert not [violation for violation in found if "secret" in violation.detail]


def test_bodies_that_google_took_pass(shared: Path):
    judged = 0
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("*.json")):
        for exchange in json.loads(path.read_text())["interactions"]:
            name = exchange["uri"].rpartition("/models/")[2].partition(":")[0]
            if "enerateContent" in exchange["uri"] and exchange["status"] == 200:
                assert [(found.pointer, found.code) for found in validate(exchange["request"], rules_for(name))] == [], path.name
                judged += 1
    assert judged >= 20


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("Content", names.CONTENT),
        ("Part", names.PART),
        ("Blob", names.BLOB),
        ("FileData", names.FILE),
        ("FunctionCall", names.CALL),
        ("FunctionResponse", names.RESPONSE),
        ("FunctionResponsePart", names.RESPONSE_PART),
        ("Tool", names.TOOL),
        ("FunctionDeclaration", names.DECLARATION),
        ("Schema", names.SCHEMA),
        ("ToolConfig", names.TOOL_CONFIG),
        ("FunctionCallingConfig", names.CALLING),
        ("GenerationConfig", names.GENERATION),
        ("ThinkingConfig", names.THINKING),
        ("SafetySetting", names.SAFETY),
    ],
)
def test_every_name_of_the_sdk_is_known(theirs: str, ours: names.Shape):
    assert sdk_names(theirs) <= ours.names


pieces = st.sampled_from(
    [
        user(),
        user("a", "b"),
        model(),
        model(call()),
        model(call(signature=None)),
        model(call("g", signature=None)),
        model(call(signature=None, id="x")),
        model(call("a b", signature=None)),
        model({"text": "a"}, call(signature=None)),
        content("user", result()),
        content("user", result("g")),
        content("user", result(id="x")),
        content("user", result(), {"text": "and"}),
        content("user", result(), result("g")),
        content("user", call()),
        content("model", result()),
        content("model"),
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(pieces, max_size=8), st.sampled_from([THIRD, OLDER, rules_for("gemini-4-argon")]))
def test_the_short_way_for_ordinary_contents_judges_as_the_long_one_does(contents: list[Any], rules: Any):
    """A mapping that is no plain dictionary takes the long way."""
    long = [MappingProxyType(one) for one in contents]
    assert validate({"contents": contents}, rules) == validate({"contents": long}, rules)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "parts", "text", "functionCall", "functionResponse", "function_call", "name", "args", "response", "id", "inlineData"]
            ),
            v,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["contents", "tools", "toolConfig", "generationConfig", "systemInstruction", "safetySettings", "x"]), json_values)
    | st.lists(st.dictionaries(st.sampled_from(["role", "parts"]), json_values), max_size=3).map(lambda contents: {"contents": contents})
)
def test_no_body_breaks_it(body: dict[str, Any]):
    for violation in validate(body, THIRD):
        assert violation.pointer.startswith("/")
