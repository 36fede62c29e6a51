"""Neutral requests to Responses bodies: what is where, that nothing is moved, and that the SDK's own types take it."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.sources import Sources
from app.entries.parts import Blob, Media, Opaque, Reasoning, Text, ToolCall
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from app.formats.protocols import Pointer, WireLoss, Written
from tests.fakes.openai_responses_rules import breaches
from tests.formats.openai_responses.judge import objections
from tests.formats.openai_responses.requests import ESCALATE, LOOKUP, message, request
from tests.formats.pointing import at
from tests.strategies import sources, tokens
from tests.strategies import target as scripted

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = Blob("sha256:" + "a" * 64, "image/png", len(PNG))
SCAN = Blob("sha256:" + "b" * 64, "application/pdf", 3)
BLOBS = {IMAGE.digest: PNG, SCAN.digest: b"pdf"}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}


def written(*messages: Any, blobs: Any = BLOBS, **changes: Any) -> tuple[dict[str, Any], Written]:
    found = write_request(request(*messages, **changes), blobs)
    assert not objections(found.body)
    return orjson.loads(found.body), found


@pytest.mark.req("X-24", "X-31", "S0-25")
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
        "model": "gpt-5.4",
        "instructions": "You are a nurse.\n\nBe brief.",
        "tools": [{"type": "function", "name": "lookup", "description": "Finds a record.", "parameters": LOOKUP.parameters, "strict": False}],
        "input": [
            {"role": "user", "content": "Hello"},
            {"role": "user", "content": "Take note."},
            {"role": "assistant", "content": "Hi"},
            {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"id": 1e2}'},
            {"type": "function_call_output", "call_id": "c1", "output": "found"},
        ],
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "stream": True,
    }
    assert list(body)[:4] == ["model", "instructions", "tools", "input"], "what stays the same from call to call stands first"
    assert not found.losses
    assert found.sections == ("/instructions", "", "/instructions")
    assert found.tools == ("/tools/0",)
    assert found.pointers == (
        Pointer("/input/0", 0),
        Pointer("/input/0/content", 0, 0),
        Pointer("/input/1", 1),
        Pointer("/input/1/content", 1, 0),
        Pointer("/input/2", 2),
        Pointer("/input/2/content", 2, 0),
        Pointer("/input/3", 2, 1),
        Pointer("/input/4", 3),
        Pointer("/input/4/output", 3, 0),
    )


def test_an_empty_tool_list_is_left_out_with_its_choice():
    body, _ = written(message("user", "a"), tools=(LOOKUP, ESCALATE))
    assert [set(tool) for tool in body["tools"]] == [
        {"type", "name", "description", "parameters", "strict"},
        {"type", "name", "parameters", "strict"},
    ]
    body, _ = written(message("user", "a"), tool_choice="required")
    assert "tools" not in body
    assert "tool_choice" not in body


def test_parts_of_a_user_message_keep_their_order():
    files = (Media("file", SCAN, filename="x.pdf"), Media("file", url="https://example.org/x.pdf"), Media("file", url="data:text/plain;base64,aGk="))
    body, found = written(message("user", "see", Media("image", IMAGE), "and", Media("image", url="https://example.org/x.png"), *files))
    assert body["input"][0]["content"] == [
        {"type": "input_text", "text": "see"},
        PICTURE,
        {"type": "input_text", "text": "and"},
        {"type": "input_image", "image_url": "https://example.org/x.png", "detail": "auto"},
        {"type": "input_file", "filename": "x.pdf", "file_data": "data:application/pdf;base64,cGRm"},
        {"type": "input_file", "file_url": "https://example.org/x.pdf"},
        {"type": "input_file", "filename": "file", "file_data": "data:text/plain;base64,aGk="},
    ]
    assert [pointer.pointer for pointer in found.pointers[1:]] == [f"/input/0/content/{index}" for index in range(7)]


@pytest.mark.parametrize(
    ("media", "why"),
    [
        (Media("image", Blob("sha256:" + "c" * 64, "image/png", 9)), "blob_missing"),
        (Media("file", Blob("sha256:" + "c" * 64, "application/pdf", 9), filename="x.pdf"), "blob_missing"),
        (Media("image"), "no_content"),
    ],
)
def test_a_picture_whose_bytes_are_gone_is_named(media: Media, why: str):
    body, found = written(message("user", "see", media))
    assert body["input"][0]["content"][1]["type"] == "input_text"
    assert body["input"][0]["content"][1]["text"].startswith(f"[{media.kind} not shown")
    assert found.losses == (WireLoss(media.kind, why, 0, 1),)


def test_results_hold_texts_pictures_and_files_and_failures_are_marked():
    calls = message("assistant", *(ToolCall(f"c{index}", "lookup", "{}") for index in range(4)))
    results = [
        message("tool", "ok", Media("image", IMAGE), Media("file", SCAN), tool_call_id="c0", is_error=True),
        message("tool", Media("image", IMAGE), tool_call_id="c1", is_error=True),
        message("tool", "no", tool_call_id="c2", is_error=True),
        message("tool", tool_call_id="c3", is_error=True),
    ]
    body, found = written(calls, *results)
    outputs = [item["output"] for item in body["input"][4:]]
    scan = {"type": "input_file", "filename": "file", "file_data": "data:application/pdf;base64,cGRm"}
    assert outputs == [
        [{"type": "input_text", "text": "[error] ok"}, PICTURE, scan],
        [{"type": "input_text", "text": "[error] "}, PICTURE],
        "[error] no",
        [{"type": "input_text", "text": "[error] "}],
    ]
    assert not found.losses
    places = [(pointer.pointer, pointer.part) for pointer in found.pointers if pointer.source in (1, 2) and pointer.part is not None]
    assert places == [("/input/4/output/0", 0), ("/input/4/output/1", 1), ("/input/4/output/2", 2), ("/input/5/output/1", 0)]


def test_arguments_are_the_exact_text_of_the_model():
    texts = ['{"a": 1.0, "a": 2}', "not json", "{}"]
    calls = [ToolCall(f"c{index}", "lookup", text) for index, text in enumerate(texts)]
    results = [message("tool", "r", tool_call_id=call.tool_call_id) for call in calls]
    body, found = written(message("assistant", *calls), *results)
    assert [item["arguments"] for item in body["input"][:3]] == texts
    assert not found.losses


def test_code_points_that_utf8_cannot_say_are_replaced_and_nothing_else_is():
    text = "nul \x00 sep \u2028 pair \U0001f525 token <|endoftext|> lone \ud83d end"
    body, found = written(message("user", text), message("user", Media("file", SCAN, filename="\ud83d.pdf")), system=("s\udc00",), tools=(LOOKUP,))
    assert body["input"][0]["content"] == text.replace("\ud83d", "\ufffd")
    assert body["input"][1]["content"][0]["filename"] == "\ufffd.pdf"
    assert body["instructions"] == "s\ufffd"
    assert {(loss.what, loss.why, loss.source, loss.part) for loss in found.losses} == {
        ("text", "lone_surrogate", None, None),
        ("text", "lone_surrogate", 0, 0),
        ("text", "lone_surrogate", 1, 0),
    }


def test_parts_that_have_no_place_are_lost_with_a_word():
    """None of them is left there by the passes."""
    odd = (Reasoning("hm"), ToolCall("c", "f", "{}"), Opaque("f", "p", "{}"))
    body, found = written(message("user", "a", *odd), message("assistant", Media("image", url="https://example.org/x.png")))
    assert body["input"] == [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]
    assert [(loss.what, loss.why, loss.part) for loss in found.losses] == [
        ("reasoning", "not_in_format", 1),
        ("tool_call", "not_in_format", 2),
        ("opaque", "not_in_format", 3),
        ("image", "not_in_format", 0),
    ]


TARGETS = (scripted("openai-responses"), scripted("openai-responses", call_id_pattern="[a-zA-Z0-9]{9}", call_id_chars_max=9))


@pytest.mark.req("X-24")
@settings(max_examples=500, deadline=None)
@given(sources(), st.sampled_from(TARGETS))
def test_whatever_the_ledger_holds_the_body_is_valid_and_every_part_of_it_is_sent_or_lost(given_sources: Sources, chosen: Any):
    compiled = compile_context(replace(given_sources, target=chosen), tokens)
    found = write_request(compiled.request, BLOBS)
    body = json.loads(found.body.decode("utf-8"))
    assert write_request(compiled.request, BLOBS).body == found.body
    for judged in (chosen.rules, replace(chosen.rules, call_id_chars_max=2)):  # the second one finds violations
        assert validate(found.document, judged) == validate(body, judged), "the tree is judged in place of the body"
    if body["input"]:
        assert not validate(body, chosen.rules)
        assert not breaches(body)
    assert not objections(found.body)
    told = {(pointer.source, pointer.part) for pointer in found.pointers} | {(loss.source, loss.part) for loss in found.losses}
    order = [int(pointer.pointer.split("/")[2]) for pointer in found.pointers if pointer.part is None]
    assert order == sorted(order), "in the order of the list"
    for index, sent in enumerate(compiled.request.messages):
        for number, part in enumerate(sent.parts):
            assert (index, number) in told, "sent, or listed as lost"
            if isinstance(part, Text) and part.text.isascii():
                places = [at(body, pointer.pointer) for pointer in found.pointers if (pointer.source, pointer.part) == (index, number)]
                assert [place for place in places if part.text in (place["text"] if isinstance(place, dict) else place)]
