"""Requests and stored responses of the Responses API to sessions."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.entries.producers import IMPORT_ACCOUNT, read_producer
from app.formats.openai_responses.read_request import read
from app.formats.protocols import ImportedSession, UnreadableImport

OWN = Path(__file__).parents[2] / "transcripts" / "openai_responses"


def imported(*items: Any, **keys: Any) -> ImportedSession:
    (session,) = read([json.dumps({"model": "gpt-5.4", "input": list(items), **keys}).encode()])
    return session


def answer(session: ImportedSession, at: int = -1) -> Answer:
    body = [entry.body for entry in session.entries if entry.kind == "assistant_message"][at]
    assert isinstance(body, Answer)
    return body


def user(text: str = "q") -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(call_id: str = "c", **keys: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **keys}


def spoken(*texts: str, **keys: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text} for text in texts], **keys}


@pytest.mark.req("S1-04", "S1-05", "S1-06")
def test_what_the_model_says_in_one_go_is_one_answer():
    session = imported(user(), spoken("a"), called("c1"), called("c2"), {"type": "function_call_output", "call_id": "c1", "output": "r"}, spoken("b"))
    assert [entry.kind for entry in session.entries] == ["user_message", "assistant_message", "tool_result", "assistant_message"]
    assert answer(session, 0).parts == (Text("a"), ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}"))
    assert session.entries[2].body == ToolResult("c1", (Text("r"),), "f")
    assert session.kept == 6
    assert not session.changed


@pytest.mark.req("X-23")
def test_what_the_provider_wants_back_has_the_form_that_streams_leave():
    session = imported(
        user(),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "gAAA"},
        spoken("a", "b", id="msg_1", phase="commentary", status="completed"),
        called(id="fc_1", status="completed"),
    )
    reasoning, first, second, call = answer(session).parts
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.text, json.loads(reasoning.opaque or "")["encrypted_content"]) == ("Hm", "gAAA")
    item = {"type": "message", "role": "assistant", "content": [], "id": "msg_1", "phase": "commentary", "status": "completed"}
    part = {"type": "output_text", "text": ""}
    assert isinstance(first, Text)
    assert isinstance(second, Text)
    assert json.loads(first.opaque or "") == {"item": item, "index": 0, "part": part, "after": "rs_1"}
    assert json.loads(second.opaque or "") == {"item": item, "index": 1, "part": part, "after": "rs_1"}
    assert isinstance(call, ToolCall)
    assert json.loads(call.opaque or "") == {"item": called(id="fc_1", status="completed") | {"arguments": ""}, "after": "rs_1"}
    for each in (reasoning, first, second, call):
        made_by = read_producer(each.producer or "")
        assert made_by is not None
        assert (made_by.dialect, made_by.account, made_by.model) == ("openai-responses", IMPORT_ACCOUNT, "gpt-5.4")


def test_reasoning_in_plain_words_is_no_block():
    session = imported(user(), {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]}, spoken("a"))
    assert answer(session).parts[0] == Reasoning("Hm")
    assert [(note.source, note.what) for note in session.changed] == [("item 1", "id")]


@pytest.mark.req("S0-20")
def test_arguments_keep_their_exact_text():
    written = '{"b": 1e2,  "a": "\\u00e9"'
    session = imported(
        user(),
        called(arguments=written),
        called("d", arguments={"n": 1.50}),
        {"type": "custom_tool_call", "call_id": "e", "name": "p", "input": "x\n"},
    )
    assert [part.arguments for part in answer(session).parts if isinstance(part, ToolCall)] == [written, '{"n":1.5}', "x\n"]
    assert [(note.source, note.what) for note in session.changed] == [("item 2", "arguments"), ("item 3", "input")]


def test_items_that_nobody_models_stay_in_their_place_and_whole():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "n": 1}}
    tools = {"type": "additional_tools", "role": "developer", "tools": []}
    session = imported(user(), search, spoken("a"), {"type": "compaction", "encrypted_content": "gAA"}, tools)
    opaque, text, compaction, added = answer(session).parts
    assert isinstance(opaque, Opaque)
    assert (json.loads(opaque.block), opaque.preview) == (search, "web_search_call")
    assert text == Text("a")
    assert isinstance(compaction, Opaque)
    assert isinstance(added, Opaque)
    assert {note.what for note in session.changed} == {"web_search_call", "compaction", "additional_tools"}


def test_a_call_that_was_cut_makes_an_interrupted_answer():
    session = imported(user(), called(status="incomplete", arguments='{"a'))
    assert answer(session).status is Status.INTERRUPTED
    assert [note.what for note in session.changed] == ["answer"]


@pytest.mark.parametrize(
    ("keys", "status", "stop"),
    [
        ({"status": "completed"}, Status.COMPLETED, "finished"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, Status.COMPLETED, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, Status.COMPLETED, "refused"),
        ({"status": "incomplete"}, Status.COMPLETED, "other"),
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, Status.FAILED, None),
        ({"status": "cancelled"}, Status.CANCELLED, None),
        ({"status": "in_progress"}, Status.INTERRUPTED, None),
    ],
)
def test_a_stored_response_says_how_it_ended_when_and_by_whom(keys: dict[str, Any], status: Status, stop: str | None):
    stored = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1767376000,
        "model": "gpt-5.4-x",
        "output": [spoken("a", status="incomplete")],
        **keys,
    }
    (session,) = read([json.dumps(stored).encode()])
    assert answer(session) == Answer(answer(session).parts, status, "gpt-5.4-x", stop)
    assert session.external_id == "resp_1"
    assert session.entries[0].at == datetime(2026, 1, 2, 17, 46, 40, tzinfo=UTC)
    told = json.loads(session.entries[0].attributes or "")["openai_responses"]["response"]
    assert told == {key: stored[key] for key in ("id", "status", "incomplete_details", "error") if key in stored}
    assert not session.lost


def test_a_response_that_called_waits_for_results_and_one_without_output_stays_visible():
    (session,) = read([json.dumps({"object": "response", "status": "completed", "output": [called()]}).encode()])
    assert answer(session).stop_reason == "tool_calls"
    (session,) = read([json.dumps({"object": "response", "status": "failed", "output": []}).encode()])
    assert answer(session) == Answer((), Status.FAILED)


def test_the_forms_of_a_file():
    (one,) = read([json.dumps({"input": "q", "instructions": "s"}).encode()])
    assert [entry.body for entry in one.entries] == [Message((Text("s"),)), Message((Text("q"),))]
    (listed,) = read([json.dumps([user()]).encode()])
    assert [entry.body for entry in listed.entries] == [Message((Text("q"),))]
    lines = json.dumps({"input": [user("a")]}).encode() + b"\n" + json.dumps({"input": [{"role": "robot"}, user("b")]}).encode()
    first, second = read([lines])
    assert (first.kept, second.kept) == (1, 1)
    assert [(note.source, note.what) for note in second.lost] == [("line 2 item 0", "message")]


@pytest.mark.parametrize(
    "document",
    [{}, {"input": 7}, {"input": []}, [], {"messages": [user()]}, {"input": [{"role": "robot", "content": "x"}]}, {"instructions": "s"}, 7],
)
def test_what_is_no_conversation_is_refused(document: Any):
    with pytest.raises(UnreadableImport):
        list(read([json.dumps(document).encode()]))


def test_the_settings_of_a_request_are_listed_as_lost():
    session = imported(user(), temperature=1.0, previous_response_id=None, tools=[{"type": "function", "name": "f"}])
    assert [(note.source, note.what) for note in session.lost] == [("document", "model"), ("document", "temperature"), ("document", "tools")]
