"""Neutral requests to Converse bodies: what is where, what is folded, and that the SDK would send the same."""

import json
from typing import Any

import orjson
import pytest

from app.entries.parts import Blob, Media, Opaque, Reasoning, Text, ToolCall
from app.formats.bedrock.validate import validate
from app.formats.bedrock.write_request import write_request
from app.formats.protocols import Pointer, WireLoss, Written
from tests.formats.bedrock.judge import client, objections
from tests.formats.bedrock.requests import ESCALATE, HAIKU, LLAMA, LOOKUP, NOVA, OPUS, message, request, target

PNG, PDF = b"\x89PNG\r\n\x1a\n", b"%PDF-"
IMAGE = Blob("sha256:" + "a" * 64, "image/png", len(PNG))
SCAN = Blob("sha256:" + "b" * 64, "application/pdf", len(PDF))
BLOBS = {IMAGE.digest: PNG, SCAN.digest: PDF}
MARK = {"cachePoint": {"type": "default"}}
IMAGE_BLOCK = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}


def file_block(number: int) -> dict[str, Any]:
    return {"document": {"format": "pdf", "name": f"document-{number}", "source": {"bytes": "JVBERi0="}}}


def written(*messages: Any, blobs: Any = BLOBS, **changes: Any) -> tuple[dict[str, Any], Written]:
    found = write_request(request(*messages, **changes), blobs)
    assert not objections(found.body)
    return orjson.loads(found.body), found


@pytest.mark.req("S0-25", "X-24", "T-19")
def test_a_conversation_with_every_role():
    body, found = written(
        message("user", "Hello"),
        message("agent", "Take note."),
        message("assistant", "Hi", ToolCall("c1", "lookup", '{"id": 1e2}'), ToolCall("c2", "lookup", '{"b":1,"a":2}')),
        message("tool", "found", tool_call_id="c1"),
        message("tool", "not found", tool_call_id="c2", is_error=True),
        message("user", "Go on."),
        system=("You are a nurse.", "", "Be brief."),
        tools=(LOOKUP, ESCALATE),
    )
    assert body == {
        "messages": [
            {"role": "user", "content": [{"text": "Hello"}, {"text": "Take note."}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "Hi"},
                    {"toolUse": {"toolUseId": "c1", "name": "lookup", "input": {"id": 100.0}}},
                    {"toolUse": {"toolUseId": "c2", "name": "lookup", "input": {"b": 1, "a": 2}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "c1", "content": [{"text": "found"}]}},
                    {"toolResult": {"toolUseId": "c2", "content": [{"text": "not found"}], "status": "error"}},
                    {"text": "Go on."},
                ],
            },
        ],
        "system": [{"text": "You are a nurse.\n\nBe brief."}],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "lookup", "description": "Finds a record.", "inputSchema": {"json": LOOKUP.parameters}}},
                {"toolSpec": {"name": "escalate", "inputSchema": {"json": {"type": "object"}}}},
            ]
        },
    }
    assert b'"input":{"id":1e2}' in found.body
    assert b'"input":{"b":1,"a":2}' in found.body
    assert not found.losses
    assert found.sections == ("/system/0/text", "", "/system/0/text")
    assert found.tools == ("/toolConfig/tools/0", "/toolConfig/tools/1")
    assert found.pointers == (
        Pointer("/messages/0/content/0", 0),
        Pointer("/messages/0/content/0", 0, 0),
        Pointer("/messages/0/content/1", 1),
        Pointer("/messages/0/content/1", 1, 0),
        Pointer("/messages/1", 2),
        Pointer("/messages/1/content/0", 2, 0),
        Pointer("/messages/1/content/1", 2, 1),
        Pointer("/messages/1/content/2", 2, 2),
        Pointer("/messages/2/content/0", 3),
        Pointer("/messages/2/content/0/toolResult/content/0", 3, 0),
        Pointer("/messages/2/content/1", 4),
        Pointer("/messages/2/content/1/toolResult/content/0", 4, 0),
        Pointer("/messages/2/content/2", 5),
        Pointer("/messages/2/content/2", 5, 0),
    )


@pytest.mark.req("S0-25")
def test_the_sdk_would_send_the_same_body():
    parts = (Media("image", IMAGE), Media("file", SCAN), "see")
    redacted = Reasoning("", '{"reasoningContent":{"redactedContent":"YQ=="}}', "p")
    said = message("assistant", redacted, ToolCall("c1", "lookup", '{"a":[1,{"b":null}]}'))
    body, found = written(
        message("user", *parts),
        said,
        message("tool", "r", Media("image", IMAGE), tool_call_id="c1"),
        system=("s",),
        tools=(LOOKUP,),
        tool_choice="required",
        target=target(HAIKU, max_output_tokens=99, temperature=0.5),
    )
    sent = client().sent(body, HAIKU)
    assert json.loads(sent.body) == body == orjson.loads(found.body)


