"""Requests of the Messages API to sessions."""

import json
from typing import Any

import pytest

from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Media, Opaque, Reasoning, Text, ToolCall
from app.formats.anthropic.read_request import read
from app.formats.protocols import ImportedSession, UnreadableImport

PRODUCER = "anthropic-messages/import/claude-x"


def imported(*messages: Any, **keys: Any) -> ImportedSession:
    (session,) = read([json.dumps({"model": "claude-x", "max_tokens": 9, "messages": list(messages), **keys}).encode()])
    return session


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def answered(*blocks: Any, **keys: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **keys}


def result(tool_use_id: str, content: Any = "r", **keys: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **keys}


TEXT = {"type": "text", "text": "t"}


@pytest.mark.req("S0-21", "S1-06")
def test_results_are_entries_of_their_own_in_the_order_of_the_blocks():
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in (1, 2)]
    session = imported(user(TEXT), answered(*calls), user(TEXT, result("t2", is_error=True), TEXT, TEXT, result("t1", [TEXT])))
    assert [entry.body for entry in session.entries[2:]] == [
        Message((Text("t"),)),
        ToolResult("t2", (Text("r"),), "f", True),
        Message((Text("t"), Text("t"))),
        ToolResult("t1", (Text("t"),), "f"),
    ]
    assert [(note.source, note.what) for note in session.changed] == [("message 2", "message")]
    assert session.kept == 3


@pytest.mark.req("X-23", "S0-20")
def test_answers_in_a_row_are_one_so_that_their_results_follow_it():
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in (1, 2)]
    session = imported(user(TEXT), answered(calls[0], stop_reason="tool_use"), answered(calls[1]), user(result("t1"), result("t2")), answered(TEXT))
    assert [entry.kind for entry in session.entries] == ["user_message", "assistant_message", "tool_result", "tool_result", "assistant_message"]
    body = session.entries[1].body
    assert isinstance(body, Answer)
    assert [part.tool_call_id for part in body.parts if isinstance(part, ToolCall)] == ["t1", "t2"]
    assert ("message 2", "message") in [(note.source, note.what) for note in session.changed]
    assert session.kept == 5


def test_blocks_of_an_answer_keep_what_goes_back_with_them():
    thinking = {"type": "thinking", "thinking": "Hm ", "signature": "Eq=="}
    cited = {"type": "text", "text": "a", "citations": [{"type": "char_location"}]}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {"z": 1.0, "a": None}, "caller": {"type": "direct"}}
    sealed, server = {"type": "redacted_thinking", "data": "Ev=="}, {"type": "server_tool_use", "id": "s", "name": "n", "input": {}}
    session = imported(user(TEXT), answered(thinking, sealed, cited, call, server))
    body = session.entries[1].body
    assert isinstance(body, Answer)
    assert body.parts == (
        Reasoning("Hm ", '{"type":"thinking","thinking":"Hm ","signature":"Eq=="}', PRODUCER),
        Reasoning("", '{"type":"redacted_thinking","data":"Ev=="}', PRODUCER),
        Text("a", None, '{"type":"text","text":"a","citations":[{"type":"char_location"}]}', PRODUCER),
        ToolCall("t1", "f", '{"z":1.0,"a":null}', opaque='{"caller":{"type":"direct"}}', producer=PRODUCER),
        Opaque("anthropic-messages", PRODUCER, '{"type":"server_tool_use","id":"s","name":"n","input":{}}', "server_tool_use"),
    )


def test_marks_of_the_cache_are_not_kept_and_other_fields_are_told():
    cached = {**TEXT, "cache_control": {"type": "ephemeral"}}
    session = imported(user(cached, {**TEXT, "odd": 1}), answered(cached), system=[cached])
    assert {part for entry in session.entries if not isinstance(entry.body, str) for part in entry.body.parts} == {Text("t")}
    assert [(note.source, note.what) for note in session.changed] == [
        ("system", "cache_control"),
        ("message 0", "cache_control"),
        ("message 0", "odd"),
        ("message 1", "cache_control"),
    ]


