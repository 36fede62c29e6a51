"""Neutral requests to Gemini bodies: what is where, what is folded, and that the SDK's own types take it."""

from typing import Any

import orjson
import pytest

from app.entries import lossless
from app.entries.parts import Blob, Media, Opaque, Reasoning, Text, ToolCall
from app.formats.gemini.rules import CANDIDATE, DIALECT
from app.formats.gemini.validate import validate
from app.formats.gemini.write_request import write_request
from app.formats.protocols import Pointer, WireLoss, Written
from tests.formats.gemini.judge import objections
from tests.formats.gemini.requests import ESCALATE, LOOKUP, PRODUCER, call, message, request, target
from tests.formats.pointing import at

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = Blob("sha256:" + "a" * 64, "image/png", len(PNG))
BLOBS = {IMAGE.digest: PNG}
INLINE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def written(*messages: Any, blobs: Any = BLOBS, valid: bool = True, **changes: Any) -> tuple[dict[str, Any], Written]:
    """The body, which the SDK takes and, unless the conversation is half a one, the rules too."""
    asked = request(*messages, **changes)
    found = write_request(asked, blobs)
    assert not objections(found.body)
    body = orjson.loads(found.body)
    if valid:
        assert not validate(body, asked.target.rules)
    return body, found


@pytest.mark.req("S0-12", "S0-13", "S0-19", "S0-24", "S0-25", "S1-07")
def test_a_conversation_with_every_role():
    body, found = written(
        message("user", "Hello"),
        message("agent", "Take note."),
        message("assistant", "Hi", call("c1", arguments='{"id": 1e2}', thoughtSignature="Zm9v"), call("c2", "escalate")),
        message("tool", "found", tool_call_id="c1"),
        message("tool", "no", tool_call_id="c2", is_error=True),
        system=("You are a nurse.", "", "Be brief."),
        tools=(LOOKUP,),
    )
    assert body == {
        "systemInstruction": {"parts": [{"text": "You are a nurse.\n\nBe brief."}]},
        "tools": [{"functionDeclarations": [{"name": "lookup", "description": "Finds a record.", "parametersJsonSchema": LOOKUP.parameters}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}, {"text": "Take note."}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Hi"},
                    {"functionCall": {"name": "lookup", "args": {"id": 100}}, "thoughtSignature": "Zm9v"},
                    {"functionCall": {"name": "escalate", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "lookup", "response": {"output": "found"}}},
                    {"functionResponse": {"name": "escalate", "response": {"error": "no"}}},
                ],
            },
        ],
    }
    assert b'"args":{"id":1e2}' in found.body
    assert not found.losses
    assert found.sections == ("/systemInstruction/parts/0/text", "", "/systemInstruction/parts/0/text")
    assert found.tools == ("/tools/0/functionDeclarations/0",)
    assert found.pointers == (
        Pointer("/contents/0/parts/0", 0),
        Pointer("/contents/0/parts/0", 0, 0),
        Pointer("/contents/0/parts/1", 1),
        Pointer("/contents/0/parts/1", 1, 0),
        Pointer("/contents/1", 2),
        Pointer("/contents/1/parts/0", 2, 0),
        Pointer("/contents/1/parts/1", 2, 1),
        Pointer("/contents/1/parts/2", 2, 2),
        Pointer("/contents/2/parts/0", 3),
        Pointer("/contents/2/parts/0/functionResponse/response/output", 3, 0),
        Pointer("/contents/2/parts/1", 4),
        Pointer("/contents/2/parts/1/functionResponse/response/error", 4, 0),
    )
    assert [at(body, pointer.pointer) for pointer in found.pointers]


@pytest.mark.req("S0-16", "S0-22", "S0-23")
def test_tools_are_declared_on_the_call_that_carries_results_back_too():
    body, _ = written(message("user", "q"), message("assistant", call()), message("tool", "42", tool_call_id="c1"), tools=(LOOKUP, ESCALATE))
    (declared,) = body["tools"]
    assert [set(function) for function in declared["functionDeclarations"]] == [
        {"name", "description", "parametersJsonSchema"},
        {"name", "parametersJsonSchema"},
    ]


def test_results_are_a_content_of_their_own_before_what_the_user_says_next():
    body, found = written(
        message("user", "q"),
        message("assistant", call("c1"), call("c2")),
        message("tool", "1", tool_call_id="c1"),
        message("tool", "2", tool_call_id="c2"),
        message("user", "go on"),
    )
    assert [(content["role"], len(content["parts"])) for content in body["contents"]] == [("user", 1), ("model", 2), ("user", 2), ("user", 1)]
    assert Pointer("/contents/3", 4) in found.pointers


