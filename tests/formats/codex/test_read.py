"""Rollouts of Codex to sessions: what the client writes around the items, one by one."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Part, Reasoning, Text, ToolCall
from app.formats.codex.read import read
from app.formats.protocols import ImportedMessage, ImportedSession, UnreadableImport

AT = "2026-02-03T04:05:06.000Z"


def line(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def user(text: str) -> dict[str, Any]:
    return line("response_item", type="message", role="user", content=[{"type": "input_text", "text": text}])


def prompt(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return user(text), line("event_msg", type="user_message", message=text)


def said(text: str, **keys: Any) -> dict[str, Any]:
    return line("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": text}], **keys)


def called(call_id: str) -> dict[str, Any]:
    return line("response_item", type="function_call", call_id=call_id, name="shell", arguments="{}")


def event(kind: str, /, **keys: Any) -> dict[str, Any]:
    return line("event_msg", type=kind, **keys)


def imported(*lines: Any) -> ImportedSession:
    (session,) = read(["\n".join(json.dumps(each) for each in lines).encode()])
    return session


def parts_of(entry: ImportedMessage) -> tuple[Part, ...]:
    assert not isinstance(entry.body, str)
    return entry.body.parts


def contexts(session: ImportedSession) -> list[tuple[str, bool]]:
    return [(part.text, entry.include_in_context) for entry in session.entries for part in parts_of(entry) if isinstance(part, Text)]


def test_the_head_of_a_session_is_its_name_and_its_system_prompt():
    session = imported(
        line("session_meta", id="r1", timestamp=AT, cwd="/o", base_instructions={"text": "Be Codex."}, dynamic_tools=[1]), *prompt("q")
    )
    assert (session.external_id, session.title, session.kept) == ("r1", "q", 2)
    assert (session.entries[0].kind, session.entries[0].body) == ("system_message", Message((Text("Be Codex."),)))
    assert json.loads(session.entries[0].attributes or "")["codex"]["session"] == {"id": "r1", "timestamp": AT, "cwd": "/o"}
    assert [(note.source, note.what) for note in session.changed] == [("line 1", "dynamic_tools")]
    other = imported(line("session_meta", id="r2"), *prompt("q"), line("session_meta", id="r1"))
    assert other.external_id == "r2"
    assert json.loads(other.entries[0].attributes or "")["codex"] == {"lines": ["line 2"], "session": {"id": "r2"}}
    assert [(note.source, note.what) for note in other.lost if note.what == "session_meta"] == [
        ("line 1", "session_meta"),
        ("line 4", "session_meta"),
    ]


def test_what_the_client_puts_before_the_prompt_is_hidden_and_sent():
    session = imported(user("<environment_context>"), *prompt("q"), said("a"))
    assert [(entry.hidden, entry.include_in_context) for entry in session.entries] == [(True, True), (False, True), (False, True)]
    bare = imported(user("<environment_context>"), user("q"))
    assert [entry.hidden for entry in bare.entries] == [False, False], "a client that mirrors nothing tells nothing"


@pytest.mark.req("X-23")
def test_answers_are_of_the_model_of_their_turn():
    reasoning = line("response_item", type="reasoning", summary=[], content=None, encrypted_content="gAA")
    session = imported(
        line("turn_context", model="gpt-a"),
        *prompt("q"),
        reasoning,
        said("a"),
        line("turn_context", model="gpt-b"),
        said("b"),
        *prompt("r"),
        said("c"),
    )
    answers = [entry.body for entry in session.entries if isinstance(entry.body, Answer)]
    assert [(answer.model, len(answer.parts)) for answer in answers] == [("gpt-a", 2), ("gpt-b", 1), ("gpt-b", 1)]
    block = '{"type":"reasoning","summary":[],"content":null,"encrypted_content":"gAA"}'
    assert answers[0].parts == (Reasoning("", block, "openai-responses/import/gpt-a"), Text("a"))
    assert session.entries[1].at == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_an_aborted_turn_cancels_the_answer_that_it_cut_and_no_other():
    cut = imported(*prompt("q"), said("I fe"), event("turn_aborted", reason="interrupted"), *prompt("r"), said("b"))
    assert [entry.body.status for entry in cut.entries if isinstance(entry.body, Answer)] == [Status.CANCELLED, Status.COMPLETED]
    assert ("line 3", "answer") in [(note.source, note.what) for note in cut.changed]
    asked = imported(*prompt("q"), called("c"), event("turn_aborted"), *prompt("r"))
    assert [entry.body.status for entry in asked.entries if isinstance(entry.body, Answer)] == [Status.COMPLETED]
    answered = imported(*prompt("q"), called("c"), line("response_item", type="function_call_output", call_id="c", output="r"), event("turn_aborted"))
    assert not answered.changed
    assert imported(event("turn_aborted"), *prompt("q")).kept == 1


def test_a_rollback_takes_the_last_prompts_out_of_context_and_not_what_stands_before_the_first():
    lines = [user("<environment_context>"), *prompt("a"), said("1"), *prompt("b"), said("2"), *prompt("c"), said("3")]
    one = imported(*lines, event("thread_rolled_back", num_turns=1), *prompt("d"))
    assert contexts(one) == [
        ("<environment_context>", True),
        ("a", True),
        ("1", True),
        ("b", True),
        ("2", True),
        ("c", False),
        ("3", False),
        ("d", True),
    ]
    twice = imported(*lines, event("thread_rolled_back", num_turns=1), event("thread_rolled_back", num_turns=1), said("4"))
    assert contexts(twice)[3:] == [("b", False), ("2", False), ("c", False), ("3", False), ("4", True)]
    every = imported(*lines, event("thread_rolled_back", num_turns=9))
    assert [kept for _, kept in contexts(every)] == [True, *[False] * 6]
    assert all(note.what == "branch" for note in every.changed)
    assert not imported(*lines, event("thread_rolled_back", num_turns=0)).changed


def test_a_compaction_is_visible_and_sent_only_where_nothing_stands_before_it():
    summary = line("compacted", message="They count.", replacement_history=[1])
    whole = imported(*prompt("a"), said("1"), summary, *prompt("b"), said("2"))
    assert contexts(whole) == [("a", True), ("1", True), ("They count.", False), ("b", True), ("2", True)]
    assert [(note.source, note.what) for note in whole.changed] == [("line 4", "summary"), ("line 4", "replacement_history")]
    alone = imported(summary, *prompt("b"))
    assert contexts(alone) == [("They count.", True), ("b", True)]
    sealed = imported(*prompt("a"), line("compacted", message="", replacement_history=[1]), said("1"))
    assert [note.what for note in sealed.lost] == ["event_msg/user_message", "compacted"]


def test_an_event_whose_words_stand_nowhere_is_told_from_a_mirror():
    session = imported(
        *prompt("q"), event("agent_message", message="a"), said("a"), event("agent_message", message="lost words"), event("token_count")
    )
    why = {note.source: note.why for note in session.lost}
    assert why["line 3"] == "the client's view of what stands in the conversation"
    assert "no item" in why["line 5"]
    assert "figures" in why["line 6"]


def test_a_name_that_was_given_is_the_title():
    assert imported(*prompt("q"), event("thread_name_updated", thread_name="Trees")).title == "Trees"


@pytest.mark.req("S0-20", "S0-21")
def test_outputs_of_every_age():
    outputs = ['{"output":"x","metadata":{"exit_code":1}}', {"content": "bad", "success": False}, [{"type": "input_text", "text": "t"}], 7]
    lines = [line("response_item", type="function_call_output", call_id=f"c{n}", output=output) for n, output in enumerate(outputs)]
    session = imported(*prompt("q"), *[called(f"c{n}") for n in range(4)], *lines)
    assert [entry.body for entry in session.entries[2:]] == [
        ToolResult("c0", (Text(str(outputs[0])),), "shell"),
        ToolResult("c1", (Text("bad"),), "shell", True),
        ToolResult("c2", (Text("t"),), "shell"),
        ToolResult("c3", (Text("7"),), "shell"),
    ]
    assert [(note.source, note.what) for note in session.changed] == [("line 10", "content")]


def test_files_of_the_older_layout_hold_bare_items():
    session = imported(
        {"id": "r0", "timestamp": AT, "instructions": "Be brief."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
        {"type": "strange"},
    )
    assert [entry.kind for entry in session.entries] == ["system_message", "user_message", "assistant_message", "tool_result"]
    call = parts_of(session.entries[2])[0]
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("local_shell", {"type": "exec", "command": ["ls"]})
    assert [(note.source, note.what) for note in session.lost] == [("line 2", "state"), ("line 6", "strange")]


@pytest.mark.parametrize(
    "lines",
    [[], [event("user_message", message="q")], [line("session_meta", id="r", base_instructions={"text": "s"})], [{"type": "user", "message": {}}]],
)
def test_a_file_of_another_kind_is_refused(lines: list[Any]):
    with pytest.raises(UnreadableImport):
        imported(*lines)
