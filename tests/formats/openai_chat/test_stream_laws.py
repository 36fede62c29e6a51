"""Laws of reading Chat streams that are its own: no shape breaks it, and every recorded stream says what the SDK reads."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.deltas import Finished, StreamFailed
from app.entries.parts import Reasoning, Text, ToolCall
from tests.formats.openai_chat.judge import sdk_answer, sdk_calls
from tests.formats.openai_chat.streams import DONE, FAILS_ITSELF, STOP, data, fold, read, recorded
from tests.formats.shapes import objects

pieces = objects("index", "id", "type", "text", "thinking", "extra_content", function=objects("name", "arguments"))
listed = st.lists(pieces, max_size=3)
deltas_of_any_shape = objects("role", "reasoning", "refusal", content=listed, tool_calls=listed, reasoning_details=listed, function_call=pieces)
choices = st.lists(objects("index", "finish_reason", delta=deltas_of_any_shape), max_size=2)
chunks = objects("error", "object", usage=objects("prompt_tokens", "prompt_tokens_details"), x_groq=objects("usage", "error"), choices=choices)


@settings(max_examples=300, deadline=None)
@given(st.lists(chunks, max_size=4))
def test_no_shape_of_chunk_breaks_the_reader(values: list[object]):
    found = read([data(value) for value in values] + [STOP, DONE])
    assert isinstance(found[-1], Finished | StreamFailed)
    fold(found).parts()


@pytest.mark.req("X-90")
def test_every_recorded_stream_is_read_to_its_end(shared: Path):
    streams = recorded(shared)
    assert len(streams) >= 50
    for name, stream in streams.items():
        answer = fold(read([stream]))
        if name in FAILS_ITSELF:
            assert answer.failed is not None
            continue
        assert answer.failed is None, name
        assert answer.finished is not None, name
        assert any(isinstance(part, Text | ToolCall) for part in answer.parts()), name


@pytest.mark.req("X-90")
def test_recorded_streams_say_what_the_sdk_reads_from_them(shared: Path):
    compared = 0
    for name, stream in recorded(shared).items():
        if name.split("/")[0] not in ("openai", "azure", "groq", "deepseek", "crusoe") or name in FAILS_ITSELF:
            continue
        whole = sdk_answer(stream)
        expected = whole.choices[0].message
        parts = fold(read([stream])).parts()
        assert "".join(part.text for part in parts if isinstance(part, Text)) == (expected.content or "") + (expected.refusal or ""), name
        calls = [(part.provider_id, part.name, part.arguments) for part in parts if isinstance(part, ToolCall)]
        assert calls == sdk_calls(whole), name
        reasoning = "".join(part.text for part in parts if isinstance(part, Reasoning))
        extra = expected.model_extra or {}
        assert reasoning == (extra.get("reasoning_content") or extra.get("reasoning") or ""), name
        compared += 1
    assert compared >= 20
