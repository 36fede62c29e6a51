"""Neutral requests to Messages bodies: what is where, how it is folded, and that the SDK's own types and our own rules take it."""

from typing import Any

import pytest

from app.entries import lossless
from app.entries.parts import Blob, Media, ToolCall
from app.formats.anthropic.write_request import write_request
from app.formats.protocols import Pointer, WireLoss
from tests.formats.anthropic.requests import BOUND, ESCALATE, LOOKUP, NEW, OLD, message, request, target
from tests.formats.anthropic.written import IMAGE, NOTE, PDF, PICTURE, PICTURE_DATA, UNMARKED, said, written


@pytest.mark.req("S0-25", "X-24", "S0-12", "S0-13", "S0-24")
def test_a_conversation_with_every_role():
    body, found = written(
        message("user", "Hello"),
        message("agent", "Take note."),
        message("assistant", "Hi", ToolCall("c1", "lookup", '{"id": 1e2}')),
        message("tool", "found", tool_call_id="c1"),
        message("user", "Thanks."),
        system=("You are a nurse.", " ", "Be brief."),
        tools=(LOOKUP, ESCALATE),
        target=target(quirks=UNMARKED, max_output_tokens=99),
    )
    assert body == {
        "model": OLD,
        "max_tokens": 99,
        "tools": [
            {"name": "lookup", "description": "Finds a record.", "input_schema": LOOKUP.parameters},
            {"name": "escalate", "input_schema": {"type": "object"}},
        ],
        "system": [said("You are a nurse."), said("Be brief.")],
        "messages": [
            {"role": "user", "content": [said("Hello"), said("Take note.")]},
            {"role": "assistant", "content": [said("Hi"), {"type": "tool_use", "id": "c1", "name": "lookup", "input": {"id": 100.0}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}, said("Thanks.")]},
        ],
        "stream": True,
    }
    assert b'"input":{"id":1e2}' in found.body
    assert not found.losses
    assert found.sections == ("/system/0", "", "/system/1")
    assert found.tools == ("/tools/0", "/tools/1")


@pytest.mark.req("T-19")
def test_a_message_that_shares_its_wire_message_is_found_at_its_first_block():
    image = Media("image", IMAGE)
    _, found = written(
        message("user", "a"),
        message("user", "b", image),
        message("assistant", "x", ToolCall("c1", "lookup", "{}"), ToolCall("c2", "lookup", "{}")),
        message("tool", "one", tool_call_id="c1"),
        message("tool", "two", image, tool_call_id="c2"),
    )
    assert found.pointers == (
        Pointer("/messages/0/content/0", 0),
        Pointer("/messages/0/content/0", 0, 0),
        Pointer("/messages/0/content/1", 1),
        Pointer("/messages/0/content/1", 1, 0),
        Pointer("/messages/0/content/2", 1, 1),
        Pointer("/messages/1", 2),
        Pointer("/messages/1/content/0", 2, 0),
        Pointer("/messages/1/content/1", 2, 1),
        Pointer("/messages/1/content/2", 2, 2),
        Pointer("/messages/2/content/0", 3),
        Pointer("/messages/2/content/0/content", 3, 0),
        Pointer("/messages/2/content/1", 4),
        Pointer("/messages/2/content/1/content/0", 4, 0),
        Pointer("/messages/2/content/1/content/1", 4, 1),
    )


def test_images_and_documents():
    url = Media("image", url="https://example.org/x.png")
    pdf = Media("file", PDF, filename="x.pdf")
    body, found = written(message("user", Media("image", IMAGE), url, pdf, Media("file", NOTE), Media("file", url="https://example.org/x.pdf")))
    assert body["messages"][0]["content"] == [
        PICTURE,
        {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}, "title": "x.pdf"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "nö"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/x.pdf"}},
    ]
    assert not found.losses


@pytest.mark.parametrize(
    ("media", "why"),
    [
        (Media("image", Blob("sha256:" + "d" * 64, "image/png", 9)), "blob_missing"),
        (Media("image", url="data:image/png;base64,%%"), "data_url_not_taken"),
        (Media("image", url="data:image/bmp;base64,AAAA"), "data_url_not_taken"),
        (Media("file", url="data:application/pdf,plain"), "data_url_not_taken"),
    ],
)
def test_what_cannot_be_read_is_named(media: Media, why: str):
    body, found = written(message("user", "see", media))
    assert body["messages"][0]["content"][1]["text"].startswith(f"[{media.kind} not shown")
    assert found.losses == (WireLoss(media.kind, why, 0, 1),)


def test_a_data_url_is_sent_as_what_it_holds():
    image = Media("image", url="data:image/png;charset=x;base64," + PICTURE_DATA)
    body, _ = written(message("user", image, Media("file", url="data:text/plain;base64,bsO2")))
    assert body["messages"][0]["content"] == [PICTURE, {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "nö"}}]


