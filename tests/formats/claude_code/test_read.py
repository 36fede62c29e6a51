"""Claude Code files to sessions: the writer's quirks one by one, and every file of the corpus with no line unaccounted for."""

import base64
import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Media, Opaque, Reasoning, Text, ToolCall
from app.formats.claude_code.read import read
from app.formats.protocols import ImportedSession, UnreadableImport
from tests.formats.claude_code.sessions import AT, assistant, file, imported, line, result, said, text, tool_use, user


def test_lines_of_one_response_are_one_answer_at_the_place_of_its_first_line():
    session = imported(
        user("u1", None, "go"),
        assistant("a1", "u1", "msg_1", {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        assistant("a2", "a1", "msg_1", text("I look.")),
        assistant("a3", "a2", "msg_1", tool_use("t1", command="ls", n=1.0)),
        result("r1", "a3", "t1"),
        assistant("a4", "a3", "msg_1", tool_use("t2")),
        result("r2", "a4", "t2", is_error=True),
        assistant("a5", "r2", "msg_2", text("Done.")),
    )
    assert [entry.kind for entry in session.entries] == ["user_message", "assistant_message", "tool_result", "tool_result", "assistant_message"]
    answer = session.entries[1].body
    assert isinstance(answer, Answer)
    assert answer.parts == (
        Reasoning("hm", '{"type":"thinking","thinking":"hm","signature":"sig"}', "anthropic-messages/import/claude-x"),
        Text("I look."),
        ToolCall("t1", "Bash", '{"command":"ls","n":1.0}'),
        ToolCall("t2", "Bash", "{}"),
    )
    assert (answer.model, answer.status, answer.stop_reason) == ("claude-x", Status.COMPLETED, None)
    assert session.entries[3].body == ToolResult("t2", (Text("r"),), "Bash", True)
    assert session.kept == 8
    assert session.entries[0].at == datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    assert orjson.loads(session.entries[1].attributes or "")["claude_code"]["lines"] == ["line 2", "line 3", "line 4", "line 6"]
    assert not session.changed
    assert all(entry.include_in_context and not entry.hidden for entry in session.entries)


def test_numbers_and_key_order_of_tool_input_stay_as_written():
    raw = (
        file(user("u1", None, "go"))
        + json.dumps(assistant("a1", "u1", "m", tool_use("t1", x="HERE")))
        .replace('"HERE"', '{"z": 12345678901234567890123, "a": 1e2, "s": "\\ud800"}')
        .encode()
    )
    (session,) = read([raw])
    assert isinstance(session.entries[1].body, Answer)
    call = session.entries[1].body.parts[0]
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"x":{"z":12345678901234567890123,"a":1e2,"s":"\\ud800"}}'


def test_tool_results_text_pictures_and_what_the_user_said_beside_them():
    png = base64.b64encode(b"\x89PNG").decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    session = imported(
        user("u1", None, [text("look"), image]),
        assistant("a1", "u1", "m1", tool_use("t1"), tool_use("t2")),
        user("r1", "a1", [
            {"type": "tool_result", "tool_use_id": "t1", "content": [text("a"), image]},
            {"type": "tool_result", "tool_use_id": "t2"},
            text("[Request interrupted by user]"),
        ]),
        user("u2", "r1", [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!!"}}, {"type": "strange", "x": 1}]),
    )  # fmt: skip
    assert [entry.kind for entry in session.entries] == [
        "user_message",
        "assistant_message",
        "tool_result",
        "tool_result",
        "user_message",
        "user_message",
    ]
    (digest,) = session.blobs
    assert session.blobs[digest] == ("image/png", b"\x89PNG")
    assert isinstance(session.entries[0].body, Message)
    assert isinstance(session.entries[0].body.parts[1], Media)
    assert isinstance(session.entries[2].body, ToolResult)
    assert [type(part) for part in session.entries[2].body.parts] == [Text, Media]
    assert session.entries[3].body == ToolResult("t2", (Text(""),), "Bash")
    assert [(note.source, note.what) for note in session.changed] == [("line 3", "line"), ("line 4", "image"), ("line 4", "strange")]
    last = session.entries[5].body
    assert isinstance(last, Message)
    assert [type(part) for part in last.parts] == [Opaque, Opaque]


def test_bookkeeping_lines_and_fields_are_lost_with_a_reason():
    session = imported(
        {"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"},
        {"type": "summary", "summary": "Fix the parser", "leafUuid": "u1"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        user("u1", None, "go", toolUseResult={"x": 1}, cwd="/x"),
        line("progress", "p1", "u1", data={"type": "hook_progress"}),
        line("system", "y1", "p1", subtype="turn_duration"),
        {"type": "queue-operation", "operation": "enqueue", "content": "later"},
        {"type": "of-tomorrow"},
        7,
    )
    assert session.title == "Fix the parser"
    assert session.external_id == "s1"
    assert session.kept == 2
    lost = {note.source: (note.what, bool(note.why)) for note in session.lost}
    assert lost == {
        "line 9": ("line", True),
        "line 1": ("summary", True),
        "line 3": ("file-history-snapshot", True),
        "line 5": ("progress/hook_progress", True),
        "line 6": ("system/turn_duration", True),
        "line 7": ("queue-operation", True),
        "line 8": ("of-tomorrow", True),
        "1 lines": ("toolUseResult", True),
    }
    assert orjson.loads(session.entries[0].attributes or "")["claude_code"]["cwd"] == "/x"


def test_two_objects_on_one_line_broken_lines_and_repeated_ones():
    twice = user("u1", None, "go")
    raw = file(twice)[:-1] + file(assistant("a1", "u1", "m", text("hi"))) + b'{"type": "user", "cut\n\n' + file(twice, user("u2", "a1", "b"))
    (session,) = read([raw])
    assert said(session.entries) == [("user_message", "go"), ("assistant_message", "hi"), ("user_message", "b")]
    assert [(note.source, note.what) for note in session.lost] == [("line 2", "line"), ("line 4", "line")]
    assert orjson.loads(session.entries[1].attributes or "")["claude_code"]["lines"] == ["line 1 object 2"]


def test_injected_text_is_hidden_and_sent():
    entry = imported(user("u1", None, "Caveat", isMeta=True), user("u2", "u1", "go")).entries[0]
    assert (entry.hidden, entry.include_in_context) == (True, True)


def test_what_the_client_wrote_itself_is_kept_as_failed():
    session = imported(user("u1", None, "go"), assistant("a1", "u1", "m", text("API Error"), model="<synthetic>"), user("u2", "a1", "again"))
    assert isinstance(session.entries[1].body, Answer)
    assert session.entries[1].body.status is Status.FAILED
    assert [(note.source, note.what) for note in session.changed] == [("line 2", "answer")]


def test_a_compaction_summary_is_shown_and_sent_only_where_nothing_stands_before_it():
    boundary = line("system", "b", None, subtype="compact_boundary", logicalParentUuid="a1")
    summary = user("c", "b", "This session is being continued", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    whole = imported(user("u1", None, "go"), assistant("a1", "u1", "m", text("hi")), boundary, summary, user("u2", "c", "on"))
    assert [entry.include_in_context for entry in whole.entries] == [True, True, False, True]
    assert [(note.source, note.what) for note in whole.changed] == [("line 4", "summary")]
    alone = imported(boundary, summary, user("u2", "c", "on"))
    assert [entry.include_in_context for entry in alone.entries] == [True, True]
    assert not alone.changed


def test_what_was_left_by_a_rewind_is_visible_and_out_of_context():
    session = imported(
        user("u1", None, "go"),
        assistant("a1", "u1", "m1", text("one")),
        user("u2", "a1", "left"),
        assistant("a2", "u2", "m2", text("left too")),
        user("u3", "a1", "instead"),
        assistant("a3", "u3", "m3", text("two")),
    )
    assert [entry.include_in_context for entry in session.entries] == [True, True, False, False, True, True]
    assert [(note.source, note.what) for note in session.changed] == [("line 3", "branch"), ("line 4", "branch")]


def test_a_subagent_in_the_same_file_is_a_session_of_its_own():
    inner = [user("s1", None, "task", isSidechain=True, agentId="ag"), assistant("s2", "s1", "m9", text("done"), isSidechain=True, agentId="ag")]
    main, sub = read([file(user("u1", None, "go"), *inner, assistant("a1", "u1", "m1", text("hi")))])
    assert said(main.entries) == [("user_message", "go"), ("assistant_message", "hi")]
    assert said(sub.entries) == [("user_message", "task"), ("assistant_message", "done")]
    assert (main.external_id, sub.external_id) == ("s1", "s1/ag")


def test_a_signature_that_was_blanked_out_is_not_kept_as_one():
    session = imported(assistant("a1", None, "m", {"type": "thinking", "thinking": "hm", "signature": "[REDACTED_SIGNATURE]"}), user("u", "a1", "x"))
    assert isinstance(session.entries[0].body, Answer)
    assert session.entries[0].body.parts == (Reasoning("hm"),)
    assert [note.what for note in session.changed] == ["thinking.signature"]


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"{}\n", b"no json", file({"type": "summary", "summary": "x", "leafUuid": "y"})])
def test_a_file_of_another_kind_is_refused(raw: bytes):
    with pytest.raises(UnreadableImport):
        list(read([raw]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 1_500), max_size=5))
def test_bytes_may_come_in_any_pieces(cuts: list[int]):
    raw = file(user("u1", None, "é🌍\u2028"), assistant("a1", "u1", "m", text("hi")), result("r", "a1", "t"))
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(places)]
    assert list(read(pieces)) == list(read([raw]))


scalars = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "u1", "text", "tool_use", AT])
anything = scalars | st.lists(scalars, max_size=2)


