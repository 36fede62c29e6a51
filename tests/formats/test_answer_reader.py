"""What holds of the reader of every dialect, since one shell reads them."""

from typing import Any

import orjson
import pytest

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.entries.deltas import Delta, StreamFailed
from app.formats.registry import FORMATS

TOO_MANY = range(TOOL_CALLS_PER_ANSWER_MAX + 1)
CHAT_CALLS = [{"index": n, "id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in TOO_MANY]
DOCUMENTS: dict[str, Any] = {
    "openai-chat": {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": CHAT_CALLS}}]},
    "openai-responses": {
        "status": "completed",
        "output": [{"type": "function_call", "id": f"fc{n}", "call_id": f"c{n}", "name": "f", "arguments": "{}"} for n in TOO_MANY],
    },
    "anthropic-messages": {
        "type": "message",
        "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}} for n in TOO_MANY],
    },
    "gemini": {
        "candidates": [
            {"finishReason": "STOP", "content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}} for _ in TOO_MANY]}},
        ],
    },
    "bedrock-converse": {
        "stopReason": "tool_use",
        "output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": f"c{n}", "name": "f", "input": {}}} for n in TOO_MANY]}},
    },
}


def read(dialect: str, *pieces: bytes) -> list[Delta]:
    reader = FORMATS[dialect].new_reader("p")
    return [*(delta for piece in pieces for delta in reader.feed(piece)), *reader.end(), *reader.end()]


def test_every_dialect_is_here():
    assert DOCUMENTS.keys() == FORMATS.keys()


@pytest.mark.parametrize("dialect", DOCUMENTS)
def test_a_document_with_more_calls_than_an_answer_may_hold_fails_like_a_stream_of_them(dialect: str):
    deltas = read(dialect, orjson.dumps(DOCUMENTS[dialect]))
    assert deltas[-1] == StreamFailed("upstream-error", "The answer is larger than the service takes.")
    assert sum(isinstance(delta, StreamFailed) for delta in deltas) == 1


@pytest.mark.parametrize("dialect", DOCUMENTS)
def test_a_document_of_more_bytes_than_an_answer_may_have_fails_as_soon_as_it_does(dialect: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.formats.answer_reader.ANSWER_BYTES_MAX", 100)
    reader = FORMATS[dialect].new_reader("p")
    assert reader.feed(b" " + b"{" * 99) == []
    assert reader.feed(b"{") == [StreamFailed("upstream-error", "The answer is larger than the service takes.")]
    assert (reader.feed(b"{"), reader.end()) == ([], [])


@pytest.mark.parametrize("dialect", DOCUMENTS)
def test_what_is_no_document_and_no_stream_is_a_truncated_answer(dialect: str):
    for piece in (b"", b" \r\n", b"{", b"{}x"):
        (failed,) = read(dialect, piece)
        assert isinstance(failed, StreamFailed)
        assert (failed.code, failed.retryable) == ("stream-truncated", True)
