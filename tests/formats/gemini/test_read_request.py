"""Requests of generateContent, and chats of the Gemini command line, to sessions."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Media, Opaque, Reasoning, Text, ToolCall
from app.formats.gemini.read_request import read
from app.formats.protocols import ImportedSession, UnreadableImport

PRODUCER = "gemini/import/unknown"


def imported(*contents: Any, **keys: Any) -> ImportedSession:
    (session,) = read([json.dumps({"contents": list(contents), **keys}).encode()])
    return session


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str, **keys: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **keys}}


def result(name: str, **keys: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": name}, **keys}}


@pytest.mark.req("X-23", "S0-20")
def test_signatures_stand_beside_the_part_that_they_came_on():
    session = imported(
        user({"text": "q"}),
        model(
            {"text": "Hm", "thought": True, "thoughtSignature": "cw=="},
            {"text": "plain", "thought": True},
            {"text": "a", "thought_signature": "dA=="},
            {"functionCall": {"id": "f1", "name": "f", "args": {"n": 1.0, "my_key": 2}}, "thoughtSignature": "dQ=="},
            {"text": "", "thoughtSignature": "dg=="},
        ),
    )
    body = session.entries[1].body
    assert isinstance(body, Answer)
    assert body.parts == (
        Reasoning("Hm", '{"thought":true,"thoughtSignature":"cw=="}', PRODUCER),
        Reasoning("plain"),
        Text("a", None, '{"thoughtSignature":"dA=="}', PRODUCER),
        ToolCall("f1", "f", '{"n":1.0,"my_key":2}', opaque='{"functionCall":{"id":"f1"},"thoughtSignature":"dQ=="}', producer=PRODUCER),
        Text("", None, '{"thoughtSignature":"dg=="}', PRODUCER),
    )


@pytest.mark.req("S0-21")
def test_results_without_ids_go_to_the_calls_of_their_name_in_order():
    session = imported(
        user({"text": "q"}),
        model(call("f"), call("g"), call("f")),
        {"role": "function", "parts": [result("g"), result("f"), result("f"), result("h")]},
    )
    answer = session.entries[1].body
    assert isinstance(answer, Answer)
    ids = [part.tool_call_id for part in answer.parts if isinstance(part, ToolCall)]
    assert len(set(ids)) == 3
    results = [entry.body for entry in session.entries[2:] if isinstance(entry.body, ToolResult)]
    assert [(each.tool_call_id, each.name) for each in results[:3]] == [(ids[1], "g"), (ids[0], "f"), (ids[2], "f")]
    assert results[3].tool_call_id not in ids, "a result whose call is not there is given to nobody"
    assert [note.what for note in session.changed] == ["id", "id", "id", "id", "content"]


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"output": "a"}, "a", False),
        ({"error": "e"}, "e", True),
        ({"error": {"code": 5}}, '{"error":{"code":5}}', True),
        ({"output": {"n": 1}}, '{"output":{"n":1}}', False),
        ({"output": "a", "error": "w"}, '{"output":"a","error":"w"}', False),
        ({"return_value": [1]}, '{"return_value":[1]}', False),
        ([1], "[1]", False),
        (None, "", False),
    ],
)
def test_what_a_result_says(response: Any, text: str, is_error: bool):
    session = imported(model(call("f", id="1")), user(result("f", id="1", response=response)))
    assert session.entries[1].body == ToolResult("1", (Text(text),), "f", is_error)


def test_bytes_of_either_alphabet_files_of_others_and_files_that_the_provider_keeps():
    parts = [
        {"inline_data": {"mime_type": "image/png", "data": "_-8"}},
        {"fileData": {"fileUri": "https://orchard.example/a.pdf", "mimeType": "application/pdf"}},
        {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/1", "mimeType": "image/png"}},
        {"fileData": {"fileUri": "gs://a/b", "mimeType": "image/png"}},
    ]
    session = imported(user(*parts))
    body = session.entries[0].body
    assert isinstance(body, Message)
    assert list(session.blobs.values()) == [("image/png", b"\xff\xef")]
    assert isinstance(body.parts[0], Media)
    assert body.parts[1] == Media("file", url="https://orchard.example/a.pdf")
    assert [type(part) for part in body.parts[2:]] == [Opaque, Opaque]


def test_a_picture_that_the_model_made_stays_a_picture():
    session = imported(model({"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "cw=="}))
    body = session.entries[0].body
    assert isinstance(body, Answer)
    assert isinstance(body.parts[0], Media)
    assert [note.what for note in session.changed] == ["thoughtSignature"]


def test_the_forms_of_a_file():
    session = imported({"parts": [{"text": "q"}]}, systemInstruction={"parts": {"text": "s"}}, generationConfig={"seed": 1})
    assert [entry.kind for entry in session.entries] == ["system_message", "user_message"]
    assert [(note.source, note.what) for note in session.lost] == [("document", "generationConfig")]
    (one,) = read([json.dumps({"contents": {"role": "user", "parts": [{"text": "q"}]}, "system_instruction": "s"}).encode()])
    assert one.kept == 2
    (said,) = read([json.dumps({"model": "models/gemini-3", "contents": "q"}).encode()])
    assert said.entries[0].body == Message((Text("q"),))


@pytest.mark.parametrize(
    "document", [{}, {"contents": []}, {"contents": [{"role": "user"}]}, [7], 7, {"messages": [{"role": "user", "content": "q"}]}]
)
def test_what_is_no_request_is_refused(document: Any):
    with pytest.raises(UnreadableImport):
        list(read([json.dumps(document).encode()]))


AT = "2026-01-02T03:04:05.000Z"


def chat(*records: Any, **keys: Any) -> ImportedSession:
    (session,) = read([json.dumps({"sessionId": "s", "messages": list(records), **keys}).encode()])
    return session


def asked(name: str, status: str, **keys: Any) -> dict[str, Any]:
    return {"id": f"{name}-1", "name": name, "args": {"n": 1}, "status": status, "timestamp": AT, **keys}


@pytest.mark.req("S0-20", "S0-21", "S1-05", "S1-06")
def test_a_record_of_a_chat_is_an_answer_and_what_became_of_its_calls():
    done = asked("f", "success", result=[{"functionResponse": {"id": "f-1", "name": "f", "response": {"output": "41"}}}], resultDisplay="41 trees")
    failed = asked("g", "error", result=[{"functionResponse": {"id": "g-1", "name": "g", "response": {"output": "no"}}}])
    thought = {"subject": "Counting", "description": "The book.", "timestamp": AT}
    record = {
        "id": "m",
        "type": "gemini",
        "timestamp": AT,
        "content": "I look.",
        "model": "gemini-3",
        "thoughts": [thought],
        "toolCalls": [done, failed],
    }
    session = chat({"type": "user", "content": "q", "timestamp": AT}, record, {"type": "info", "content": "x"})
    assert [entry.body for entry in session.entries[1:]] == [
        Answer(
            (Reasoning("**Counting**\n\nThe book."), Text("I look."), ToolCall("f-1", "f", '{"n":1}'), ToolCall("g-1", "g", '{"n":1}')),
            model="gemini-3",
        ),
        ToolResult("f-1", (Text("41"),), "f"),
        ToolResult("g-1", (Text("no"),), "g", True),
    ]
    assert session.entries[0].at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (session.external_id, session.title, session.kept) == ("s", "q", 2)
    assert [(note.source, note.what) for note in session.lost] == [("message 2", "info")]
    assert [note.what for note in session.changed] == ["thoughts", "toolCalls"]


def test_a_call_that_was_stopped_has_no_result_and_the_chats_own_title_wins():
    session = chat({"type": "gemini", "content": "", "toolCalls": [asked("f", "cancelled")]}, summary="Trees")
    assert [entry.kind for entry in session.entries] == ["assistant_message"]
    assert session.title == "Trees"
