"""Neutral requests to Chat bodies: what is where, that nothing is dropped or moved, and that the SDK's own types take it."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from app.context.compile import compile_context
from app.context.sources import Sources
from app.entries import lossless
from app.entries.parts import Blob, Media, Opaque, Reasoning, Text, ToolCall
from app.formats.openai_chat.validate import validate
from app.formats.openai_chat.write_request import write_request
from app.formats.protocols import Pointer, WireLoss, Written
from tests.formats.openai_chat.judge import objections
from tests.formats.openai_chat.requests import ESCALATE, LOOKUP, message, request, target
from tests.formats.pointing import at
from tests.strategies import sources, tokens

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = Blob("sha256:" + "a" * 64, "image/png", len(PNG))
BLOBS = {IMAGE.digest: PNG}
NAMED = {"type": "function", "function": {"name": "lookup"}}


def written(*messages: Any, blobs: Any = BLOBS, **changes: Any) -> tuple[dict[str, Any], Written]:
    found = write_request(request(*messages, **changes), blobs)
    assert not objections(found.body)
    return orjson.loads(found.body), found


@pytest.mark.req("S0-12", "S0-13", "S0-19", "S0-24", "S1-07")
def test_a_conversation_with_every_role():
    body, found = written(
        message("user", "Hello"),
        message("agent", "Take note."),
        message("assistant", "Hi", ToolCall("c1", "lookup", '{"id": 1e2}')),
        message("tool", "found", tool_call_id="c1"),
        system=("You are a nurse.", "", "Be brief."),
        tools=(LOOKUP,),
    )
    assert body == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "You are a nurse.\n\nBe brief."},
            {"role": "user", "content": "Hello"},
            {"role": "user", "content": "Take note."},
            {
                "role": "assistant",
                "content": "Hi",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": 1e2}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ],
        "tools": [{"type": "function", "function": {"name": "lookup", "description": "Finds a record.", "parameters": LOOKUP.parameters}}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert not found.losses
    assert found.sections == ("/messages/0/content", "", "/messages/0/content")
    assert found.tools == ("/tools/0",)
    assert found.pointers == (
        Pointer("/messages/1", 0),
        Pointer("/messages/1/content", 0, 0),
        Pointer("/messages/2", 1),
        Pointer("/messages/2/content", 1, 0),
        Pointer("/messages/3", 2),
        Pointer("/messages/3/tool_calls/0", 2, 1),
        Pointer("/messages/3/content", 2, 0),
        Pointer("/messages/4", 3),
        Pointer("/messages/4/content", 3, 0),
    )


@pytest.mark.req("S0-16", "S0-22", "S0-23")
def test_tools_are_declared_on_the_call_that_carries_results_back_too():
    call = message("assistant", ToolCall("c1", "lookup", "{}"))
    body, _ = written(message("user", "q"), call, message("tool", "42", tool_call_id="c1"), tools=(LOOKUP,))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["lookup"]
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"]
    assert body["messages"][1]["content"] is None


@pytest.mark.req("S0-15")
def test_a_tool_has_name_description_and_schema_and_an_empty_list_is_left_out():
    body, _ = written(message("user", "a"), tools=(LOOKUP, ESCALATE))
    assert [set(tool["function"]) for tool in body["tools"]] == [{"name", "description", "parameters"}, {"name", "parameters"}]
    body, _ = written(message("user", "a"), tool_choice="required")
    assert "tools" not in body
    assert "tool_choice" not in body


@pytest.mark.req("S1-04")
def test_parts_of_a_user_message_keep_their_order():
    file = Media("file", IMAGE, filename="x.pdf")
    body, found = written(message("user", "see", Media("image", IMAGE), "and", Media("image", url="https://example.org/x.png"), file))
    content = body["messages"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text", "image_url", "file"]
    assert content[1]["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="
    assert content[4]["file"] == {"file_data": "data:image/png;base64,iVBORw0KGgo=", "filename": "x.pdf"}
    assert [pointer.pointer for pointer in found.pointers[1:]] == [f"/messages/0/content/{index}" for index in range(5)]


@pytest.mark.parametrize(
    ("media", "quirks", "why"),
    [
        (Media("image", IMAGE), {"images": False}, "no_images"),
        (Media("image", Blob("sha256:" + "b" * 64, "image/png", 9)), {}, "blob_missing"),
        (Media("image", Blob(IMAGE.digest, "image/svg+xml", 9)), {}, "media_type_not_taken"),
        (Media("image", url="https://example.org/x.png"), {"image_urls": False}, "no_image_urls"),
        (Media("file", url="https://example.org/x.pdf"), {}, "no_file_urls"),
        (Media("file", IMAGE), {"files": False}, "no_files"),
        (Media("image"), {}, "no_content"),
    ],
)
def test_a_picture_that_cannot_be_sent_is_named_and_does_not_break_the_session(media: Media, quirks: dict[str, Any], why: str):
    body, found = written(message("user", "see", media), target=target(quirks=quirks))
    assert body["messages"][0]["content"][1]["type"] == "text"
    assert body["messages"][0]["content"][1]["text"].startswith(f"[{media.kind} not shown")
    assert found.losses == (WireLoss(media.kind, why, 0, 1),)


def test_tool_results_are_text_pictures_in_them_are_named_and_failures_marked():
    call = message("assistant", ToolCall("c1", "lookup", "{}"))
    body, found = written(call, message("tool", "ok", Media("image", IMAGE), tool_call_id="c1", is_error=True))
    assert body["messages"][1] == {"role": "tool", "tool_call_id": "c1", "content": "[error] ok\n[image not shown: image/png, 8 bytes]"}
    assert WireLoss("image", "not_in_results", 1, 1) in found.losses


@pytest.mark.req("S1-05", "S0-20")
def test_arguments_are_the_exact_text_of_the_model_and_empty_ones_become_an_object():
    texts = ['{"a": 1.0, "a": 2}', "not json", "", "  \n"]
    calls = [ToolCall(f"c{index}", "lookup", text) for index, text in enumerate(texts)]
    results = [message("tool", "r", tool_call_id=call.tool_call_id) for call in calls]
    body, found = written(message("assistant", *calls), *results)
    assert [call["function"]["arguments"] for call in body["messages"][0]["tool_calls"]] == ['{"a": 1.0, "a": 2}', "not json", "{}", "{}"]
    assert [(loss.what, loss.part) for loss in found.losses] == [("arguments", 2), ("arguments", 3)]


def test_reasoning_is_sent_only_where_the_server_takes_it_back():
    answer = message("assistant", Reasoning("think", '{"x":1}', "p"), "said", Opaque("openai-chat", "p", "{}"))
    body, found = written(answer)
    assert body["messages"][0] == {"role": "assistant", "content": "said"}
    assert [(loss.what, loss.why, loss.part) for loss in found.losses] == [("reasoning", "not_in_format", 0), ("opaque", "not_in_format", 2)]
    quirks = {"reasoning_key": "reasoning_content", "reasoning_always": True}
    sent = write_request(request(answer, message("assistant", "plain"), target=target(quirks=quirks)), {})
    assert [row["reasoning_content"] for row in orjson.loads(sent.body)["messages"]] == ["think", ""]
    assert Pointer("/messages/0/reasoning_content", 0, 0) in sent.pointers
    assert WireLoss("reasoning", "empty_value_required", 1) in sent.losses


def test_several_texts_of_an_answer_are_a_list_or_one_text_for_servers_that_take_no_list():
    body, found = written(message("assistant", "one", "two"))
    assert body["messages"][0]["content"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert [pointer.pointer for pointer in found.pointers] == ["/messages/0", "/messages/0/content/0", "/messages/0/content/1"]
    body, found = written(message("assistant", "one", "two"), target=target(quirks={"content_lists": False}))
    assert body["messages"][0]["content"] == "one\n\ntwo"
    assert {pointer.pointer for pointer in found.pointers} == {"/messages/0", "/messages/0/content"}


@pytest.mark.parametrize(
    ("choice", "allowed", "quirks", "expected"),
    [
        (None, None, {}, None),
        ("auto", None, {}, "auto"),
        ("required", None, {}, "required"),
        ("none", ("lookup",), {}, "none"),
        ("lookup", None, {}, NAMED),
        (None, (), {}, "none"),
        ("auto", ("lookup",), {}, {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}}),
        ("required", ("lookup",), {"allowed_tools": False}, "required"),
        ("required", None, {"tool_choice": False}, None),
    ],
)
def test_how_tools_may_be_chosen(choice: str | None, allowed: tuple[str, ...] | None, quirks: dict[str, Any], expected: Any):
    body, found = written(message("user", "a"), tools=(LOOKUP, ESCALATE), tool_choice=choice, allowed_tools=allowed, target=target(quirks=quirks))
    assert body.get("tool_choice") == expected
    assert [tool["function"]["name"] for tool in body["tools"]] == ["lookup", "escalate"], "definitions stay whole"
    assert [loss.why for loss in found.losses] == (["not_enforced"] if quirks else [])


def test_parameters_and_extra_keys_which_come_last_but_cannot_replace_the_conversation():
    extra = {"temperature": 1, "seed": 7, "messages": [], "stream": False, "stop": ["x"]}
    chosen = target("house-model", max_output_tokens=99, temperature=0.2, reasoning={"effort": "low"}, extra=extra, script=[], colour="red")
    body, found = written(message("user", "a"), target=chosen)
    assert (body["max_completion_tokens"], body["temperature"], body["reasoning_effort"], body["seed"], body["stop"]) == (99, 1, "low", 7, ["x"])
    assert body["stream"] is True
    assert len(body["messages"]) == 1
    assert {(loss.what, loss.why) for loss in found.losses} == {
        ("params.extra.messages", "protected"),
        ("params.extra.stream", "protected"),
        ("params.colour", "not_in_format"),
    }


def test_quirks_change_keys_and_the_head():
    quirks = {"max_tokens_key": "max_tokens", "stream_usage": False, "system_role": "developer", "thinking": ""}
    body, found = written(message("user", "a"), system=("s",), target=target(quirks=quirks, max_output_tokens=5, reasoning={"effort": "low"}))
    assert body["max_tokens"] == 5
    assert "stream_options" not in body
    assert body["messages"][0]["role"] == "developer"
    assert found.losses == (WireLoss("reasoning_effort", "not_in_format"),)


def test_the_name_of_a_file_is_replaced_like_any_text():
    scan = Blob("sha256:" + "b" * 64, "application/pdf", 3)
    body, found = written(message("user", Media("file", scan, filename="\ud83d.pdf")), blobs={scan.digest: b"pdf"})
    assert body["messages"][0]["content"][0]["file"]["filename"] == "\ufffd.pdf"
    assert found.losses == (WireLoss("text", "lone_surrogate", 0, 0),)


def test_code_points_that_utf8_cannot_say_are_replaced_and_nothing_else_is():
    text = "nul \x00 sep \u2028 pair \U0001f525 token <|endoftext|> lone \ud83d end"
    body, found = written(message("user", text), system=("s\udc00",), tools=(LOOKUP,))
    assert body["messages"][1]["content"] == text.replace("\ud83d", "\ufffd")
    assert body["messages"][0]["content"] == "s\ufffd"
    assert {(loss.what, loss.why, loss.source, loss.part) for loss in found.losses} == {
        ("text", "lone_surrogate", None, None),
        ("text", "lone_surrogate", 0, 0),
    }


def test_numbers_of_schemas_and_extra_keys_stay_as_spelled():
    document = lossless.loads('{"big": 123456789012345678901234567890, "e": 1e2, "f": 1.0}')
    odd = type(LOOKUP)("lookup", "", {"type": "object", "default": document})
    found = write_request(request(message("user", "a"), tools=(odd,), target=target(extra={"x": document, "y": 2**70})), {})
    assert found.body.count(b'{"big":123456789012345678901234567890,"e":1e2,"f":1.0}') == 2
    assert b'"y":1180591620717411303424' in found.body


@pytest.mark.req("S0-28", "S0-30", "S0-37", "S0-38", "X-64")
@settings(max_examples=1_000, deadline=None)
@given(sources())
def test_whatever_the_ledger_holds_the_body_is_valid_and_every_message_of_it_has_an_origin(given_sources: Sources):
    compiled = compile_context(given_sources, tokens)
    blobs = {IMAGE.digest: PNG}
    found = write_request(compiled.request, blobs)
    body = json.loads(found.body.decode("utf-8"))
    assert write_request(compiled.request, blobs).body == found.body
    rules = given_sources.target.rules
    for judged in (rules, replace(rules, call_id_chars_max=2)):  # the second one finds violations
        assert validate(found.document, judged) == validate(body, judged), "the tree is judged in place of the body"
    if body["messages"]:
        assert not validate(body, rules)
        assert not objections(found.body)
    head = len(body["messages"]) - len(compiled.request.messages)
    assert head in (0, 1)
    whole = [pointer.pointer for pointer in found.pointers if pointer.part is None]
    assert whole == [f"/messages/{index + head}" for index in range(len(compiled.request.messages))]
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    for index, sent in enumerate(compiled.request.messages):
        for number, part in enumerate(sent.parts):
            assert (index, number) in told, "sent, or listed as lost"
            if isinstance(part, Text) and part.text.isascii():
                places = [at(body, pointer.pointer) for pointer in found.pointers if (pointer.source, pointer.part) == (index, number)]
                assert [place for place in places if part.text in (place["text"] if isinstance(place, dict) else place)]


@pytest.mark.req("X-33")
def test_the_key_for_prompt_caching_is_sent_where_the_server_takes_one():
    assert written(message("user", "a"), cache_key="ses_1")[0]["prompt_cache_key"] == "ses_1"
    assert "prompt_cache_key" not in written(message("user", "a"))[0]
