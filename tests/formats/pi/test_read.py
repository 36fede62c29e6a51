"""pi sessions: the writer's quirks one by one."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.pi.commands import command_text
from app.formats.pi.read import read
from app.formats.protocols import ImportedSession, UnreadableImport

AT = "2026-03-04T05:06:07.000Z"


def line(type: str, **keys: Any) -> dict[str, Any]:
    return {"type": type, "timestamp": AT, **keys}


def message(role: str, content: Any = (), **keys: Any) -> dict[str, Any]:
    return line("message", message={"role": role, "content": content if isinstance(content, str) else list(content), "timestamp": 1, **keys})


def answered(*blocks: Any, api: str = "anthropic-messages", stop: str = "stop", **keys: Any) -> dict[str, Any]:
    return message("assistant", blocks, api=api, provider="p", model="m", stopReason=stop, **keys)


def imported(*lines: Any) -> ImportedSession:
    (session,) = read(["\n".join(json.dumps(each) for each in lines).encode()])
    return session


def parts_of(session: ImportedSession, at: int) -> tuple[Part, ...]:
    body = session.entries[at].body
    assert not isinstance(body, str)
    return body.parts


def tree(*links: tuple[str, str | None], **texts: Any) -> list[dict[str, Any]]:
    return [{**texts.get(id, message("user", id)), "id": id, "parentId": parent} for id, parent in links]


def shown(session: ImportedSession) -> dict[str, bool]:
    texts = [(part.text, entry) for at, entry in enumerate(session.entries) for part in parts_of(session, at) if isinstance(part, Text)]
    return {text: entry.include_in_context for text, entry in texts}


def test_a_linear_file_is_one_branch_and_its_head_stands_with_the_first_entry():
    session = imported(line("session", id="s1", cwd="/o", provider="p"), message("user", "q"), line("model_change", modelId="m"), answered())
    assert [entry.include_in_context for entry in session.entries] == [True, True]
    facts = json.loads(session.entries[0].attributes or "")["pi"]
    assert facts == {"lines": ["line 2"], "session": {"id": "s1", "timestamp": AT, "cwd": "/o", "provider": "p"}}
    assert (session.external_id, session.title) == ("s1", "q")
    assert [(note.source, note.what) for note in session.lost] == [("line 1", "session"), ("line 3", "model_change")]
    assert session.entries[0].at == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_the_way_from_the_last_line_to_the_root_is_the_current_branch():
    forked = tree(("a", None), ("b", "a"), ("left", "b"), ("left2", "left"), ("c", "b"), ("d", "c"))
    session = imported(line("session", version=3, id="s"), *forked)
    assert shown(session) == {"a": True, "b": True, "left": False, "left2": False, "c": True, "d": True}
    assert [(note.source, note.what) for note in session.changed] == [("line 4", "branch"), ("line 5", "branch")]
    back = imported(*forked[:4], *tree(("e", "a")))
    assert shown(back) == {"a": True, "b": False, "left": False, "left2": False, "e": True}


def test_a_parent_that_is_missing_is_the_line_before_and_a_circle_ends():
    assert shown(imported(*tree(("a", None), ("b", "gone"), ("c", "b")))) == {"a": True, "b": True, "c": True}
    assert shown(imported(*tree(("a", "b"), ("b", "a")))) == {"a": True, "b": True}


@pytest.mark.req("X-23", "S0-20")
def test_blocks_have_the_form_of_the_provider_that_made_them():
    item = json.dumps({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"})
    blocks = {
        "anthropic-messages": (
            {"type": "thinking", "thinking": "t", "thinkingSignature": "Eq"},
            '{"type":"thinking","thinking":"t","signature":"Eq"}',
        ),
        "openai-responses": ({"type": "thinking", "thinking": "t", "thinkingSignature": item}, item),
        "google-generative-ai": ({"type": "thinking", "thinking": "t", "thinkingSignature": "cw"}, '{"thought":true,"thoughtSignature":"cw"}'),
        "bedrock-converse-stream": (
            {"type": "thinking", "thinking": "t", "thinkingSignature": "Eq"},
            '{"reasoningContent":{"reasoningText":{"text":"t","signature":"Eq"}}}',
        ),
        "openai-completions": ({"type": "thinking", "thinking": "t", "thinkingSignature": "reasoning_content"}, None),
        "new-api": ({"type": "thinking", "thinking": "t", "thinkingSignature": "x"}, '{"type":"thinking","thinking":"t","thinkingSignature":"x"}'),
    }
    dialects = ["anthropic-messages", "openai-responses", "gemini", "bedrock-converse", "openai-chat", "new-api"]
    for dialect, (api, (block, opaque)) in zip(dialects, blocks.items(), strict=True):
        (part,) = parts_of(imported(answered(block, api=api)), 0)
        assert part == Reasoning("t", opaque, None if opaque is None else f"{dialect}/import/m")
    sealed = {"type": "thinking", "thinking": "", "thinkingSignature": "Ev", "redacted": True}
    assert parts_of(imported(answered(sealed)), 0) == (Reasoning("", '{"type":"redacted_thinking","data":"Ev"}', "anthropic-messages/import/m"),)


def test_marks_beside_texts_and_calls():
    text = {"type": "text", "text": "a", "textSignature": '{"v":1,"id":"msg_1","phase":"final_answer"}'}
    call = {"type": "toolCall", "id": "c", "name": "f", "arguments": {}, "thoughtSignature": "cw"}
    said, old = parts_of(imported(answered(text, {**text, "textSignature": "msg_2"}, api="openai-responses")), 0)
    assert isinstance(said, Text)
    assert isinstance(old, Text)
    frame = {"type": "message", "role": "assistant", "content": []}
    assert json.loads(said.opaque or "") == {"item": {**frame, "id": "msg_1", "phase": "final_answer"}}
    assert json.loads(old.opaque or "") == {"item": {**frame, "id": "msg_2"}}
    signed, called = parts_of(imported(answered({"type": "text", "text": "a", "textSignature": "dA"}, call, api="google-vertex")), 0)
    assert signed == Text("a", None, '{"thoughtSignature":"dA"}', "gemini/import/m")
    assert called == ToolCall("c", "f", "{}", opaque='{"thoughtSignature":"cw"}', producer="gemini/import/m")


def test_answers_that_were_cut_or_failed_have_their_status_and_a_call_the_text_that_was_written():
    cut = {"type": "toolCall", "id": "c", "name": "f", "arguments": {"a": 1}, "partialJson": '{"a": 1, "b'}
    session = imported(answered(cut, stop="aborted"), answered(stop="error", errorMessage="400"), answered(stop="length"), answered(stop="toolUse"))
    bodies = [entry.body for entry in session.entries]
    assert bodies[0] == Answer((ToolCall("c", "f", '{"a": 1, "b'),), Status.CANCELLED, "m")
    assert bodies[1:] == [
        Answer((), Status.FAILED, "m"),
        Answer((), Status.COMPLETED, "m", "length"),
        Answer((), Status.COMPLETED, "m", "tool_calls"),
    ]
    assert [(note.source, note.what) for note in session.changed] == [("line 1", "answer"), ("line 2", "answer")]
    assert json.loads(session.entries[1].attributes or "")["pi"]["errorMessage"] == "400"


def test_summaries_of_compactions_and_branches():
    compaction = line("compaction", summary="They count.", firstKeptEntryIndex=1)
    session = imported(message("user", "q"), compaction, line("branch_summary", summary="They left."), line("compaction", summary=""))
    assert [(parts_of(session, at)[0], entry.include_in_context) for at, entry in enumerate(session.entries)] == [
        (Text("q"), True),
        (Text("They count."), False),
        (Text("They left."), True),
    ]
    assert [(note.source, note.what) for note in session.lost] == [("line 4", "summary")]
    assert imported(compaction, message("user", "q")).entries[0].include_in_context


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"command": "ls", "output": "a\n", "exitCode": 0}, "Ran `ls`\n```\na\n\n```"),
        ({"command": "ls", "output": "", "exitCode": None}, "Ran `ls`\n(no output)"),
        ({"command": "ls", "output": "a", "exitCode": 2}, "Ran `ls`\n```\na\n```\n\nCommand exited with code 2"),
        ({"command": "ls", "output": "a", "exitCode": 2, "cancelled": True}, "Ran `ls`\n```\na\n```\n\n(command cancelled)"),
        ({"command": "ls", "output": "a", "truncated": True, "fullOutputPath": "/t"}, "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: /t]"),
    ],
)
def test_commands_of_the_user_in_the_words_of_pi(message: dict[str, Any], text: str):
    assert command_text(message) == text


def test_what_the_user_kept_from_the_model_and_what_extensions_say():
    session = imported(
        message("bashExecution", command="ls", output="a", excludeFromContext=True),
        line("custom_message", customType="w", content="It rains.", display=False),
        message("custom", "It snows.", display=True),
        line("custom", customType="w", data={}),
        message("robot", "x"),
    )
    assert [(entry.hidden, entry.include_in_context) for entry in session.entries] == [(False, False), (True, True), (False, True)]
    assert [(note.source, note.what) for note in session.lost] == [("line 4", "custom"), ("line 5", "message")]


@pytest.mark.req("S0-21", "S1-06")
def test_results_and_blocks_that_nobody_models():
    block = {"type": "odd", "x": 1}
    session = imported(
        answered(block),
        message("toolResult", [{"type": "text", "text": "r"}, block], toolCallId="c", toolName="f", isError=True, details={"d": 1}),
        message("toolResult", []),
    )
    assert session.entries[0].body == Answer(
        (Opaque("anthropic-messages", "anthropic-messages/import/m", '{"type":"odd","x":1}', "odd"),), model="m", stop_reason="finished"
    )
    assert session.entries[1].body == ToolResult("c", (Text("r"), Opaque("pi", "pi/import/unknown", '{"type":"odd","x":1}', "odd")), "f", True)
    assert [(note.source, note.what) for note in session.changed] == [("line 1", "odd"), ("line 2", "odd"), ("1 lines", "details")]
    assert [(note.source, note.what) for note in session.lost] == [("line 3", "message")]


def test_a_file_may_be_messages_alone():
    bare = {"role": "assistant", "content": [{"type": "text", "text": "a"}], "api": "x", "model": "m", "timestamp": 1766357372971}
    (one,) = read([json.dumps(bare, indent=1).encode()])
    (two,) = read([json.dumps([{"role": "user", "content": "q", "timestamp": 1}, bare]).encode()])
    assert [len(session.entries) for session in (one, two)] == [1, 2]
    assert two.entries[0].body == Message((Text("q"),))
    assert one.entries[0].at == datetime(2025, 12, 21, 22, 49, 32, 971000, tzinfo=UTC)


@pytest.mark.parametrize("lines", [[], [line("session", id="s")], [message("robot")], [{"role": "user", "content": "q"}], [[{"role": "user"}]]])
def test_a_file_of_another_kind_is_refused(lines: list[Any]):
    with pytest.raises(UnreadableImport):
        imported(*lines)