def test_answers_that_follow_one_another_are_one_content():
    body, found = written(message("user", "q"), message("assistant", "one", "two"), message("assistant", "three"), message("user", "next"))
    assert body["contents"][1] == {"role": "model", "parts": [{"text": "one"}, {"text": "two"}, {"text": "three"}]}
    assert [pointer.pointer for pointer in found.pointers if pointer.part is None] == [
        "/contents/0",
        "/contents/1/parts/0",
        "/contents/1/parts/2",
        "/contents/2",
    ]


@pytest.mark.req("S1-05", "S0-20", "X-24")
def test_arguments_are_an_object_and_what_is_none_is_kept_under_one_key():
    texts = ['{"a": 1.0, "b": 123456789012345678901234567890}', "not json", "", "  \n", "[1]", '{"a":1,"a":2}', "[" * 99 + "]" * 99]
    calls = [ToolCall(f"c{index}", "lookup", text) for index, text in enumerate(texts)]
    results = [message("tool", "r", tool_call_id=one.tool_call_id) for one in calls]
    body, found = written(message("user", "q"), message("assistant", *calls), *results)
    sent = [part["functionCall"]["args"] for part in body["contents"][1]["parts"]]
    assert sent[1:] == [{"rawInvalidInput": "not json"}, {}, {}, {"rawInvalidInput": "[1]"}, {"a": 2}, {"rawInvalidInput": texts[6]}]
    assert b'"args":{"a":1.0,"b":123456789012345678901234567890}' in found.body
    assert [loss.part for loss in found.losses if loss.what == "arguments"] == [1, 4, 6]


def test_the_text_of_a_result_is_never_spelled_anew():
    text = '{"total": 1.50, "total": 2}'
    body, _ = written(message("user", "q"), message("assistant", call()), message("tool", text, "more", tool_call_id="c1"))
    assert body["contents"][2]["parts"][0]["functionResponse"]["response"] == {"output": text + "\nmore"}


@pytest.mark.req("X-23", "X-24")
def test_an_id_goes_back_with_call_and_result_only_where_gemini_gave_one():
    given = call("call_x_0", arguments='{"a":1}', functionCall={"id": "96c1su3s"}, thoughtSignature="Zm9v")
    body, _ = written(
        message("user", "q"),
        message("assistant", given, call("call_x_1"), ToolCall("c3", "lookup", "{}", "provider's")),
        *(message("tool", "r", tool_call_id=one) for one in ("call_x_0", "call_x_1", "c3")),
    )
    assert body["contents"][1]["parts"][0] == {
        "functionCall": {"id": "96c1su3s", "name": "lookup", "args": {"a": 1}},
        "thoughtSignature": "Zm9v",
    }
    assert [part["functionResponse"].get("id") for part in body["contents"][2]["parts"]] == ["96c1su3s", None, None]
    assert all("id" not in part["functionCall"] for part in body["contents"][1]["parts"][1:])


@pytest.mark.req("S0-30")
@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("mcp server/tool", "mcp_server_tool"),
        ("a.b:c-d", "a.b:c-d"),
        ("", "unnamed"),
        ("2fa", "_2fa"),
        ("-x", "_-x"),
        ("x" * 70, "x" * 64),
        ("ü", "_"),
    ],
)
def test_a_name_that_the_format_refuses_is_fitted_with_its_results(name: str, sent: str):
    body, found = written(message("user", "q"), message("assistant", call("c1", name)), message("tool", "r", tool_call_id="c1"))
    assert body["contents"][1]["parts"][0]["functionCall"]["name"] == sent
    assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == sent
    assert (WireLoss("tool_name", "not_taken", 1, 0) in found.losses) == (name != sent)


@pytest.mark.req("X-20", "X-23")
def test_what_gemini_put_with_a_part_stands_on_exactly_that_part_again():
    answer = message(
        "assistant",
        Reasoning("hm", '{"thought":true,"thoughtSignature":"dGg="}', PRODUCER),
        Text("said", None, '{"thoughtSignature":"dHg=","partMetadata":{"n":1e2}}', PRODUCER),
        "plain",
        Reasoning("", '{"thoughtSignature":"bGF0ZQ=="}', PRODUCER),
        Opaque(DIALECT, PRODUCER, '{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"Y29kZQ=="}'),
    )
    body, found = written(message("user", "q"), answer, message("user", "next"))
    assert body["contents"][1]["parts"] == [
        {"text": "hm", "thought": True, "thoughtSignature": "dGg="},
        {"text": "said", "thoughtSignature": "dHg=", "partMetadata": {"n": 100}},
        {"text": "plain"},
        {"text": "", "thoughtSignature": "bGF0ZQ=="},
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "Y29kZQ=="},
    ]
    assert b'"n":1e2' in found.body
    assert not found.losses


