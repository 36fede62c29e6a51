"""What a server put into its answer comes back to it as it was, in the form in which it wants it."""

from dataclasses import replace
from typing import Any

import pytest

from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.protocols import Pointer
from tests.formats.openai_chat.requests import message
from tests.formats.openai_chat.servers import RESULT, USER, answered, lost, served
from tests.formats.openai_chat.streams import DONE, STOP, chunk, fold, read


@pytest.mark.req("X-24")
def test_a_server_that_wants_its_reasoning_gets_it_on_every_answer_empty_where_there_was_none():
    thought = message("assistant", Reasoning("hm"), "one", "two", ToolCall("c1", "lookup", "{}"))
    body, found = served("deepseek", USER, thought, RESULT, message("assistant", "done"), USER)
    assert [row.get("reasoning_content") for row in body["messages"] if row["role"] == "assistant"] == ["hm", ""]
    assert body["messages"][1]["content"] == "one\n\ntwo", "strings alone"
    assert lost(found) == [("reasoning", "empty_value_required")]


@pytest.mark.parametrize(
    ("preset", "key"), [("groq", "reasoning"), ("vllm", "reasoning"), ("ollama", "reasoning"), ("llama-cpp", "reasoning_content")]
)
def test_plain_reasoning_goes_back_under_the_servers_key(preset: str, key: str):
    body, found = served(preset, USER, message("assistant", Reasoning("hm"), "a"), USER)
    assert body["messages"][1] == {"role": "assistant", "content": "a", key: "hm"}
    assert not found.losses
    assert Pointer(f"/messages/1/{key}", 1, 0) in found.pointers


@pytest.mark.req("X-18", "X-23")
def test_reasoning_details_go_back_as_an_answer_in_one_piece_would_have_had_them():
    fragments: list[Any] = [
        {"type": "reasoning.text", "text": "", "signature": "", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "text": "th", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "text": "ink", "index": 0},
        {"type": "reasoning.text", "signature": "EqQB", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "id": "rs_1", "index": 1},
        {"type": "reasoning.encrypted", "data": "y", "id": "rs_2", "index": 1},
    ]
    pieces = [chunk({"reasoning": fragment.get("text"), "reasoning_details": [fragment]}) for fragment in fragments]
    answer = answered(read([*pieces, chunk({"content": "said"}), STOP, DONE]))
    body, found = served("openrouter", USER, answer, USER)
    assert body["messages"][1] == {
        "role": "assistant",
        "content": "said",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "think", "signature": "EqQB", "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.encrypted", "data": "x", "id": "rs_1", "index": 1},
            {"type": "reasoning.encrypted", "data": "y", "id": "rs_2", "index": 1},
        ],
    }
    assert not found.losses
    assert Pointer("/messages/1/reasoning_details", 1, 0) in found.pointers


@pytest.mark.req("X-18", "X-23")
def test_a_signature_beside_a_call_or_a_text_goes_back_to_where_it_stood():
    google = {"google": {"thought_signature": "sig=="}}
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{"}, "extra_content": google}
    rest = {"index": 0, "function": {"arguments": "}"}}
    second = {"index": 1, "id": "c2", "type": "function", "function": {"name": "lookup", "arguments": "{}"}, "extra_content": None}
    spoken = chunk({"content": "said", "extra_content": {"google": {"thought": True}}})
    deltas = read([spoken, chunk({"tool_calls": [first]}), chunk({"tool_calls": [rest, second]}), chunk({}, "tool_calls"), DONE])
    answer = fold(deltas).parts()
    assert [getattr(part, "producer", None) for part in answer] == ["test/m", "test/m", None]
    # The service gives calls their ids; here the provider's own are taken.
    named = [replace(part, tool_call_id=f"c{at}") if isinstance(part, ToolCall) else part for at, part in enumerate(answer)]
    results = [message("tool", "r", tool_call_id=f"c{at}") for at in (1, 2)]
    body, found = served("azure", USER, message("assistant", *named), *results)
    sent = body["messages"][1]
    assert sent["extra_content"] == {"google": {"thought": True}}
    assert sent["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}, "extra_content": google},
        {"id": "c2", "type": "function", "function": {"name": "lookup", "arguments": "{}"}},
    ]
    assert not found.losses


def test_a_block_beside_a_call_cannot_change_the_call():
    call = ToolCall("c1", "lookup", "{}", opaque='{"id":"other","function":{},"extra_content":{"x":1e2}}')
    body, found = served("azure", USER, message("assistant", call), RESULT)
    assert body["messages"][1]["tool_calls"][0] | {"extra_content": 0} == {
        "id": "c1",
        "type": "function",
        "function": {"name": "lookup", "arguments": "{}"},
        "extra_content": 0,
    }
    assert b'"extra_content":{"x":1e2}' in found.body, "numbers as they were spelled"


@pytest.mark.parametrize("block", ["[]", "3", "not json", "[" * 5_000, '{"other":1}'])
def test_a_block_of_no_known_form_is_lost_and_breaks_nothing(block: str):
    parts = (Reasoning("hm", block, "p"), Text("a", None, block, "p"), Opaque("openai-chat", "p", block), Opaque("gemini", "p", '{"type":"x"}'))
    body, found = served("azure", USER, message("assistant", *parts), USER)
    assert body["messages"][1] == {"role": "assistant", "content": "a"}
    assert lost(found) == [("reasoning", "not_in_format"), ("block", "not_in_format"), ("opaque", "not_in_format"), ("opaque", "not_in_format")]


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "th"}]}


@pytest.mark.req("X-18", "X-23")
def test_mistrals_thinking_is_a_chunk_of_the_content_both_ways():
    more = {"type": "thinking", "thinking": [{"type": "text", "text": "ink"}], "closed": True}
    plain = [chunk({"content": [THINKING]}), chunk({"content": [more]}), chunk({"content": [{"type": "text", "text": "said"}]}), STOP, DONE]
    answer = answered(read(plain))
    assert answer.parts == (Reasoning("think"), Text("said"))
    body, found = served("mistral", USER, answer, USER)
    assert body["messages"][1] == {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "think"}], "closed": True}, {"type": "text", "text": "said"}],
    }
    assert not found.losses
    assert [pointer for pointer in found.pointers if pointer.source == 1] == [
        Pointer("/messages/1", 1),
        Pointer("/messages/1/content/0", 1, 0),
        Pointer("/messages/1/content/1", 1, 1),
    ]


def test_a_signed_chunk_and_one_that_holds_more_than_text_come_back_whole():
    reference = {"type": "reference", "reference_ids": [1]}
    pieces = [
        chunk({"content": [THINKING]}),
        chunk({"content": [{"type": "thinking", "thinking": [reference], "signature": "s", "closed": True}]}),
        chunk({"content": [{"type": "reference", "reference_ids": [2]}, {"type": "text", "text": "said"}]}),
    ]
    answer = answered(read([*pieces, STOP, DONE]))
    body, found = served("mistral", USER, answer, USER)
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "th"}, reference], "signature": "s", "closed": True},
        {"type": "reference", "reference_ids": [2]},
        {"type": "text", "text": "said"},
    ]
    assert not found.losses
