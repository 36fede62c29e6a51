"""A second reading of Claude Code session files, made for the tests alone and from the description of the format.

It shares no code with the importer: its own JSON, its own idea of lines, responses and repeats. What both find must be equal.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

Piece = tuple[Any, ...]
"""One part, comparable: ("text", text) · ("reasoning", text, signed block or None) · ("call", id, name, input) · ("image", type, sha256)."""


@dataclass(slots=True)
class Said:
    """One message as a person saw it. `lines` are the lines (or objects of a line) that it was written on."""

    kind: str
    lines: list[str]
    at: datetime | None
    hidden: bool
    pieces: list[Piece] = field(default_factory=list)
    tool_call_id: str | None = None
    is_error: bool = False


@dataclass(slots=True)
class Reading:
    """A file: its messages in order, the place of every object, and the places of those that are no message."""

    said: list[Said]
    places: list[str]
    beside: list[str]


def read(path: Path) -> Reading:
    """One session; the files here hold one each."""
    reading = Reading([], [], [])
    responses: dict[str, Said] = {}
    repeats: set[str] = set()
    for place, record in _objects(path):
        reading.places.append(place)
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, dict) or record.get("type") not in ("user", "assistant"):
            reading.beside.append(place)
            continue
        same = repr((record.get("uuid"), message))
        if same in repeats:
            reading.beside.append(place)
            continue
        repeats.add(same)
        if record["type"] == "assistant":
            _answer(reading, responses, place, record)
        else:
            reading.said.extend(_input(place, record))
    return reading


def _objects(path: Path) -> Iterator[tuple[str, Any]]:
    """Every JSON object with its place; several may stand on one line, and a line may be torn."""
    decoder = json.JSONDecoder(parse_float=_spelled, parse_int=int)
    for number, line in enumerate(path.read_bytes().decode().split("\n"), 1):
        found, at = [], 0
        try:
            while line[at:].strip():
                at += len(line[at:]) - len(line[at:].lstrip())
                value, at = decoder.raw_decode(line, at)
                found.append(value)
        except ValueError:
            found = [None]
        for index, value in enumerate(found):
            yield (f"line {number}" if len(found) == 1 else f"line {number} object {index + 1}"), value


@dataclass(frozen=True, slots=True)
class Spelled:
    """A number as it is written, since 1e2 and 100.0 are one float."""

    text: str


def _spelled(text: str) -> Spelled:
    return Spelled(text)


def loads(text: str) -> Any:
    """JSON with numbers as they are written."""
    return json.loads(text, parse_float=_spelled)


def _answer(reading: Reading, responses: dict[str, Said], place: str, record: Any) -> None:
    message = record["message"]
    content = message["content"]
    pieces = [("text", content)] if isinstance(content, str) else [_answer_piece(block) for block in content]
    made_up = message.get("model") == "<synthetic>"
    if message["id"] in responses and not made_up:
        responses[message["id"]].lines.append(place)
        responses[message["id"]].pieces += pieces
        return
    said = Said("assistant_message", [place], _time(record), record.get("isMeta") is True, pieces)
    reading.said.append(said)
    if not made_up:
        responses[message["id"]] = said


def _answer_piece(block: Any) -> Piece:
    if block["type"] == "text":
        return ("text", block["text"])
    if block["type"] == "thinking":
        return ("reasoning", block["thinking"], None if block["signature"].startswith("[REDACTED") else block)
    if block["type"] == "tool_use":
        return ("call", block["id"], block["name"], block["input"])
    raise AssertionError(f"a block of a type that this reading does not know: {block['type']}")


def _input(place: str, record: Any) -> Iterator[Said]:
    """Each tool result alone; what stands between them, together."""
    at, hidden, content = _time(record), record.get("isMeta") is True, record["message"]["content"]
    beside: list[Piece] = []
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] != "tool_result":
            beside.append(_input_piece(block))
            continue
        if beside:
            yield Said("user_message", [place], at, hidden, beside)
            beside = []
        inner = block.get("content", "")
        pieces = [("text", inner)] if isinstance(inner, str) else [_input_piece(each) for each in inner]
        yield Said("tool_result", [place], at, hidden, pieces or [("text", "")], block["tool_use_id"], block.get("is_error") is True)
    if beside:
        yield Said("user_message", [place], at, hidden, beside)


def _input_piece(block: Any) -> Piece:
    if block["type"] == "text":
        return ("text", block["text"])
    if block["type"] == "image":
        return ("image", block["source"]["media_type"], hashlib.sha256(base64.b64decode(block["source"]["data"])).hexdigest())
    raise AssertionError(f"a block of a type that this reading does not know: {block['type']}")


def _time(record: Any) -> datetime | None:
    return datetime.fromisoformat(record["timestamp"]) if "timestamp" in record else None


def of_entry(entry: Any) -> Said:
    """The same of an entry of the service, whose JSON was read by `loads`."""
    body = entry["body"]
    facts = entry["attributes"]["claude_code"]
    pieces = [_entry_piece(part) for part in body["parts"]]
    at = datetime.fromisoformat(entry["at"])
    return Said(entry["kind"], facts["lines"], at, entry["hidden"], pieces, body.get("tool_call_id"), body.get("is_error", False))


def _entry_piece(part: Any) -> Piece:
    if part["type"] == "reasoning":
        return ("reasoning", part["text"], loads(part["opaque"]) if "opaque" in part else None)
    if part["type"] == "tool_call":
        return ("call", part["tool_call_id"], part["name"], loads(part["arguments"]))
    if part["type"] == "image":
        return ("image", part["blob"]["media_type"], part["blob"]["digest"].removeprefix("sha256:"))
    assert part["type"] == "text", part
    return ("text", part["text"])
