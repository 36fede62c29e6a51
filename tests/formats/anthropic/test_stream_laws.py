"""Laws of reading Messages streams that are its own: no shape breaks it, and every recorded stream says what the SDK reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries import lossless
from app.entries.answer import AnswerFold
from app.entries.deltas import Finished, StreamFailed
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from tests.formats.anthropic.judge import plain, sdk_answer
from tests.formats.anthropic.streams import END, PRODUCER, SECOND_ANSWER, fold, read, recorded
from tests.formats.shapes import objects

block_types = st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "news"])
delta_types = st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "news_delta"])
blocks = objects("text", "thinking", "signature", "id", "name", "input", "data", "citations", type=block_types)
pieces = objects("text", "thinking", "signature", "partial_json", "citation", "stop_reason", type=delta_types)
events = objects(
    type=st.sampled_from(["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"]),
    index=st.integers(0, 2),
    content_block=blocks,
    delta=pieces,
    message=objects("id", usage=objects("input_tokens", "output_tokens", "output_tokens_details")),
    usage=objects("input_tokens", "cache_read_input_tokens"),
    error=objects("type", "message", "details"),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(events, max_size=6))
def test_no_shape_of_event_breaks_the_reader(given_events: list[object]):
    found = read([b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in given_events) + END])
    assert isinstance(found[-1], Finished | StreamFailed)
    fold(found).parts()
    read([json.dumps({"content": given_events}).encode()])


@pytest.mark.req("X-90")
def test_recorded_streams_say_what_the_sdk_reads_from_them(shared: Path):
    compared = 0
    for name, stream in recorded(shared).items():
        answer = fold(read([stream]))
        if name in SECOND_ANSWER:
            assert answer.failed is not None
            assert answer.failed.code == "stream-truncated"
            continue
        assert answer.failed is None, name
        whole = sdk_answer(stream)
        said = [as_block(part) for part in answer.parts()]
        assert said == [told for told in map(as_told, whole.content) if told is not None], name
        assert answer.finished is not None, name
        assert answer.finished.native == whole.stop_reason, name
        assert_usage(answer, whole.usage, name)
        compared += 1
    assert compared >= 44


def as_block(part: Part) -> Any:
    """A part as the block that it came as, by what would go back."""
    match part:
        case Text(said, _, opaque):
            return plain(json.loads(opaque)) if opaque else {"type": "text", "text": said}
        case Reasoning(said, opaque):
            found = plain(json.loads(opaque or '{"type":"thinking","signature":""}'))
            return found if found["type"] == "redacted_thinking" else {**found, "thinking": said}
        case ToolCall():
            beside = json.loads(part.opaque or "{}")
            return {"type": "tool_use", "id": part.provider_id, "name": part.name, "input": repaired(part.arguments), **beside}
        case Opaque():
            assert part.producer == PRODUCER
            return plain(lossless.loads(part.block))
        case other:
            raise AssertionError(other)


def repaired(arguments: str) -> Any:
    """The SDK shows what it could read of a call that was cut."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return "cut"


def as_told(block: Any) -> Any:
    """A block of the SDK's as the same; None for one that says nothing."""
    told = plain(block.to_dict())
    told.pop("parsed_output", None)
    if told["type"] == "text" and not told.get("citations"):
        return {"type": "text", "text": told["text"]} if told["text"] else None
    if told["type"] == "thinking":
        return {"signature": "", **told} if told["thinking"] or told.get("signature") else None
    if told["type"] == "tool_use" and told["name"] == "make_file":
        told["input"] = "cut"
    return told


def assert_usage(answer: AnswerFold, usage: Any, name: str) -> None:
    found = answer.usage
    assert found is not None, name
    read_tokens, written_tokens = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    assert (found.cached, found.cache_write, found.output) == (read_tokens, written_tokens, usage.output_tokens), name
    assert found.input == usage.input_tokens + (read_tokens or 0) + (written_tokens or 0), name
    assert found.reasoning == (None if usage.output_tokens_details is None else usage.output_tokens_details.thinking_tokens), name
