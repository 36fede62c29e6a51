"""Streams for tests of the Messages format: made by hand, and the recorded ones."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta
from app.formats.anthropic.read_stream import MessagesStreamReader

PRODUCER = "anthropic-messages/anthropic/claude-sonnet-4-5"


def event(kind: str, **keys: Any) -> bytes:
    return f"event: {kind}\ndata: ".encode() + json.dumps({"type": kind, **keys}).encode() + b"\n\n"


def begin(id: str = "msg_1", **usage: Any) -> bytes:
    head: dict[str, Any] = {"id": id, "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "stop_sequence": None}
    return event("message_start", message={**head, "usage": {"input_tokens": 5, "output_tokens": 1, **usage}})


def start(index: int, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, kind: str, **keys: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **keys})


def stop(index: int) -> bytes:
    return event("content_block_stop", index=index)


def text(index: int, *pieces: str) -> bytes:
    """A whole block of text."""
    return start(index, type="text", text="") + b"".join(delta(index, "text_delta", text=piece) for piece in pieces) + stop(index)


def thinking(index: int, said: str, signature: str = "SIG") -> bytes:
    """A whole block of thinking."""
    head = start(index, type="thinking", thinking="", signature="") + (delta(index, "thinking_delta", thinking=said) if said else b"")
    return head + delta(index, "signature_delta", signature=signature) + stop(index)


def call(index: int, id: str, name: str, *pieces: str) -> bytes:
    """A whole block of a call."""
    head = start(index, type="tool_use", id=id, name=name, input={})
    return head + b"".join(delta(index, "input_json_delta", partial_json=piece) for piece in pieces) + stop(index)


def finish(reason: str | None = "end_turn", **usage: Any) -> bytes:
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 9, **usage}) + END


END = event("message_stop")
PING = event("ping")
SECOND_ANSWER = {"aisdk-spliced-message-start.chunks.txt"}
"""Made malformed on purpose: a gateway that tries again in the middle of an answer. The SDK puts the second one's pieces into the first's blocks."""


def read(pieces: Iterable[bytes], producer: str = PRODUCER) -> list[Delta]:
    """All deltas of a stream that comes in these pieces and then ends."""
    reader = MessagesStreamReader(producer)
    found = [each for piece in pieces for each in reader.feed(piece)]
    return found + reader.end()


def fold(deltas: Iterable[Delta]) -> AnswerFold:
    answer = AnswerFold()
    for each in deltas:
        answer.add(each)
    return answer


def recorded(shared: Path) -> dict[str, bytes]:
    """Every recorded Messages stream, re-framed where the recorder kept the payloads alone; of a file with several answers, each."""
    found = {}
    for path in sorted((shared / "corpus" / "streams" / "anthropic").iterdir()):
        content = path.read_bytes()
        if path.name.endswith(".chunks.txt"):
            content = b"".join(_framed(line) for line in content.split(b"\n") if line.strip())
        answers = content.split(END + b"event: message_start") if path.name.endswith(".chunks.txt") else [content]
        for number, answer in enumerate(answers):
            head, tail = b"event: message_start" if number else b"", b"" if answer is answers[-1] else END
            found[path.name + (f"#{number}" if number else "")] = head + answer + tail
    return found


def _framed(line: bytes) -> bytes:
    kind: str = json.loads(line)["type"]
    return END if kind == "message_stop" else f"event: {kind}\ndata: ".encode() + line + b"\n\n"
