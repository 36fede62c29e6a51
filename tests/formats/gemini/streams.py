"""Streams for tests of the Gemini format: made by hand, and the recorded ones."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.entries.answer import AnswerFold
from app.entries.deltas import Delta
from app.formats.gemini.read_stream import GeminiStreamReader


def event(*parts: Any, finish: str | None = None, usage: Any = None, **candidate: Any) -> bytes:
    """One event with these parts, framed as Google frames it."""
    one: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    if finish is not None:
        one["finishReason"] = finish
    value: dict[str, Any] = {"candidates": [one | {"index": 0} | candidate]}
    return data(value if usage is None else value | {"usageMetadata": usage})


def data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


STOP = event({"text": ""}, finish="STOP")


def text(said: str, **beside: Any) -> dict[str, Any]:
    return {"text": said, **beside}


def call(name: str = "f", args: Any = None, id: str | None = None, **beside: Any) -> dict[str, Any]:
    inner: dict[str, Any] = {"name": name, "args": {} if args is None else args}
    return {"functionCall": inner | ({"id": id} if id else {}), **beside}


def read(pieces: Iterable[bytes], producer: str = "test/m") -> list[Delta]:
    """All deltas of a stream that comes in these pieces and then ends."""
    reader = GeminiStreamReader(producer)
    found = [delta for piece in pieces for delta in reader.feed(piece)]
    return found + reader.end()


def fold(deltas: Iterable[Delta]) -> AnswerFold:
    answer = AnswerFold()
    for delta in deltas:
        answer.add(delta)
    return answer


def recorded(shared: Path) -> dict[str, bytes]:
    """Every recorded stream of generateContent, re-framed where the recorder kept the payloads alone."""
    found = {}
    folder = shared / "corpus" / "streams"
    for path in sorted([*(folder / "gemini").iterdir(), *(folder / "vertex").iterdir()]):
        content = path.read_bytes()
        if b'"candidates"' not in content:
            continue  # the other protocol of Google's, Interactions
        if path.name.endswith(".chunks.txt"):
            content = b"".join(b"data: " + line + b"\r\n\r\n" for line in content.split(b"\n") if line.strip())
        found[f"{path.parent.name}/{path.name}"] = content
    for path in sorted((folder / "gemini_cli_responses").iterdir()):
        for number, line in enumerate(path.read_bytes().splitlines()):
            response = json.loads(line)["response"]
            chunks = response if isinstance(response, list) else [response]
            found[f"{path.parent.name}/{path.name}#{number}"] = b"".join(map(data, chunks))
    return found
