"""What a provider put into its answers goes back as received, where it was, and where the format takes it."""

from typing import Any

import pytest

from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.anthropic.validate import validate
from app.formats.anthropic.write_request import UNSAID, write_request
from app.formats.protocols import Pointer, WireLoss
from tests.formats.anthropic.requests import OLD, message, request, signed, target
from tests.formats.anthropic.streams import PRODUCER
from tests.formats.anthropic.written import CALL, UNMARKED, said, written


@pytest.mark.req("X-23")
def test_what_the_provider_gave_goes_back_as_it_was_and_where_it_was():
    redacted = '{"type":"redacted_thinking","data":"ENC=="}'
    cited = '{"type":"text","text":"mid","citations":[{"type":"char_location","cited_text":"é","document_index":0,"n":1e2}]}'
    searched = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"b":1,"a":[]}}'
    parts: list[Any] = [
        signed("one", "S1"),
        Reasoning("", redacted, PRODUCER),
        Text("mid", None, cited, PRODUCER),
        Opaque("anthropic-messages", PRODUCER, searched),
        signed("two", "S2"),
        ToolCall("c1", "lookup", "{}", None, '{"caller":{"type":"direct"}}', None, PRODUCER),
    ]
    found = write_request(request(message("user", "q"), message("assistant", *parts), message("tool", "r", tool_call_id="c1")), {})
    content = found.body[found.body.index(b'"role":"assistant","content":[') + 30 :]
    call = '{"type":"tool_use","id":"c1","name":"lookup","input":{},"caller":{"type":"direct"}}'
    blocks = [parts[0].opaque, redacted, cited, searched, parts[4].opaque, call]
    assert content.startswith(",".join(str(block) for block in blocks).encode())
    assert not found.losses
    assert not validate(found.document)


def test_a_block_of_an_input_goes_where_it_came_from_and_nowhere_else():
    block = '{"type":"container_upload","file_id":"f"}'
    body, found = written(message("user", "q", Opaque("anthropic-messages", PRODUCER, block), Opaque("anthropic-messages", "imported", block)))
    assert body["messages"][0]["content"] == [said("q"), {"type": "container_upload", "file_id": "f"}]
    assert found.losses == (WireLoss("opaque", "not_in_format", 0, 2),)
    reference = '{"type":"tool_reference","tool_name":"lookup"}'
    opaque = [Opaque("anthropic-messages", PRODUCER, reference), Opaque("gemini", PRODUCER, "{}")]
    body, found = written(message("user", "q"), CALL, message("tool", *opaque, tool_call_id="c1"))
    assert body["messages"][2]["content"][0]["content"] == [{"type": "tool_reference", "tool_name": "lookup"}]
    assert found.losses == (WireLoss("opaque", "not_in_format", 2, 1),)


def test_what_goes_back_is_not_scrubbed():
    block = '{"type":"thinking","thinking":"lone \\ud83d","signature":"S"}'
    answer = message("assistant", Reasoning("lone \ud83d", block, PRODUCER), "said")
    found = write_request(request(message("user", "lone \ud83d"), answer, message("user", "q")), {})
    assert block.encode() in found.body
    assert found.losses == (WireLoss("text", "lone_surrogate", 0, 0),)


def test_what_cannot_be_said_is_a_loss():
    parts: list[Any] = [
        Reasoning("plain"),
        Opaque("gemini", "p", "{}"),
        Reasoning("x", "[1]", PRODUCER),
        Opaque("anthropic-messages", "p", "{bad"),
        "said",
    ]
    body, found = written(message("user", "q"), message("assistant", *parts), message("user", "q"))
    assert body["messages"][1]["content"] == [said("said")]
    assert [(loss.what, loss.part) for loss in found.losses] == [("reasoning", 0), ("opaque", 1), ("reasoning", 2), ("opaque", 3)]
    assert Pointer("/messages/1/content/0", 1, 4) in found.pointers


def test_a_message_of_nothing_that_can_be_said_stands_nowhere_and_its_neighbours_are_one():
    body, found = written(message("user", "a"), message("assistant", Reasoning("plain")), message("user", "b"))
    assert body["messages"] == [{"role": "user", "content": [said("a"), said("b")]}]
    assert [pointer.source for pointer in found.pointers if pointer.part is None] == [0, 2]


def test_thinking_that_nothing_followed_has_a_word_behind_it():
    body, found = written(message("user", "q"), message("assistant", signed()), message("user", "Go on."))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "text"]
    assert body["messages"][1]["content"][1] == said(UNSAID)
    assert found.losses == (WireLoss("reasoning", "text_added", 1),)
    body, found = written(message("user", "q"), message("assistant", signed()), message("assistant", "said"), message("user", "q"))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "text"]
    assert not found.losses


def test_an_answer_to_go_on_with_has_no_thinking_and_no_blanks_at_its_end():
    body, found = written(message("user", "q"), message("assistant", signed(), "The answer is:\n\n"))
    assert body["messages"][1]["content"] == [said("The answer is:")]
    assert found.losses == (WireLoss("reasoning", "not_in_final_answer", 1, 0),)
    body, _ = written(message("user", "q"), message("assistant", signed()))
    assert [row["role"] for row in body["messages"]] == ["user"]


def test_an_answer_that_the_provider_paused_goes_back_as_it_was():
    searching = Opaque("anthropic-messages", PRODUCER, '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}')
    paused = (message("user", "q"), message("assistant", signed(), "Let me see. ", searching))
    effort = {"effort": "low"}
    for aim in (target("claude-opus-4-6", UNMARKED), target(OLD, UNMARKED, reasoning=effort)):
        search = Opaque("anthropic-messages", str(aim.producer), searching.block)
        body, _ = written(paused[0], message("assistant", signed(), "Let me see. ", search), target=aim)
        assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "text", "server_tool_use"]
    body, _ = written(*paused)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "server_tool_use"], "no thinking is asked for"
    body, _ = written(*paused, message("assistant", signed()), target=target(quirks=UNMARKED, reasoning=effort))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "server_tool_use"], "nor may it end with any"