def objects(type: list[str], *keys: str, **shapes: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object of one of these types with some of these keys, each of its shape or of any."""
    return st.fixed_dictionaries({"type": st.sampled_from(type)}, optional=dict.fromkeys(keys, anything) | shapes)


BLOCKS = ["text", "thinking", "tool_use", "tool_result", "image", "document", "redacted_thinking", "odd"]
block_shapes = anything | objects(
    BLOCKS, "text", "thinking", "signature", "id", "name", "input", "tool_use_id", "content", "is_error", "source", "title"
)
message_shapes = anything | objects(["message"], "id", "model", content=anything | st.lists(block_shapes, max_size=3))
KEYS = (
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "timestamp",
    "isSidechain",
    "agentId",
    "subtype",
    "data",
    "summary",
    "leafUuid",
    "isMeta",
    "sessionId",
)
record_shapes = objects(["user", "assistant", "system", "progress", "summary"], *KEYS, message=message_shapes)


@settings(max_examples=200, deadline=None)
@given(st.lists(record_shapes, max_size=5))
def test_no_shape_of_line_breaks_the_reader_and_each_is_accounted_for(records: list[Any]):
    raw = file(user("first", None, "go"), *records)
    sessions = list(read([raw]))
    titles = {f"line {number}" for number, record in enumerate(records, 2) if record["type"] == "summary"}
    assert accounted(sessions) | titles == {f"line {number}" for number in range(1, len(records) + 2)}


def accounted(sessions: list[ImportedSession]) -> set[str]:
    """The lines that became entries, and those that are listed as lost."""
    found = {note.source for session in sessions for note in session.lost if not note.source.endswith("lines")}
    for session in sessions:
        for entry in session.entries:
            found.update(orjson.loads(entry.attributes or "")["claude_code"]["lines"])
    return found
