"""Streams for tests of the Chat format: made by hand, and the recorded ones."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta
from app.formats.framing.sse import SseReader
from app.formats.openai_chat.read_stream import ChatStreamReader


def chunk(delta: Any = None, finish_reason: str | None = None, **keys: Any) -> bytes:
    """One `data:` event of a chunk with one choice."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return data(head | {"choices": [{"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish_reason}]} | keys)


def data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
STOP = chunk({}, "stop")
FAILS_ITSELF = {"groq/test_tool_use_failed_error_streaming.0.sse.txt"}
NO_REASON = {"snowflake/test_snowflake_thinking_streaming.0.sse.txt"}


def call(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = None) -> bytes:
    """A chunk with one tool call fragment; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fragment = {key: value for key, value in (("index", index), ("id", id), ("function", function)) if value is not None}
    return chunk({"tool_calls": [fragment]})


def read(pieces: Iterable[bytes], producer: str = "test/m") -> list[Delta]:
    """All deltas of a stream that comes in these pieces and then ends."""
    reader = ChatStreamReader(producer)
    found = [delta for piece in pieces for delta in reader.feed(piece)]
    return found + reader.end()


def fold(deltas: Iterable[Delta]) -> AnswerFold:
    answer = AnswerFold()
    for delta in deltas:
        answer.add(delta)
    return answer


def recorded(shared: Path) -> dict[str, bytes]:
    """Every recorded Chat Completions stream, re-framed where the recorder kept the payloads alone."""
    found = {}
    for path in sorted((shared / "corpus" / "streams").glob("*/*")):
        content = path.read_bytes()
        if path.suffix == ".bin" or b'"choices"' not in content:
            continue
        if path.name.endswith(".chunks.txt"):
            content = b"".join(b"data: " + line + b"\n\n" for line in content.split(b"\n") if line.strip()) + DONE
        found[f"{path.parent.name}/{path.name}"] = content
    return found


def finish_of(stream: bytes) -> int:
    """Where the event with the first finish reason begins."""
    for place in (i for i in range(len(stream)) if stream.startswith(b"data:", i)):
        event = SseReader().feed(stream[place : stream.find(b"\n\n", place) + 2] or stream[place:] + b"\n\n")
        if event and '"finish_reason":' in event[0].data.replace(" ", "") and '"finish_reason":null' not in event[0].data.replace(" ", ""):
            return place
    return len(stream)
