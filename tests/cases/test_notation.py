"""The adapter's own rules: what the notation means, on data of our own."""

import json
from typing import Any

import pytest

from tests.cases.blocks import answer, has_blocks
from tests.cases.needs import missing
from tests.cases.notation import Case, expanded, read_cases
from tests.cases.raw_json import members
from tests.cases.rows import NotSaid, entries, split_system
from tests.cases.steps import entries_text, request_of
from tests.cases.upstream import Seen


def test_repeated_and_joined() -> None:
    assert expanded({"$concat": ["a", {"$repeat": ["bc", 2]}]}) == "abcbc"
    assert expanded({"$repeat": [[1, 2], 2]}) == [1, 2, 1, 2]
    assert expanded({"$repeat": [{"k": 1}, 2]}) == [{"k": 1}, {"k": 1}]
    assert expanded({"chunks": {"$repeat": ["x", 2]}, "text": {"$repeat": ["x", 2]}}) == {"chunks": ["x", "x"], "text": "xx"}


def test_a_case_of_many_is_taken_apart() -> None:
    many = {"op": "stream_many", "streams": [{"op": "stream", "dialect": "anthropic"}, {"op": "stream", "dialect": "openai-chat"}]}
    row = {"id": "x", "group": "e", "provider": "any", "input": many, "expected": ""}
    first, second = read_cases(json.dumps(row) + "\n\n")
    assert [(case.part, case.op, case.dialects) for case in (first, second)] == [
        (0, "stream", {"anthropic-messages"}),
        (1, "stream", {"openai-chat"}),
    ]


def test_what_is_missing_is_looked_up() -> None:
    def needs(group: str, provider: str, **given: object) -> list[str]:
        return missing(Case("x", group, provider, {"op": "project", **given}, ""))

    assert needs("a", "any", target={"provider": "openai-chat"}) == []
    assert needs("a", "any") == []
    assert needs("a", "nobody's") == ["the dialect nobody's"]
    assert needs("a", "any", target={"provider": "nobody's"}, body={"provider": "openai-chat"}) == ["the dialect nobody's"]


def test_members_keep_their_text() -> None:
    text = r' {"a" : "x\"}\u0000,", "b":[1,{"c":":"}] ,"d":NaN, "e":{"deep":{}}} '
    assert members(text) == {"a": r'"x\"}\u0000,"', "b": '[1,{"c":":"}]', "d": "NaN", "e": '{"deep":{}}'}
    assert members("{}") == {}
    assert members('{"a":' + "[" * 5000 + "]" * 5000 + "}")["a"] == "[" * 5000 + "]" * 5000
    for wrong in ("[1]", "", "x"):
        with pytest.raises(ValueError, match="no object"):
            members(wrong)


def test_a_message_becomes_an_entry_without_being_read() -> None:
    sent = json.loads(entries_text(r'{"role":"user","content":"a\ud83d","metadata":{"n":1e400}}').replace("1e400", "1"))
    assert sent == {"entries": [{"kind": "user_message", "parts": [{"type": "text", "text": "a\ud83d"}], "attributes": {"n": 1}}]}
    result = json.loads(entries_text('{"kind":"tool_result","call_id":"c","json":{"id":9007199254740993}}'))["entries"][0]
    assert (result["tool_call_id"], result["parts"][0]["text"]) == ("c", '{"id":9007199254740993}')
    assert json.loads(entries_text('{"role":42,"content":"x","client_id":"y"}'))["entries"][0] == {
        "kind": 42,
        "parts": [{"type": "text", "text": "x"}],
        "client_id": "y",
    }
    assert entries_text("[[") == "[["


def test_steps_are_requests_of_the_contract() -> None:
    asked = request_of({"method": "GET", "path": "/sessions/{b}/messages?cursor={at}"}, {"b": "ses_1", "at": "4"})
    assert (asked.method, asked.path, asked.params) == ("GET", "/sessions/ses_1/raw", {"after_seq": "4"})
    target = {"provider": "gemini", "model": "g"}
    projected = request_of({"method": "POST", "path": "/sessions/{id}/project", "body": target}, {"id": "ses_1"})
    assert (projected.path, projected.params) == ("/sessions/ses_1/model-input", {"upstream": "gemini", "model": "g"})
    posted = request_of({"method": "POST", "path": "/sessions/{id}/turns", "body": {"message": "hi", "x": 1}, "headers": {"A": "b"}}, {"id": "ses_1"})
    assert (posted.path, json.loads(posted.content or ""), posted.headers) == ("/sessions/ses_1/turns", {"input": "hi", "x": 1}, {"A": "b"})
    unknown = request_of({"method": "PUT", "path": "/providers/x", "body": {"k": 1}}, {})
    assert (unknown.method, unknown.path, unknown.content) == ("PUT", "/providers/x", '{"k": 1}')