def test_documents_and_pictures_by_every_source():
    sources = [
        {"type": "document", "title": "Plan", "source": {"type": "text", "media_type": "text/plain", "data": "é"}},
        {"type": "document", "source": {"type": "url", "url": "https://orchard.example/a.pdf"}},
        {"type": "image", "source": {"type": "url", "url": "https://orchard.example/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "search_result", "source": "https://orchard.example", "title": "t", "content": [TEXT]},
    ]
    session = imported(user(*sources))
    body = session.entries[0].body
    assert isinstance(body, Message)
    text, pdf, image, file, search = body.parts
    assert isinstance(text, Media)
    assert (text.kind, text.filename, list(session.blobs.values())) == ("file", "Plan", [("text/plain", "é".encode())])
    assert pdf == Media("file", url="https://orchard.example/a.pdf")
    assert image == Media("image", url="https://orchard.example/a.png")
    assert isinstance(file, Opaque)
    assert isinstance(search, Opaque)
    assert [note.what for note in session.changed] == ["image", "search_result"]


def test_a_message_as_the_api_gave_it_says_who_and_why():
    whole = answered(TEXT, id="msg_1", type="message", model="claude-y", stop_reason="pause_turn", usage={"output_tokens": 1})
    session = imported(user(TEXT), whole)
    body = session.entries[1].body
    assert isinstance(body, Answer)
    assert (body.model, body.stop_reason) == ("claude-y", "paused")
    facts = json.loads(session.entries[1].attributes or "")["anthropic_messages"]
    assert facts == {"messages": ["message 1"], "id": "msg_1", "type": "message", "usage": {"output_tokens": 1}}


def test_what_is_said_beside_messages_is_told_of_each_entry():
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in (1, 2)]
    results = {**user(result("t1"), result("t2"), TEXT), "uuid": "u"}
    session = imported({**user(TEXT), "uuid": "q"}, answered(calls[0], id="a"), answered(calls[1], usage={"output_tokens": 1}), results)
    told = [json.loads(entry.attributes or "")["anthropic_messages"] for entry in session.entries]
    assert told == [
        {"messages": ["message 0"], "uuid": "q"},
        {"messages": ["message 1", "message 2"], "id": "a", "usage": {"output_tokens": 1}},
        *[{"messages": ["message 3"], "uuid": "u"}] * 3,
    ]


def test_plain_and_absent_contents_are_texts():
    session = imported({"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, {"role": "user"}, {"role": "user", "content": []})
    parts = [entry.body.parts for entry in session.entries if not isinstance(entry.body, str)]
    assert parts == [(Text("q"),), (Text("a"),), (Text(""),), (Text(""),)]


def test_results_with_fields_of_their_own_and_without_a_call():
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    nameless = {"type": "tool_result", "content": "r"}
    session = imported(user(TEXT), answered(call), user(result("t1", odd=1, cache_control={"type": "ephemeral"}), nameless))
    assert [entry.kind for entry in session.entries] == ["user_message", "assistant_message", "tool_result", "user_message"]
    body = session.entries[3].body
    assert isinstance(body, Message)
    assert [part.preview for part in body.parts if isinstance(part, Opaque)] == ["tool_result"]
    assert [(note.source, note.what) for note in session.changed] == [("message 2", "odd"), ("message 2", "tool_result"), ("message 2", "message")]


def test_system_text_stands_where_it_stood():
    session = imported(user(TEXT), answered(TEXT), {"role": "system", "content": "It is evening."}, user(TEXT), system="s")
    assert [entry.kind for entry in session.entries] == ["system_message", "user_message", "assistant_message", "system_message", "user_message"]


@pytest.mark.parametrize("document", [{}, {"messages": []}, {"messages": 7}, [], 7, {"messages": [{"role": "tool", "content": "x"}]}, {"input": "q"}])
def test_what_is_no_request_is_refused(document: Any):
    with pytest.raises(UnreadableImport):
        list(read([json.dumps(document).encode()]))


def test_the_forms_of_a_file_and_what_it_says_beside():
    (listed,) = read([json.dumps([{"role": "user", "content": "q"}, 7]).encode()])
    assert (listed.kept, [(note.source, note.what) for note in listed.lost]) == (1, [("message 1", "message")])
    session = imported({"role": "user", "content": "q"}, tools=[], stream=True, temperature=None)
    assert [note.what for note in session.lost] == ["model", "max_tokens", "tools", "stream"]
