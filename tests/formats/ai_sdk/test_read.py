"""UI messages of the AI SDK: steps, states of tools, and what providers put beside parts."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.entries.messages import Answer, Message, Status, ToolResult
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.ai_sdk.read import read
from app.formats.protocols import ImportedSession, UnreadableImport

START = {"type": "step-start"}


def imported(*messages: Any, **keys: Any) -> ImportedSession:
    (session,) = read([json.dumps({"messages": list(messages), **keys}).encode()])
    return session


def answered(*parts: Any, **keys: Any) -> ImportedSession:
    return imported({"id": "a", "role": "assistant", "parts": list(parts), **keys})


def text(said: str = "t", **keys: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **keys}


def tool(id: str, state: str = "output-available", **keys: Any) -> dict[str, Any]:
    return {"type": "tool-f", "toolCallId": id, "state": state, "input": {}, **({"output": "r"} if state == "output-available" else {}), **keys}


def kinds(session: ImportedSession) -> list[str]:
    return [entry.kind.split("_")[0] for entry in session.entries]


def parts_of(session: ImportedSession, at: int = 0) -> tuple[Part, ...]:
    body = session.entries[at].body
    assert not isinstance(body, str)
    return body.parts


@pytest.mark.req("S0-21", "S1-05", "S1-06")
def test_a_message_is_taken_apart_into_steps_and_results():
    session = answered(START, text("1"), tool("a"), tool("b"), START, text("2"), tool("c"), START, text("3"))
    assert kinds(session) == ["assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert parts_of(session, 0) == (Text("1"), ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}"))
    assert [entry.body.tool_call_id for entry in session.entries if isinstance(entry.body, ToolResult)] == ["a", "b", "c"]
    assert session.kept == 1
    assert kinds(answered(text("1"), tool("a"), text("2"), tool("b"))) == ["assistant", "tool", "assistant", "tool"]
    assert kinds(answered(START)) == ["assistant"]


@pytest.mark.req("S0-20")
@pytest.mark.parametrize(
    ("part", "body", "output"),
    [
        (tool("a", output={"n": 1.0}), ToolCall("a", "f", "{}"), ToolResult("a", (Text('{"n":1.0}'),), "f")),
        (tool("a", output=None), ToolCall("a", "f", "{}"), ToolResult("a", (Text(""),), "f")),
        (tool("a", "output-error", errorText="no"), ToolCall("a", "f", "{}"), ToolResult("a", (Text("no"),), "f", True)),
        (tool("a", "output-error", input=None, rawInput='{"a', errorText=""), ToolCall("a", "f", '{"a'), ToolResult("a", (Text(""),), "f", True)),
        (tool("a", "output-denied", approval={"reason": "Never."}), ToolCall("a", "f", "{}"), ToolResult("a", (Text("Never."),), "f", True)),
        (tool("a", "input-available", input={"z": 1, "a": 1.50}), ToolCall("a", "f", '{"z":1,"a":1.5}'), None),
        (tool("a", "approval-requested", approval={"id": "x"}), ToolCall("a", "f", "{}"), None),
        ({"type": "dynamic-tool", "toolName": "g h", "toolCallId": "a", "state": "input-available", "input": []}, ToolCall("a", "g h", "[]"), None),
        ({"type": "tool-call", "toolName": "g", "toolCallId": "a", "state": "input-available", "input": {}}, ToolCall("a", "g", "{}"), None),
        (
            {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "a", "toolName": "g", "args": {}, "result": [1]}},
            ToolCall("a", "g", "{}"),
            ToolResult("a", (Text("[1]"),), "g"),
        ),
    ],
)
def test_the_states_of_a_tool(part: Any, body: ToolCall, output: ToolResult | None):
    session = answered(part)
    assert parts_of(session) == (body,)
    assert [entry.body for entry in session.entries[1:]] == ([] if output is None else [output])


def test_results_that_stand_alone():
    alone = {"type": "tool-result", "toolName": "g", "toolCallId": "x", "state": "output-available", "input": {}, "output": "r"}
    session = answered({"type": "tool-call", "toolName": "g", "toolCallId": "x", "input": {}}, alone, {**alone, "toolCallId": "y"}, tool("z"))
    assert kinds(session) == ["assistant", "tool", "tool", "assistant", "tool"]
    assert [note.what for note in session.changed] == ["toolCallId", "message"]


@pytest.mark.parametrize("part", [tool("a", "input-streaming"), text(state="streaming"), {"type": "reasoning", "text": "t", "state": "streaming"}])
def test_what_was_not_written_to_its_end_is_interrupted(part: Any):
    session = answered(START, text("1"), START, part)
    assert [entry.body.status for entry in session.entries if isinstance(entry.body, Answer)] == [Status.COMPLETED, Status.INTERRUPTED]


@pytest.mark.req("X-23")
@pytest.mark.parametrize(
    ("metadata", "opaque", "dialect"),
    [
        ({"anthropic": {"signature": "Eq"}}, {"type": "thinking", "thinking": "t", "signature": "Eq"}, "anthropic-messages"),
        ({"anthropic": {"redactedData": "Ev"}}, {"type": "redacted_thinking", "data": "Ev"}, "anthropic-messages"),
        ({"google": {"thoughtSignature": "cw"}}, {"thought": True, "thoughtSignature": "cw"}, "gemini"),
        ({"bedrock": {"signature": "Eq"}}, {"reasoningContent": {"reasoningText": {"text": "t", "signature": "Eq"}}}, "bedrock-converse"),
        (
            {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gA"}},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "gA"},
            "openai-responses",
        ),
        ({"cohere": {"x": 1}}, {"providerMetadata": {"cohere": {"x": 1}}}, "ai-sdk"),
    ],
)
def test_thoughts_with_what_vouches_for_them(metadata: Any, opaque: Any, dialect: str):
    (part,) = parts_of(answered({"type": "reasoning", "text": "t", "providerMetadata": metadata}, metadata={"model": "m"}))
    assert isinstance(part, Reasoning)
    assert (part.text, json.loads(part.opaque or ""), part.producer) == ("t", opaque, f"{dialect}/import/m")


def test_pieces_of_one_reasoning_item_are_joined():
    def piece(said: str, id: str, sealed: str | None) -> dict[str, Any]:
        return {"type": "reasoning", "text": said, "providerMetadata": {"openai": {"itemId": id, "reasoningEncryptedContent": sealed}}}

    one, other = parts_of(answered(piece("1", "rs_1", None), piece("2", "rs_1", "gA"), piece("3", "rs_2", "gB")))
    assert isinstance(one, Reasoning)
    assert isinstance(other, Reasoning)
    assert one.text == "1\n\n2"
    assert [piece["text"] for piece in json.loads(one.opaque or "")["summary"]] == ["1", "2"]
    assert json.loads(one.opaque or "")["encrypted_content"] == "gA"
    assert other.text == "3"


def test_marks_beside_texts_and_calls():
    said, called, signed = parts_of(
        answered(
            text(providerMetadata={"openai": {"itemId": "msg_1", "phase": "commentary", "annotations": [1]}}),
            tool("a", "input-available", callProviderMetadata={"openai": {"itemId": "fc_1"}}),
            tool("b", "input-available", callProviderMetadata={"google": {"thoughtSignature": "cw"}}),
        )
    )
    assert isinstance(said, Text)
    assert json.loads(said.opaque or "")["item"] == {"type": "message", "role": "assistant", "content": [], "id": "msg_1", "phase": "commentary"}
    assert isinstance(called, ToolCall)
    assert json.loads(called.opaque or "") == {"item": {"type": "function_call", "id": "fc_1", "arguments": ""}}
    assert isinstance(signed, ToolCall)
    assert (signed.opaque, signed.producer) == ('{"thoughtSignature":"cw"}', "gemini/import/unknown")


def test_tools_of_the_provider_and_parts_of_the_application_are_kept_whole():
    server = tool("s", providerExecuted=True)
    session = answered(
        server, {"type": "source-url", "url": "https://o.example"}, text(), {"type": "data-x", "data": 1}, tool("a"), {"type": "data-y"}, tool("b")
    )
    assert kinds(session) == ["assistant", "tool", "tool"]
    assert [type(part).__name__ for part in parts_of(session)] == ["Opaque", "Opaque", "Text", "Opaque", "ToolCall", "Opaque", "ToolCall"]
    first = parts_of(session)[0]
    assert isinstance(first, Opaque)
    assert json.loads(first.block) == server
    assert [note.what for note in session.changed] == ["tool-f", "source-url", "data-x", "data-y", "message"]


def test_messages_of_version_4():
    legacy = {
        "id": "a",
        "role": "assistant",
        "content": "said",
        "reasoning": "thought",
        "toolInvocations": [{"state": "call", "toolCallId": "c", "toolName": "f", "args": {}}],
        "createdAt": "2026-03-04T05:06:07.000Z",
    }
    attached = {
        "role": "user",
        "content": "q",
        "experimental_attachments": [{"name": "a.png", "contentType": "image/png", "url": "https://o.example/a.png"}],
    }
    session = imported(attached, legacy, {"role": "data", "content": "x"})
    assert session.entries[0].body == Message((Text("q"), Media("image", url="https://o.example/a.png", filename="a.png")))
    assert session.entries[1].body == Answer((Reasoning("thought"), Text("said"), ToolCall("c", "f", "{}")))
    assert session.entries[1].at == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert [(note.source, note.what) for note in session.lost] == [("message 2", "message")]
    details = [{"type": "text", "text": "t", "signature": "Eq"}]
    (part,) = parts_of(answered({"type": "reasoning", "reasoning": "t", "details": details}))
    assert part == Reasoning("t", '{"type":"thinking","thinking":"t","signature":"Eq"}', "anthropic-messages/import/unknown")
    (two,) = parts_of(answered({"type": "reasoning", "reasoning": "t", "details": [*details, {"type": "redacted", "data": "Ev"}]}))
    assert isinstance(two, Reasoning)
    assert json.loads(two.opaque or "")["details"][1] == {"type": "redacted", "data": "Ev"}


def test_content_that_differs_from_the_parts_is_kept_with_the_attributes():
    same, other = answered(text("1"), content="1"), answered(text("1"), content="2")
    assert "content" not in json.loads(same.entries[0].attributes or "")["ai_sdk"]
    assert json.loads(other.entries[0].attributes or "")["ai_sdk"]["content"] == "2"


def test_the_forms_of_a_file():
    session = imported({"role": "user", "parts": [text("q")], "metadata": {"createdAt": 1000}}, id="c1", title="T", model="m")
    assert (session.external_id, session.title, session.entries[0].at) == ("c1", "T", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert [note.what for note in session.lost] == ["model"]
    (listed,) = read([json.dumps([{"role": "user", "parts": [text("q")]}]).encode()])
    assert (listed.external_id, listed.title) == (None, "q")


@pytest.mark.parametrize("document", [{}, [], {"messages": []}, {"messages": [{"role": "robot", "parts": [text()]}]}, 7])
def test_what_is_no_conversation_is_refused(document: Any):
    with pytest.raises(UnreadableImport):
        list(read([json.dumps(document).encode()]))