@pytest.mark.req("X-23")
def test_what_the_provider_gave_goes_back_as_it_was_and_where_it_was():
    signed = '{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s=="}}}'
    cited = '{"citationsContent":{"citations":[{"weight":1e2}],"content":[{"text":"x"}]}}'
    server = '{"toolUse":{"type":"server_tool_use","toolUseId":"s1","name":"n","input":{"z":1.0,"a":1e2}}}'
    answer = message(
        "assistant",
        Reasoning("hm", signed, "p"),
        Text("before"),
        Opaque("bedrock-converse", "p", server),
        Text("x", None, cited, "p"),
        ToolCall("c1", "lookup", "{}"),
    )
    found = write_request(request(message("user", "q"), answer, message("tool", "r", tool_call_id="c1"), tools=(LOOKUP,)), {})
    call = '{"toolUse":{"toolUseId":"c1","name":"lookup","input":{}}}'
    assert f'"content":[{signed},{{"text":"before"}},{server},{cited},{call}]' in found.body.decode()
    assert not found.losses
    assert not validate(found.document)


def test_what_has_no_place_is_told():
    picture = Opaque("bedrock-converse", "p", '{"image":{"format":"png","source":{"bytes":"AA=="}}}')
    broken = Opaque("bedrock-converse", "p", "no json")
    body, found = written(message("user", "q"), message("assistant", Reasoning("plain"), picture, broken, "x"), message("user", "y"))
    assert body["messages"][1]["content"] == [{"text": "x"}]
    assert [(loss.what, loss.why, loss.part) for loss in found.losses] == [
        ("reasoning", "not_in_format", 0),
        ("opaque", "not_taken_back", 1),
        ("opaque", "not_taken_back", 2),
    ]
    body, found = written(message("user", "q"), message("assistant", Reasoning("plain")), message("user", "y"))
    assert body["messages"][1]["content"] == [{"text": "."}]
    assert WireLoss("message", "empty", 1) in found.losses


@pytest.mark.req("S1-04")
def test_images_and_documents_keep_their_order_and_documents_have_neutral_names():
    named = Media("file", SCAN, filename="John's report.pdf")
    inline = Media("image", url="data:image/png;charset=x;base64,iVBORw0K Ggo=")
    body, found = written(
        message("user", "see", Media("image", IMAGE), named, inline), message("assistant", "ok"), message("user", Media("file", SCAN), "and")
    )
    assert body["messages"][0]["content"] == [{"text": "see"}, IMAGE_BLOCK, file_block(1), IMAGE_BLOCK]
    assert body["messages"][2]["content"] == [file_block(2), {"text": "and"}]
    assert found.losses == (WireLoss("filename", "neutral_name_sent", 0, 2),)


@pytest.mark.parametrize(
    ("media", "why"),
    [
        (Media("image", Blob("sha256:" + "c" * 64, "image/png", 9)), "blob_missing"),
        (Media("image", Blob(IMAGE.digest, "image/svg+xml", 9)), "media_type_not_taken"),
        (Media("file", Blob(SCAN.digest, "audio/wav", 9)), "media_type_not_taken"),
        (Media("image", url="https://example.org/x.png"), "no_image_urls"),
        (Media("file", url="data:text/plain,hello"), "no_file_urls"),
        (Media("image", url="data:image/svg+xml;base64,AA=="), "media_type_not_taken"),
        (Media("image"), "no_content"),
    ],
)
def test_a_picture_that_cannot_be_sent_is_named_and_does_not_break_the_session(media: Media, why: str):
    body, found = written(message("user", "see", media))
    assert body["messages"][0]["content"][1]["text"].startswith(f"[{media.kind} not shown")
    assert found.losses == (WireLoss(media.kind, why, 0, 1),)


def test_more_images_and_documents_than_a_message_takes_are_named():
    """Counted in the message that is sent, which several inputs are folded into."""
    body, found = written(
        message("user", "see", *[Media("image", IMAGE)] * 15), message("user", *[Media("image", IMAGE)] * 6, *[Media("file", SCAN)] * 6)
    )
    kinds = [next(iter(block)) for block in body["messages"][0]["content"]]
    assert (kinds.count("image"), kinds.count("document"), kinds.count("text")) == (20, 5, 3)
    assert found.losses == (WireLoss("image", "too_many", 1, 5), WireLoss("file", "too_many", 1, 11))
    assert not validate(found.document)


def test_a_document_has_a_text_beside_it():
    body, found = written(message("user", Media("file", SCAN)))
    assert body["messages"][0]["content"] == [file_block(1), {"text": "."}]
    assert found.losses == (WireLoss("file", "text_required", 0),)
    body, found = written(message("user", Media("file", SCAN)), message("user", "Read it."))
    assert body["messages"][0]["content"] == [file_block(1), {"text": "Read it."}]
    assert not found.losses