def test_rows_become_entries() -> None:
    rows: list[dict[str, Any]] = [
        {"kind": "system", "text": "S"},
        {"kind": "user", "parts": [{"type": "text", "text": "see"}, {"type": "image", "mime": "image/png", "b64": "aGk="}]},
        {"kind": "assistant", "text": "t", "calls": [{"id": "c", "name": "f", "arguments": "{}"}], "status": "aborted"},
        {"kind": "tool_result", "call_id": "c", "json": {"a": 1}, "is_error": True},
    ]
    context, rest = split_system([*rows, {"kind": "system", "text": "T"}])
    assert context == [{"renderer": "system", "text": "S"}, {"renderer": "history"}, {"renderer": "system", "text": "T", "placement": "tail"}]
    user, answer, result = entries(rest)
    assert user["parts"][1] == {"type": "image", "data": "aGk=", "media_type": "image/png"}
    assert (answer["status"], [part["type"] for part in answer["parts"]]) == ("cancelled", ["text", "tool_call"])
    assert (result["is_error"], result["parts"]) == (True, [{"type": "text", "text": '{"a": 1}'}])
    with pytest.raises(NotSaid, match="system after the head"):
        entries([*rest, rows[0]])


def test_what_a_provider_put_into_an_answer_names_its_producer() -> None:
    of_opus = {"provider": "anthropic", "model": "claude-opus-4-8"}
    thought = {"type": "thinking", "text": "T", "signature": "S", **of_opus}
    call = {"id": "c", "name": "f", "arguments": "{}"}
    signed = {"kind": "assistant", "calls": [{**call, "thought_signature": "G"}], "origin": {"provider": "gemini", "model": "gemini-3-pro"}}
    assert [has_blocks(row) for row in (signed, {"kind": "assistant", "reasoning": []}, {"kind": "assistant", "calls": [call]})] == [
        True,
        True,
        False,
    ]
    line = answer({"kind": "assistant", "reasoning": [thought], "text": "x", "status": "aborted", "provider_state": {"a": 1}})
    body = json.loads(line["body"])
    assert (line["attributes"], body["model"], body["status"]) == ('{"a": 1}', "claude-opus-4-8", "cancelled")
    reasoning, text = body["parts"]
    assert json.loads(reasoning["opaque"]) == {"type": "thinking", "thinking": "T", "signature": "S"}
    assert reasoning["producer"] == "anthropic-messages/anthropic/claude-opus-4-8"
    assert text == {"type": "text", "text": "x"}
    (part,) = json.loads(answer(signed)["body"])["parts"]
    assert (json.loads(part["opaque"]), part["producer"]) == ({"thoughtSignature": "G"}, "gemini/gemini/gemini-3-pro")


def test_a_message_item_names_the_reasoning_that_led_to_it() -> None:
    item: dict[str, Any] = {
        "type": "reasoning_item",
        "id": "rs",
        "encrypted_content": None,
        "summary": [],
        "provider": "openai-responses",
        "model": "gpt-5",
    }
    reasoning, text = json.loads(answer({"kind": "assistant", "text": "x", "item_id": "msg", "reasoning": [item]})["body"])["parts"]
    assert json.loads(reasoning["opaque"]) == {"id": "rs", "type": "reasoning", "summary": [], "encrypted_content": None}
    beside = json.loads(text["opaque"])
    assert (beside["item"]["id"], beside["after"], text["producer"]) == ("msg", "rs", "openai-responses/responses/gpt-5")


def test_a_request_names_its_model_in_its_body_or_its_path() -> None:
    def asked(path: str, body: bytes = b"{}") -> str:
        return Seen(0, {}, path, body).model

    assert asked("/v1/chat/completions", b'{"model":"a"}') == "a"
    assert asked("/v1/models/play-1:streamGenerateContent?alt=sse") == "play-1"
    assert asked("/v1/model/a.b%3A0/converse-stream") == "a.b:0"