def test_results_are_text_or_blocks_and_a_failure_has_its_flag():
    results = [
        message("tool", "no", tool_call_id="c1", is_error=True),
        message("tool", "a", "b", tool_call_id="c2"),
        message("tool", Media("image", IMAGE), tool_call_id="c3"),
        message("tool", tool_call_id="c4"),
    ]
    calls = [ToolCall(f"c{number}", "lookup", "{}") for number in range(1, 5)]
    body, found = written(message("user", "q"), message("assistant", *calls), *results)
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True},
        {"type": "tool_result", "tool_use_id": "c2", "content": [said("a"), said("b")]},
        {"type": "tool_result", "tool_use_id": "c3", "content": [PICTURE]},
        {"type": "tool_result", "tool_use_id": "c4"},
    ]
    assert not found.losses


@pytest.mark.req("X-24", "S0-20")
@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", {}),
        (" \n", {}),
        ('{"b": 1.0, "a": 9007199254740993}', {"b": 1.0, "a": 9007199254740993}),
        ("not json", None),
        ("[1]", None),
        ("null", None),
        ('{"a": 1, "a": 2}', None),
        ('{"a": NaN}', None),
        ("[" * 100_000, None),
    ],
)
def test_arguments_are_an_object_and_text_that_is_none_is_wrapped(text: str, sent: Any):
    found = write_request(request(message("user", "q"), message("assistant", ToolCall("c1", "f", text)), message("tool", "r", tool_call_id="c1")), {})
    given = lossless.loads(found.body)["messages"][1]["content"][0]["input"]
    assert given == ({"rawInvalidInput": text} if sent is None else sent)
    assert sent is None or list(given) == list(sent)
    assert found.losses == ((WireLoss("arguments", "no_object", 1, 0),) if sent is None else ())


def test_without_tools_a_history_of_calls_stands_by_itself_or_is_declared_where_that_is_asked_for():
    history = (message("user", "q"), message("assistant", ToolCall("c1", "old tool", "{}")), message("tool", "r", tool_call_id="c1"))
    body, _ = written(*history)
    assert "tools" not in body
    body, found = written(*history, target=target(quirks={**UNMARKED, "history_needs_tools": True}))
    assert body["tools"] == [{"name": "old_tool", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}
    assert WireLoss("tools", "declared_for_history") in found.losses
    assert found.tools == ()


def test_a_schema_without_a_type_is_one_of_an_object():
    bare = type(LOOKUP)("bare", "", {"properties": {"x": {}}})
    body, _ = written(message("user", "a"), tools=(bare,))
    assert body["tools"][0]["input_schema"] == {"type": "object", "properties": {"x": {}}}


@pytest.mark.parametrize(
    ("schema", "sent", "less"),
    [
        ({"type": "object", "properties": {"a.b-c_1": {}}}, {"type": "object", "properties": {"a.b-c_1": {}}}, False),
        ({"type": "object", "properties": {"größe": {}, "n": {}}, "required": ["größe", "n"]}, {"properties": {"n": {}}, "required": ["n"]}, True),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"properties": {"b": {}}}]}, {"properties": {"b": {}}}, True),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, True], "properties": {"a": {}, "c": {}}, "required": ["c"]},
            {"properties": {"a": {}, "c": {}}, "required": ["c", "a"]},
            True,
        ),
        ({"type": "object", "oneOf": [], "additionalProperties": False}, {"additionalProperties": False}, True),
        ({"properties": {"größe": {}}}, {"properties": {}}, True),
        ({"properties": {"n" * 64: {}, "n" * 65: {}}}, {"properties": {"n" * 64: {}}}, True),
        ({"properties": {"a": {}}, "required": ["a"], "allOf": [{"required": ["a"]}]}, {"properties": {"a": {}}, "required": ["a"]}, True),
    ],
)
def test_a_schema_that_is_not_taken_says_less_and_never_nothing(schema: dict[str, Any], sent: dict[str, Any], less: bool):
    body, found = written(message("user", "a"), tools=(type(LOOKUP)("odd", "", schema),))
    assert body["tools"][0]["input_schema"] == {"type": "object", **sent}
    assert (WireLoss("tool_schema", "not_in_format") in found.losses) is less


@pytest.mark.parametrize("model", [OLD, NEW, BOUND])
def test_code_points_that_utf8_cannot_say_are_replaced_and_nothing_else_is(model: str):
    text = "nul \x00 sep \u2028 pair \U0001f525 token <|endoftext|> lone \ud83d end"
    body, found = written(message("user", text), system=("s\udc00",), tools=(LOOKUP,), target=target(model, UNMARKED))
    assert body["messages"][0]["content"] == [said(text.replace("\ud83d", "\ufffd"))]
    assert body["system"] == [said("s\ufffd")]
    assert {(loss.what, loss.source) for loss in found.losses} == {("text", None), ("text", 0)}