def test_results_have_content_images_in_them_and_a_mark_of_failure():
    call = message("assistant", ToolCall("c1", "lookup", "{}"))
    body, _ = written(message("user", "q"), call, message("tool", "ok", Media("image", IMAGE), tool_call_id="c1"), tools=(LOOKUP,))
    assert body["messages"][2]["content"] == [{"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}, IMAGE_BLOCK]}}]
    body, found = written(message("user", "q"), call, message("tool", " ", tool_call_id="c1", is_error=True), tools=(LOOKUP,))
    assert body["messages"][2]["content"] == [{"toolResult": {"toolUseId": "c1", "content": [{"text": "."}], "status": "error"}}]
    assert found.losses == (WireLoss("text", "blank_text", 2, 0),)
    body, found = written(message("user", "q"), call, message("tool", Opaque("f", "p", "{}"), tool_call_id="c1"), tools=(LOOKUP,))
    assert body["messages"][2]["content"] == [{"toolResult": {"toolUseId": "c1", "content": [{"text": "."}]}}]
    assert found.losses == (WireLoss("opaque", "not_in_results", 2, 0),)
    writer = target("writer.palmyra-x5-v1:0")
    body, found = written(message("user", "q"), call, message("tool", "no", tool_call_id="c1", is_error=True), tools=(LOOKUP,), target=writer)
    assert body["messages"][2]["content"] == [{"toolResult": {"toolUseId": "c1", "content": [{"text": "[error]"}, {"text": "no"}]}}]
    assert found.pointers[-1] == Pointer("/messages/2/content/0/toolResult/content/1", 2, 0)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a":' * 70 + "1" + "}" * 70, None),
        ("not json", {"rawInvalidInput": "not json"}),
        ("[1]", {"rawInvalidInput": "[1]"}),
        ("", {"rawInvalidInput": ""}),
    ],
)
def test_arguments_are_always_an_object(arguments: str, sent: Any):
    body, found = written(
        message("user", "q"), message("assistant", ToolCall("c1", "lookup", arguments)), message("tool", "r", tool_call_id="c1"), tools=(LOOKUP,)
    )
    assert body["messages"][1]["content"][0]["toolUse"]["input"] == (json.loads(arguments) if sent is None else sent)
    wrapped = isinstance(sent, dict) and "rawInvalidInput" in sent
    assert found.losses == ((WireLoss("arguments", "no_object", 1, 0),) if wrapped else ())


def test_the_end_of_a_last_answer_is_trimmed():
    body, found = written(message("user", "q"), message("assistant", "Once upon \n"), target=target(HAIKU))
    assert body["messages"][1]["content"] == [{"text": "Once upon"}]
    assert found.losses == (WireLoss("text", "trailing_blanks", 1),)
    assert not validate(found.document, target(HAIKU).rules)


@pytest.mark.req("X-31", "X-33")
def test_cache_points_stand_behind_tools_instructions_and_the_last_input():
    chat = [message("user", "a"), message("assistant", "b"), message("user", "c")]
    body, _ = written(*chat, system=("s",), tools=(LOOKUP,), target=target(OPUS))
    assert body["messages"][2]["content"] == [{"text": "c"}, MARK]
    assert body["messages"][0]["content"] == [{"text": "a"}]
    assert body["system"] == [{"text": "s"}, MARK]
    assert body["toolConfig"]["tools"][1:] == [MARK]
    body, _ = written(*chat, system=("s",), tools=(LOOKUP,), target=target(NOVA))
    assert (body["messages"][2]["content"][-1], body["system"][-1], len(body["toolConfig"]["tools"])) == (MARK, MARK, 1)
    for model in (LLAMA, "x"):
        assert "cachePoint" not in str(written(*chat, system=("s",), tools=(LOOKUP,), target=target(model))[0])
    body, _ = written(message("user", "a"), target=target(OPUS))
    assert set(body) == {"messages"}


def test_a_cache_point_stands_before_the_documents_that_end_an_input():
    body, found = written(message("user", "read", Media("file", SCAN)), message("agent", Media("file", SCAN)), target=target(OPUS))
    assert body["messages"][0]["content"] == [{"text": "read"}, MARK, file_block(1), file_block(2)]
    assert [(pointer.pointer, pointer.source, pointer.part) for pointer in found.pointers] == [
        ("/messages/0/content/0", 0, None),
        ("/messages/0/content/0", 0, 0),
        ("/messages/0/content/2", 0, 1),
        ("/messages/0/content/3", 1, None),
        ("/messages/0/content/3", 1, 0),
    ]
    body, _ = written(message("user", Media("file", SCAN)), target=target(OPUS))
    assert body["messages"][0]["content"] == [file_block(1), {"text": "."}, MARK]
