"""Chat messages to sessions, and back to the same body."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.context.draft import EphemeralOrigin, NeutralMessage, Role
from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Media, Opaque, Reasoning, Text, ToolCall
from app.formats.openai_chat.read_request import read
from app.formats.openai_chat.write_request import write_request
from app.formats.protocols import ImportedSession, UnreadableImport
from tests.formats.openai_chat.requests import request

ROLES: dict[str, Role] = {"user_message": "user", "assistant_message": "assistant", "tool_result": "tool"}


def imported(*messages: Any) -> ImportedSession:
    (session,) = read([json.dumps(list(messages)).encode()])
    return session


def replayed(session: ImportedSession) -> list[Any]:
    """The messages that a compile of the imported session would send."""
    neutral = []
    for entry in session.entries:
        assert isinstance(entry.body, Message | Answer | ToolResult)
        if entry.kind in ROLES:
            tool_call_id = entry.body.tool_call_id if isinstance(entry.body, ToolResult) else None
            neutral.append(NeutralMessage(ROLES[entry.kind], entry.body.parts, EphemeralOrigin(0), tool_call_id))
    blobs = {digest: content for digest, (_, content) in session.blobs.items()}
    return list(orjson.loads(write_request(request(*neutral), blobs).body)["messages"])


CONVERSATION = [
    {"role": "user", "content": "q"},
    {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1e2}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "r"},
    {"role": "assistant", "content": "a"},
]


@pytest.mark.req("S0-20", "S0-21", "S0-22", "S1-04", "S1-05", "S1-06")
def test_a_conversation_comes_back_as_it_was():
    session = imported({"role": "system", "content": "s"}, *CONVERSATION)
    assert [entry.kind for entry in session.entries] == [
        "system_message",
        "user_message",
        "user_message",
        "assistant_message",
        "tool_result",
        "assistant_message",
    ]
    assert replayed(session) == CONVERSATION
    assert session.kept == 6
    assert not session.lost
    assert not session.changed


def test_the_forms_of_a_file():
    document = {"id": "x1", "title": "T", "messages": CONVERSATION, "model": "m"}
    (one,) = read([json.dumps(document, indent=2).encode()])
    assert (one.title, one.external_id) == ("T", "x1")
    assert [(note.source, note.what) for note in one.lost] == [("document", "model")]
    raw = json.dumps(CONVERSATION).encode() + b"\n" + json.dumps({"messages": CONVERSATION[:1]}).encode() + b"\n"
    assert [len(session.entries) for session in read([raw[:50], raw[50:]])] == [5, 1]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"messages": 7}', b"not json", b"[]\n[]", b'[{"role": "user", "content": "x"}]\n{"cut'])
def test_what_is_no_conversation_is_refused(raw: bytes):
    with pytest.raises(UnreadableImport):
        list(read([raw]))


def test_what_other_writers_do():
    session = imported(
        {"role": "developer", "content": "s"},
        {"role": "user", "content": None, "name": "ann"},
        {"role": "assistant", "content": "", "reasoning_content": "th", "refusal": "no", "function_call": {"name": "f", "arguments": {"a": 1}}},
        {"role": "function", "name": "f", "content": {"x": 1}},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, "b"], "annotations": [1], "tool_calls": [{"id": "", "type": "function"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org/x"}, {"type": "file", "file": {"file_id": "f"}}, 7]},
        {"role": "tool", "content": "orphan"},
        {"role": "robot", "content": "x"},
    )
    bodies = [entry.body for entry in session.entries]
    assert bodies[2] == Answer((Reasoning("th"), Text("no"), ToolCall("call_import_2", "f", '{"a":1}')))
    assert bodies[3] == ToolResult("call_import_2", (Text('{"x":1}'),), "f")
    assert isinstance(bodies[4], Answer)
    assert [type(part) for part in bodies[4].parts] == [Text, Text, Opaque]
    assert isinstance(bodies[5], Message)
    assert [type(part) for part in bodies[5].parts] == [Media, Opaque, Opaque]
    assert [(note.source, note.what) for note in session.lost] == [
        ("message 1", "name"),
        ("message 4", "annotations"),
        ("message 6", "message"),
        ("message 7", "message"),
    ]
    assert {note.source for note in session.changed} == {"message 0", "message 2", "message 3", "message 4", "message 5"}
    assert session.kept == 6


def test_recorded_requests_import_without_loss_of_a_message(shared: Path):
    read_count = 0
    for path in sorted((shared / "corpus" / "transcripts" / "provider_exchange").glob("openai*.json")):
        for exchange in json.loads(path.read_text())["interactions"]:
            if "chat/completions" in exchange["uri"] and isinstance(exchange["request"], dict):
                (session,) = read([json.dumps(exchange["request"]).encode()])
                assert session.kept == len(exchange["request"]["messages"]), path.name
                sent = [message for message in exchange["request"]["messages"] if message["role"] not in ("system", "developer")]
                assert [message["role"] for message in replayed(session)] == [message["role"] for message in sent]
                read_count += 1
    assert read_count