def test_what_has_no_place_is_told_and_a_message_of_nothing_else_is_an_empty_text():
    answer = message(
        "assistant",
        Reasoning("unsigned"),
        Opaque(CANDIDATE, PRODUCER, '{"groundingMetadata":{}}'),
        Opaque(DIALECT, PRODUCER, "no json"),
        Reasoning("hm", "[]", PRODUCER),
    )
    body, found = written(message("user", "q"), answer, message("user", "next"))
    assert body["contents"][1] == {"role": "model", "parts": [{"text": ""}]}
    assert [(loss.what, loss.why, loss.part) for loss in found.losses] == [
        ("reasoning", "not_in_format", 0),
        ("opaque", "not_in_format", 1),
        ("opaque", "not_in_format", 2),
        ("opaque", "not_in_format", 3),
    ]
    assert Pointer("/contents/1", 1) in found.pointers


@pytest.mark.req("S1-04")
def test_media_stand_inline_a_url_as_file_and_a_missing_blob_is_named():
    data = Media("image", url="data:image/jpeg;base64,AAAA")
    gone = Media("file", Blob("sha256:" + "b" * 64, "application/pdf", 9), filename="x.pdf")
    google = Media("image", url="gs://bucket/x.png")
    body, found = written(message("user", "see", Media("image", IMAGE), data, google, gone, "and"))
    assert body["contents"][0]["parts"] == [
        {"text": "see"},
        INLINE,
        {"inlineData": {"mimeType": "image/jpeg", "data": "AAAA"}},
        {"fileData": {"fileUri": "gs://bucket/x.png"}},
        {"text": "[file not shown: x.pdf, application/pdf, 9 bytes]"},
        {"text": "and"},
    ]
    assert found.losses == (WireLoss("file", "blob_missing", 0, 4),)
    assert [pointer.pointer for pointer in found.pointers[1:]] == [f"/contents/0/parts/{index}" for index in range(6)]


def test_pictures_of_a_result_stand_beside_its_text():
    gone = Media("image", Blob("sha256:" + "b" * 64, "image/png", 9))
    result = message("tool", "scan", Media("image", IMAGE), gone, tool_call_id="c1")
    body, found = written(message("user", "q"), message("assistant", call()), result)
    answer = body["contents"][2]["parts"][0]["functionResponse"]
    assert answer == {"name": "lookup", "response": {"output": "scan\n[image not shown: image/png, 9 bytes]"}, "parts": [INLINE]}
    assert [at(body, pointer.pointer) for pointer in found.pointers if pointer.source == 2 and pointer.part == 1] == [INLINE]
    silent, _ = written(message("user", "q"), message("assistant", call()), message("tool", Media("image", IMAGE), tool_call_id="c1"))
    assert silent["contents"][2]["parts"][0]["functionResponse"]["response"] == {"output": ""}


def test_code_points_that_utf8_cannot_say_are_replaced_and_nothing_else_is():
    text = "nul \x00 sep \u2028 pair \U0001f525 token <|endoftext|> lone \ud83d end"
    odd = call("c1", arguments='{"k\ud83d": "\\ud83d"}')
    body, found = written(message("user", text), message("assistant", odd), message("tool", "\ud83d", tool_call_id="c1"), system=("s\udc00",))
    assert body["contents"][0]["parts"][0]["text"] == text.replace("\ud83d", "\ufffd")
    assert body["systemInstruction"]["parts"][0]["text"] == "s\ufffd"
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == {"k\ufffd": "\ufffd"}
    lone = {(loss.source, loss.part) for loss in found.losses if loss.why == "lone_surrogate"}
    assert lone == {(None, None), (0, 0), (1, 0), (2, 0)}


def test_numbers_of_schemas_and_extra_keys_stay_as_spelled():
    document = lossless.loads('{"big": 123456789012345678901234567890, "e": 1e2, "f": 1.0}')
    odd = type(LOOKUP)("lookup", "", {"type": "object", "default": document})
    found = write_request(request(message("user", "a"), tools=(odd,), target=target(extra={"labels": document, "seed": 2**70})), {})
    assert found.body.count(b'{"big":123456789012345678901234567890,"e":1e2,"f":1.0}') == 2
    assert b'"seed":1180591620717411303424' in found.body


def test_a_target_that_wants_its_history_declared_gets_bare_declarations():
    messages = (
        message("user", "q"),
        message("assistant", call("c1"), call("c2", "a b")),
        *(message("tool", "r", tool_call_id=c) for c in ("c1", "c2")),
    )
    body, found = written(*messages, target=target(quirks={"history_needs_tools": True}))
    assert body["tools"] == [{"functionDeclarations": [{"name": "lookup", "parametersJsonSchema": {"type": "object", "properties": {}}}]}]
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert WireLoss("tools", "declared_for_history") in found.losses
    assert not found.tools
    plain, _ = written(*messages)
    assert "tools" not in plain
