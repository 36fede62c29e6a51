"""Gemini streams to deltas: parts, calls, signatures, usage, endings and failures."""

import json
from typing import Any

import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.deltas import Finished, OpaqueBlock, PartBlock, ReasoningDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallStarted
from app.entries.parts import Opaque, Reasoning, Text, ToolCall
from app.formats.gemini.rules import CANDIDATE, DIALECT
from tests.formats.gemini.streams import STOP, call, event, fold, read, text


@pytest.mark.req("X-90")
def test_pieces_of_text_are_one_part_and_thoughts_another():
    deltas = read([event(text("hm", thought=True)), event(text("m", thought=True)), event(text("a")), event(text("b"), text("c")), STOP])
    assert fold(deltas).parts() == (Reasoning("hmm"), Text("abc"))
    assert deltas[:2] == [ReasoningDelta(0, "hm"), ReasoningDelta(0, "m")]
    assert deltas[-1] == Finished("finished", "STOP")


def test_a_text_behind_a_call_is_a_part_of_its_own_and_order_is_kept():
    answer = fold(read([event(text("a"), call("f"), text("b"), text("hm", thought=True), text("c"), finish="STOP")]))
    assert answer.parts() == (Text("a"), ToolCall("", "f", "{}"), Text("b"), Reasoning("hm"), Text("c"))


@pytest.mark.req("X-23")
def test_a_signed_piece_is_a_part_of_its_own_and_a_late_signature_too():
    deltas = read(
        [event(text("a")), event(text("b", thoughtSignature="s1")), event(text("c")), event(text("", thoughtSignature="s2"), finish="STOP")]
    )
    assert deltas[:-1] == [
        TextDelta(0, "a"),
        TextDelta(1, "b"),
        PartBlock(1, '{"thoughtSignature":"s1"}', "test/m"),
        TextDelta(2, "c"),
        PartBlock(3, '{"thoughtSignature":"s2"}', "test/m"),
    ]
    assert fold(deltas).parts() == (
        Text("a"),
        Text("b", None, '{"thoughtSignature":"s1"}', "test/m"),
        Text("c"),
        Reasoning("", '{"thoughtSignature":"s2"}', "test/m"),
    )


def test_a_signed_thought_says_that_it_is_one():
    answer = fold(read([event(text("hm", thought=True, thoughtSignature="s"), text("", thought=True, thoughtSignature="t")), STOP]))
    assert answer.parts() == (
        Reasoning("hm", '{"thought":true,"thoughtSignature":"s"}', "test/m"),
        Reasoning("", '{"thought":true,"thoughtSignature":"t"}', "test/m"),
    )


def test_a_part_that_says_nothing_beside_its_text_is_plain():
    answer = fold(
        read([event(text("a", thought=False, thoughtSignature="")), event({"thoughtSignature": None}), event({"text": "b", "thought": None}), STOP])
    )
    assert answer.parts() == (Text("ab"),)
    (signed,) = fold(read([event({"thoughtSignature": "s"}), STOP])).parts()
    assert signed == Reasoning("", '{"thoughtSignature":"s"}', "test/m")


@pytest.mark.req("X-74", "S1-05")
def test_arguments_are_the_very_text_that_arrived():
    spelled = '{ "b" : 1e2,\t"a":"\\u00e9 \\"args\\": {", "big":12345678901234567890123, "args":{"args":[]} }'
    other = '{"toolCall":{"id":"t","args":{"a":1}}}'
    calls = f'{{"functionCall":{{"name":"f","args" : {spelled} ,"id":"x"}}}},{{"functionCall":{{"args":{{}},"name":"g"}}}}'
    raw = f'{{"candidates":[{{"content":{{"parts":[{other},{calls}]}}}}]}}'
    deltas = read([b"data: " + raw.encode() + b"\n\n", STOP])
    assert [delta.arguments for delta in deltas if isinstance(delta, ToolCallDelta)] == [spelled, "{}"]
    assert [delta.block for delta in deltas if isinstance(delta, OpaqueBlock)] == [other]


def test_a_call_is_whole_and_keeps_what_stood_beside_it():
    deltas = read([event(call("f", {"a": 1}, "x1", thoughtSignature="s", other={"n": 1.5}), call("g", {}, "x2"), call("h"), finish="STOP")])
    assert deltas == [
        ToolCallStarted(0, "f", "x1"),
        ToolCallDelta(0, '{"a": 1}'),
        PartBlock(0, '{"functionCall":{"id":"x1"},"thoughtSignature":"s","other":{"n":1.5}}', "test/m"),
        ToolCallStarted(1, "g", "x2"),
        ToolCallDelta(1, "{}"),
        PartBlock(1, '{"functionCall":{"id":"x2"}}', "test/m"),
        ToolCallStarted(2, "h"),
        ToolCallDelta(2, "{}"),
        Finished("tool_calls", "STOP"),
    ]


@pytest.mark.parametrize("inner", [{"name": "f"}, {"name": "f", "args": None}, {"name": "f", "args": []}])
def test_a_call_without_arguments_has_an_empty_object(inner: dict[str, Any]):
    assert fold(read([event({"functionCall": inner}), STOP])).parts() == (ToolCall("", "f", "{}"),)


def test_numbers_beside_a_call_stay_as_written():
    raw = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{},"n":1e2},"big":12345678901234567890123}]}}]}'
    (found,) = fold(read([b"data: " + raw + b"\n\n", STOP])).parts()
    assert isinstance(found, ToolCall)
    assert found.opaque == '{"functionCall":{"n":1e2},"big":12345678901234567890123}'


def test_arguments_in_pieces_are_refused_since_half_a_call_is_not_to_be_run():
    for inner in ({"name": "f", "willContinue": True}, {"name": "f", "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}):
        deltas = read([event({"functionCall": inner}), STOP])
        assert isinstance(deltas[-1], StreamFailed)
        assert not any(isinstance(delta, ToolCallStarted) for delta in deltas)


def test_too_many_calls_end_the_stream():
    for pieces in (
        [event(call())] * (TOOL_CALLS_PER_ANSWER_MAX + 1),
        [json.dumps([json.loads(event(call())[6:])] * (TOOL_CALLS_PER_ANSWER_MAX + 1)).encode()],
    ):
        last = read(pieces)[-1]
        assert isinstance(last, StreamFailed)
        assert last.code == "upstream-error"


def test_blocks_that_are_not_modelled_are_kept_as_received():
    code = {"executableCode": {"language": "PYTHON", "code": "x = 1"}, "thoughtSignature": "s"}
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    answer = fold(read([event(code, text("")), event(image, {"newKind": {"a": 1.0}}), STOP]))
    assert answer.parts() == tuple(
        Opaque(DIALECT, "test/m", json.dumps(block), preview)
        for block, preview in ((code, "executableCode, thoughtSignature"), (image, "inlineData"), ({"newKind": {"a": 1.0}}, "newKind"))
    )


def test_what_stands_beside_the_content_is_kept_once_and_apart():
    grounding = {"webSearchQueries": ["q"]}
    deltas = read(
        [
            event(text("a"), groundingMetadata={}),
            event(text("b"), groundingMetadata=grounding, avgLogprobs=-0.1),
            event(finish="STOP", safetyRatings=[{}]),
        ]
    )
    assert deltas[2:] == [
        OpaqueBlock(1, CANDIDATE, "test/m", '{"groundingMetadata":{"webSearchQueries":["q"]}}', "groundingMetadata"),
        Finished("finished", "STOP"),
    ]
