"""Short forms for what operations document: JSON answers, pages, event streams."""

from collections.abc import Mapping, Sequence

from app.api.answers import JSON, NDJSON, SSE
from app.api.routing import Answer
from app.api.schemas.basics import LIMIT, Schema, ref

AFTER: Schema = {"type": "string", "maxLength": 255, "description": "The `next` of the page before."}
PAGE: Mapping[str, Schema] = {"limit": LIMIT, "after": AFTER}


def ok(name: str, description: str, headers: Sequence[str] = ()) -> Answer:
    """A JSON answer of a named schema."""
    return Answer(description, {JSON: ref(name)}, headers)


def plain(description: str, headers: Sequence[str] = ()) -> Answer:
    """An answer without a body."""
    return Answer(description, {}, headers)


def turn_or_events(description: str) -> Answer:
    """A Turn, or its event stream, as `Accept` says."""
    return Answer(description, {JSON: ref("Turn"), SSE: ref("StreamEvent")}, ("Content-Location",))


def raw_answer() -> Answer:
    lines: Schema = {"type": "string", "description": "One Entry a line."}
    return Answer("Entries.", {JSON: ref("EntryList"), NDJSON: lines, SSE: ref("EntryEvent")}, ("ETag",))
