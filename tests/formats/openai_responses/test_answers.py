"""Answers go back as the items that they came as, and without what the server would refuse."""

import json
from typing import Any

import orjson
import pytest

from app.context.draft import NeutralMessage
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from app.formats.protocols import Pointer, WireLoss
from tests.formats.openai_responses.requests import answer, message, request, target
from tests.formats.openai_responses.streams import call, reasoning
from tests.formats.openai_responses.streams import message as said

SEARCH: dict[str, Any] = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
USER = {"role": "user", "content": "q"}


def sent(*messages: NeutralMessage, **changes: Any) -> tuple[list[Any], list[tuple[str, str, int | None]]]:
    """The items, and the losses as what, why and part."""
    found = write_request(request(*messages, **changes), {})
    body = orjson.loads(found.body)
    assert not validate(body, changes["target"].rules if "target" in changes else target().rules)
    return body["input"], [(loss.what, loss.why, loss.part) for loss in found.losses]


def result(call_id: str = "call_1") -> NeutralMessage:
    return message("tool", "r", tool_call_id=call_id)


@pytest.mark.req("X-23")
def test_items_go_back_as_they_came_and_in_their_order():
    annotated = said("two", id="msg_2")
    annotated["content"][0]["annotations"] = [{"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 3, "title": "t"}]
    items = [
        reasoning("rs_1", "E1", "Why.", "And why."),
        said("one", id="msg_1", phase="commentary"),
        SEARCH,
        reasoning("rs_2", "E2"),
        annotated,
        call("call_1", '{"id": 1.0}', namespace="crm"),
        call("call_2", "not json", id="fc_2"),
    ]
    found, losses = sent(message("user", "q"), answer(*items), result("call_1"), result("call_2"))
    expected = json.loads(json.dumps(items))
    for item in (expected[1], expected[4]):
        del item["content"][0]["logprobs"]
    assert found[1:8] == expected
    assert [list(item) for item in found[1:8]] == [list(item) for item in items], "keys in their order"
    assert not losses


def test_numbers_of_a_block_are_spelled_as_they_came():
    block = '{"type":"web_search_call","score":1e2,"big":12345678901234567890123,"f":1.0}'
    found = write_request(request(message("user", "q"), message("assistant", Opaque("openai-responses", "p", block), "said")), {})
    assert block.encode() in found.body


def test_several_texts_of_one_message_are_one_item_again():
    found = write_request(request(message("user", "q"), answer(said("one", "two", id="msg_1"), said("three", id="msg_2"))), {})
    items = orjson.loads(found.body)["input"]
    assert [[part["text"] for part in item["content"]] for item in items[1:]] == [["one", "two"], ["three"]]
    assert [item["id"] for item in items[1:]] == ["msg_1", "msg_2"]
    assert found.pointers[2:] == (
        Pointer("/input/1", 1),
        Pointer("/input/1/content/0", 1, 0),
        Pointer("/input/1/content/1", 1, 1),
        Pointer("/input/2/content/0", 1, 2),
    )


def test_messages_without_ids_do_not_run_together():
    found, _ = sent(message("user", "q"), answer(said("one", id=None), said("two", id=None)))
    assert [item["content"][0]["text"] for item in found[1:]] == ["one", "two"]


def test_a_refusal_goes_back_as_one():
    item = said() | {"content": [{"type": "refusal", "refusal": "No."}]}
    assert sent(message("user", "q"), answer(item))[0][1] == item


def test_what_another_made_is_plain_text():
    found, losses = sent(message("user", "q"), message("assistant", Text("one"), Reasoning("hm"), Text("two"), ToolCall("c", "f", "{}")), result("c"))
    assert found[1:4] == [
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]
    assert losses == [("reasoning", "not_in_format", 1)]


@pytest.mark.req("X-20", "X-23")
def test_reasoning_without_encrypted_content_is_left_out_and_its_item_goes_without_id():
    """The pair is per item: what another reasoning item led to keeps its id."""
    found, losses = sent(
        message("user", "a"),
        answer(reasoning("rs_1", None), said("x", id="msg_1")),
        message("user", "b"),
        answer(reasoning("rs_2", "E2"), said("y", id="msg_2"), reasoning("rs_3", None), call("call_1", id="fc_1"), call("call_2", id="fc_2")),
        result("call_1"),
        result("call_2"),
    )
    assert [(item.get("type"), item.get("id")) for item in found if item.get("role") != "user"] == [
        ("message", None),
        ("reasoning", "rs_2"),
        ("message", "msg_2"),
        ("function_call", None),
        ("function_call", None),
        ("function_call_output", None),
        ("function_call_output", None),
    ]
    assert [loss[:2] for loss in losses] == [("reasoning", "no_encrypted_content")] * 2


def test_an_item_goes_without_id_also_where_its_reasoning_has_none():
    found, _ = sent(message("user", "a"), answer(reasoning(None, None), said("x"), reasoning(None, "E"), call()), result())
    assert [(item.get("type"), "id" in item) for item in found[1:4]] == [("message", False), ("reasoning", False), ("function_call", True)]


def test_a_message_that_was_parted_is_two():
    one, two = answer(said("one", "two", id="msg_1")).parts
    found, _ = sent(message("user", "a"), message("assistant", one, ToolCall("c", "f", "{}"), two), result("c"))
    assert [(item.get("type"), item.get("id")) for item in found[1:4]] == [("message", "msg_1"), ("function_call", None), ("message", None)]


def test_an_item_whose_reasoning_is_no_longer_there_goes_without_id():
    """Of a stopped answer, or one that another pass made shorter, the text alone may be left."""
    _, text, asked = answer(reasoning(), said("x"), call()).parts
    found, _ = sent(message("user", "a"), message("assistant", text, asked), result())
    assert [(item.get("type"), "id" in item) for item in found[1:3]] == [("message", False), ("function_call", False)]


@pytest.mark.req("X-22")
def test_reasoning_that_nothing_follows_is_left_out():
    """When a call was dropped, the reasoning that led to it would stand last, or before what the user said."""
    thought = answer(reasoning(), call()).parts[0]
    for after in ([], [message("user", "b")], [message("assistant", "c")]):
        found, losses = sent(message("user", "a"), message("assistant", thought), *after)
        assert not [item for item in found if item.get("type") == "reasoning"]
        assert losses == [("reasoning", "no_item_follows", 0)]
    found, losses = sent(message("user", "a"), answer(reasoning(), call(), reasoning("rs_2", "E2")), result())
    assert [item.get("type") for item in found[1:]] == ["reasoning", "function_call", "function_call_output"]
    assert losses == [("reasoning", "no_item_follows", 2)]


def test_a_message_of_which_nothing_is_left_has_no_pointer():
    found = write_request(request(message("user", "a"), message("assistant", Reasoning("hm")), message("user", "b")), {})
    assert [pointer for pointer in found.pointers if pointer.part is None] == [Pointer("/input/0", 0), Pointer("/input/1", 2)]
    assert found.losses == (WireLoss("reasoning", "not_in_format", 1, 0),)


def test_no_id_goes_out_twice():
    items = [reasoning(), said("x"), call()]
    other = [reasoning(), said("x"), call("call_2")]
    found, losses = sent(message("user", "a"), answer(*items), result(), answer(*other), result("call_2"))
    ids = [item["id"] for item in found if "id" in item]
    assert ids == ["rs_1", "msg_1", "fc_1"]
    assert losses == [("reasoning", "id_repeated", 0)]
    listed = {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": []}
    found, losses = sent(message("user", "a"), answer(listed, said("x")), answer(listed, SEARCH, SEARCH))
    assert [(item["type"], item.get("id")) for item in found[1:]] == [
        ("mcp_list_tools", "mcpl_1"),
        ("message", "msg_1"),
        ("web_search_call", None),
        ("web_search_call", None),
    ]
    assert losses == [("opaque", "id_repeated", 0)]


CUSTOM = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c9", "name": "patch", "input": "x"}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "c9", "output": "done"}


def test_a_call_that_is_not_modelled_goes_back_with_its_result_or_not_at_all():
    found, losses = sent(message("user", "a"), answer(reasoning(), CUSTOM), message("assistant", Opaque("f", "p", json.dumps(OUTPUT)), "said"))
    assert [item.get("type") for item in found[1:]] == ["reasoning", "custom_tool_call", "custom_tool_call_output", None]
    assert not losses
    found, losses = sent(message("user", "a"), answer(CUSTOM, reasoning(), OUTPUT, said("x")))
    assert [(item["type"], "id" in item) for item in found[1:]] == [
        ("custom_tool_call", True),
        ("custom_tool_call_output", False),
        ("message", False),
    ]
    assert losses == [("reasoning", "no_item_follows", 1)]
    found, losses = sent(message("user", "a"), answer(reasoning(), CUSTOM, said("x")))
    assert [(item.get("type"), "id" in item) for item in found[1:]] == [("message", False)]
    assert losses == [("opaque", "not_paired", 1), ("reasoning", "no_item_follows", 0)]
    found, losses = sent(message("user", "a"), message("assistant", Opaque("f", "p", json.dumps(OUTPUT)), "said"))
    assert len(found) == 2
    assert losses == [("opaque", "not_paired", 0)]
    twice = answer(CUSTOM, OUTPUT, CUSTOM | {"id": "ctc_2"}, OUTPUT)
    assert [loss[:2] for loss in sent(message("user", "a"), twice)[1]] == [("opaque", "not_paired")] * 2


@pytest.mark.parametrize(
    "block",
    [
        "{}",
        "[]",
        "not json",
        '{"type": 7}',
        '{"type": "function_call", "call_id": "c"}',
        '{"type": "item_reference", "id": "msg_1"}',
        '{"a":1,"a":2}',
    ],
)
def test_a_block_that_is_no_item_is_lost_with_a_word(block: str):
    found, losses = sent(message("user", "a"), message("assistant", Opaque("f", "p", block), "said"))
    assert len(found) == 2
    assert losses == [("opaque", "not_in_format", 0)]


@pytest.mark.parametrize("opaque", ["{}", "not json", '{"item": 7}', '{"item": {"type": "reasoning"}}', '{"type": "web_search_call"}'])
def test_a_block_that_does_not_fit_its_part_is_left_beside(opaque: str):
    parts: list[Part] = [Text("x", None, opaque, "p"), ToolCall("c", "f", "{}", opaque=opaque, producer="p")]
    found, losses = sent(message("user", "a"), message("assistant", *parts), result("c"))
    assert found[1:3] == [
        {"role": "assistant", "content": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]
    assert losses == [("opaque", "not_in_format", 0), ("opaque", "not_in_format", 1)]


def test_an_item_alone_is_taken_for_the_block_that_it_is():
    """Transcripts keep items, not what our reader makes of them."""
    text = Text("x", None, '{"type":"message","id":"msg_1","role":"assistant","phase":"final_answer","content":[]}', "p")
    asked = ToolCall("c", "f", "[1]", opaque='{"type":"function_call","id":"fc_1","call_id":"old","name":"f","arguments":"[1]"}', producer="p")
    found, losses = sent(message("user", "a"), message("assistant", text, asked), result("c"))
    content = [{"type": "output_text", "annotations": [], "text": "x"}]
    assert found[1:3] == [
        {"type": "message", "id": "msg_1", "role": "assistant", "phase": "final_answer", "content": content},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "[1]"},
    ]
    assert not losses


def test_reasoning_in_its_own_words_goes_back_where_that_is_taken():
    """Servers that store nothing and encrypt nothing, such as DeepSeek's, want it all the same."""
    plain = reasoning("r-1", None) | {"content": [{"type": "reasoning_text", "text": "think"}]}
    taking = target("deepseek-v4-pro", quirks={"reasoning_key": "reasoning_content"})
    found, losses = sent(message("user", "a"), answer(plain, call()), result(), message("assistant", Reasoning("hm"), "said"), target=taking)
    assert found[1] == plain
    assert found[4] == {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    assert not losses


def test_lone_surrogates_in_a_block_are_replaced():
    item = said("x\ud83d", id="msg_1", phase="final_answer")
    found, losses = sent(message("user", "a"), answer(reasoning("rs_1", "E1", "\udc00"), item))
    assert found[1]["summary"][0]["text"] == "\ufffd"
    assert found[2]["content"][0]["text"] == "x\ufffd"
    assert {loss[:2] for loss in losses} == {("text", "lone_surrogate")}
