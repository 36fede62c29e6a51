"""What a second reading of a file finds, made for the tests alone, and the same of what an importer made; both must be equal.

The readings beside this share no code with the importers: their own JSON, their own idea of what stands where, from the descriptions
of the formats.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.entries.messages import Answer, ToolResult, encode
from app.formats.protocols import ImportedMessage, ImportedSession

Piece = tuple[Any, ...]
"""One part: ("text", text) · ("reasoning", text, sealed or None) · ("call", id, name, written) · ("media", type, sha256) · ("url", url)
· ("other", block).

`sealed` is the one string of a thought that only its provider can read; `written` the text of a call's arguments, or its value where the
file has no text; `block` the value of a block that nobody models, without fields that say nothing.
"""


@dataclass(slots=True)
class Said:
    """One message. `places`: the records that it was made of."""

    kind: str
    places: list[str]
    pieces: list[Piece] = field(default_factory=list)
    tool_call_id: str | None = None
    is_error: bool = False
    status: str = "completed"
    in_context: bool = True
    hidden: bool = False
    at: datetime | None = None
    model: str | None = None


@dataclass(slots=True)
class Reading:
    """A session: its messages in order, and the place of every record of the file."""

    said: list[Said] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def add(self, kind: str, place: str, pieces: list[Piece], **more: Any) -> Said:
        self.said.append(Said(kind, [place], pieces, **more))
        return self.said[-1]


Read = Callable[[bytes], Reading]


@dataclass(frozen=True, slots=True)
class File:
    """A file, or one request of a file of several. `format` is the importer's."""

    name: str
    format: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Spelled:
    """A number as it is written, since 1e2 and 100.0 are one float."""

    text: str


def loads(text: str | bytes) -> Any:
    """JSON with numbers as they are written."""
    return json.loads(text, parse_float=Spelled)


def without_empty(value: Any) -> Any:
    """The fields of an object that say something."""
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def media(media_type: str, data: str) -> Piece:
    plain = data.replace("-", "+").replace("_", "/")
    return ("media", media_type, hashlib.sha256(base64.b64decode(plain + "=" * (-len(plain) % 4))).hexdigest())


def at_url(url: str) -> Piece:
    """A picture or a file by its address: the bytes where that is a data URL."""
    head, mark, data = url.partition(";base64,")
    return media(head.removeprefix("data:"), data) if mark else ("url", url)


def iso(text: Any) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def since_1970(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def of_entry(entry: ImportedMessage, calls: dict[str, str]) -> Said:
    """The same of an entry. `calls`: what the file itself calls a call → the importer's id, where the file has none."""
    assert not isinstance(entry.body, str)
    body = loads(encode(entry.body))
    ((_, facts),) = loads(entry.attributes or "{}").items()
    places = next(facts[name] for name in ("lines", "items", "messages", "contents") if name in facts)
    said = Said(entry.kind, places, [_piece(part) for part in body["parts"]], at=entry.at, hidden=entry.hidden, in_context=entry.include_in_context)
    if isinstance(entry.body, ToolResult):
        said.tool_call_id, said.is_error = calls.get(entry.body.tool_call_id, entry.body.tool_call_id), entry.body.is_error
    if isinstance(entry.body, Answer):
        said.status, said.model = str(entry.body.status), entry.body.model
    return said


def _piece(part: Any) -> Piece:
    kind = part["type"]
    if kind == "text":
        return ("text", part["text"])
    if kind == "reasoning":
        return ("reasoning", part["text"], _sealed(part.get("opaque")))
    if kind == "tool_call":
        return ("call", part["tool_call_id"], part["name"], part["arguments"])
    if kind in ("image", "file"):
        return ("url", part["url"]) if "url" in part else ("media", part["blob"]["media_type"], part["blob"]["digest"].removeprefix("sha256:"))
    assert kind == "opaque", part
    return ("other", without_empty(loads(part["block"])))


def _sealed(opaque: str | None) -> str | None:
    """Wherever a provider has put it."""
    found = [] if opaque is None else [value for key, value in _leaves(loads(opaque)) if key in SEALS]
    assert len(found) <= 1, opaque
    return found[0] if found else None


SEALS = ("signature", "encrypted_content", "thoughtSignature", "data")


def _leaves(value: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, item in value.items() if isinstance(value, dict) else ():
        found += [(key, item)] if isinstance(item, str) else _leaves(item)
    return found


def beside(session: ImportedSession) -> dict[str, list[str]]:
    """What stands beside each text and call that has something: position → strings."""
    found: dict[str, list[str]] = {}
    for number, entry in enumerate(session.entries):
        assert not isinstance(entry.body, str)
        for at, part in enumerate(entry.body.parts):
            opaque = getattr(part, "opaque", None)
            if opaque is not None:
                found[f"{number}/{at}"] = [value for _, value in _leaves(json.loads(opaque))]
    return found


def corpus_files(shared: Path) -> list[File]:
    """Every transcript of the shared corpus that one of these importers reads, and every request body of theirs in the recorded exchanges."""
    folder = shared / "corpus" / "transcripts"
    found = []
    for name, format in (("codex_rollout", "codex"), ("gemini_cli_session", "gemini"), ("pi_session", "pi"), ("aisdk_uimessages", "ai-sdk")):
        found += [File(path.name, format, path.read_bytes()) for path in sorted((folder / name).iterdir())]
    for path in sorted((folder / "provider_exchange").glob("*.json")):
        for number, exchange in enumerate(json.loads(path.read_text())["interactions"]):
            for mark, format in (("/responses", "openai-responses"), ("/messages", "anthropic-messages"), ("enerateContent", "gemini")):
                if mark in exchange["uri"]:
                    found.append(File(f"{path.name} {number}", format, json.dumps(exchange["request"]).encode()))
                if mark in exchange["uri"] and format == "openai-responses" and isinstance(exchange["response"], dict):
                    found.append(File(f"{path.name} {number} response", format, json.dumps(exchange["response"]).encode()))
    return found
