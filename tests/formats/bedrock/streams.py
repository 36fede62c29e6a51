"""Streams for tests of the Converse format: made by hand, and the recorded ones."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta
from app.formats.bedrock.read_stream import ConverseStreamReader
from app.formats.framing.aws import frame

PRODUCER = "bedrock-converse/aws/m"


def event(name: str, **value: Any) -> bytes:
    """One frame of an event, with the padding that Bedrock puts in."""
    payload = json.dumps({**value, "p": "abcdefghij"}, ensure_ascii=False).encode()
    return frame({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, payload)


def exception(name: str, message: str = "x", **more: Any) -> bytes:
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message, **more}).encode())


START = event("messageStart", role="assistant")
END = event("messageStop", stopReason="end_turn")
METADATA = event("metadata", usage={"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}, metrics={"latencyMs": 1})


def delta(index: int, **said: Any) -> bytes:
    return event("contentBlockDelta", contentBlockIndex=index, delta=said)


def opened(index: int, **start: Any) -> bytes:
    return event("contentBlockStart", contentBlockIndex=index, start=start)


def stop(index: int) -> bytes:
    return event("contentBlockStop", contentBlockIndex=index)


def read(pieces: Iterable[bytes], producer: str = PRODUCER) -> list[Delta]:
    """All deltas of a stream that comes in these pieces and then ends."""
    reader = ConverseStreamReader(producer)
    found = [delta for piece in pieces for delta in reader.feed(piece)]
    return found + reader.end()


def fold(deltas: Iterable[Delta]) -> AnswerFold:
    answer = AnswerFold()
    for one in deltas:
        answer.add(one)
    return answer


def recorded(shared: Path) -> dict[str, bytes]:
    """Every recorded ConverseStream, re-framed where the recorder kept the payloads alone; streams of InvokeModel are of another API."""
    found = {}
    for path in sorted((shared / "corpus" / "streams" / "bedrock").glob("*")):
        content = path.read_bytes()
        if path.name.endswith(".chunks.txt"):
            lines = [json.loads(line) for line in content.splitlines() if line.strip()]
            content = b"".join(event(name, **value) for line in lines for name, value in line.items())
        if b"messageStop" in content:
            found[path.name] = content
    return found


def stop_of(stream: bytes) -> int:
    """Where the frame of the stop event begins."""
    place = 0
    while b'"stopReason"' not in (one := stream[place : place + int.from_bytes(stream[place : place + 4], "big")]):
        place += len(one)
    return place
