"""What holds for every importer: no bytes break it, no shape of a record does, and what it takes it accounts for."""

import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.limits import JSON_DEPTH_MAX
from app.entries.messages import decode, encode
from app.entries.parts import Media, Opaque
from app.formats import reading
from app.formats.protocols import ImportedSession, UnreadableImport
from app.formats.reading import files as reading_files
from app.formats.registry import IMPORTERS

OWN = Path(__file__).parents[1] / "transcripts"
FOLDERS = {
    "openai_responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
    "ai_sdk": "ai-sdk",
    "claude_code": "claude-code",
    "codex": "codex",
    "pi": "pi",
}
FILES = [(format, path) for folder, format in FOLDERS.items() for path in sorted((OWN / folder).iterdir())]
ACCOUNTED = [(format, path) for format, path in FILES if format != "claude-code"]
named = pytest.mark.parametrize(("format", "path"), FILES, ids=[path.name for _, path in FILES])
accounted = pytest.mark.parametrize(("format", "path"), ACCOUNTED, ids=[path.name for _, path in ACCOUNTED])


def taken(format: str, *pieces: bytes) -> list[ImportedSession] | None:
    """The sessions; None where the file is refused, which is the only exception that may come."""
    try:
        return list(IMPORTERS[format](pieces))
    except UnreadableImport:
        return None


def one(format: str, raw: bytes) -> ImportedSession:
    (session,) = IMPORTERS[format]([raw])
    return session


@named
def test_a_file_that_was_cut_anywhere_is_read_as_far_as_it_goes_or_refused(format: str, path: Path):
    raw = path.read_bytes()
    whole = taken(format, raw)
    assert whole
    for end in range(0, len(raw), 1 if len(raw) < 4_000 else 41):
        found = taken(format, raw[:end])
        if found is not None:
            assert path.suffix == ".jsonl" or not raw[end:].strip()
            assert sum(len(session.entries) for session in found) <= sum(len(session.entries) for session in whole)


@named
def test_bytes_may_come_in_any_pieces(format: str, path: Path):
    raw = path.read_bytes()
    whole = taken(format, raw)

    @settings(max_examples=15, deadline=None)
    @given(st.lists(st.integers(0, len(raw)), max_size=5))
    def cut(cuts: list[int]) -> None:
        places = [0, *sorted(cuts), len(raw)]
        assert taken(format, *[raw[a:b] for a, b in pairwise(places)]) == whole

    cut()


@pytest.mark.parametrize("format", IMPORTERS)
@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | st.text("{}[]\"':,\\ue0ftn-1. \n\x00\ufeff", max_size=40).map(str.encode))
def test_garbage_is_refused(format: str, raw: bytes):
    assert not taken(format, raw)


words = st.sampled_from(["type", "role", "text", "content", "id", "name"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", "\ud800", "\0"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=3),
    max_leaves=4,
)


@accounted
def test_no_shape_of_a_record_breaks_a_reader_and_each_is_accounted_for(format: str, path: Path):
    """Anything may stand anywhere: nodes of a good file are replaced by values of other shapes, by one another, or left out."""
    lined = path.suffix == ".jsonl"
    text = path.read_text()
    good = [json.loads(line) for line in text.splitlines() if line.endswith("}")] if lined else json.loads(text)
    nodes = list(addresses(good))

    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.tuples(st.sampled_from(nodes), values | st.sampled_from(nodes)), min_size=1, max_size=4))
    def twist(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
        twisted = copy.deepcopy(good)
        for address, value in changes:
            put(twisted, address, get(good, value) if isinstance(value, tuple) else value)
        raw = "\n".join(json.dumps(each) for each in twisted) if lined else json.dumps(twisted)
        for session in taken(format, raw.encode()) or []:
            records = {f"line {number}" for number in range(1, len(twisted) + 1)} if lined else set(counted(twisted))
            check(session, records)

    twist()


def check(session: ImportedSession, records: set[str]) -> None:
    kept: set[str] = set()
    for entry in session.entries:
        assert not isinstance(entry.body, str)
        assert decode(entry.kind, encode(entry.body)) == entry.body
        ((_, facts),) = json.loads(entry.attributes or "{}").items()
        kept.update(place for name in ("lines", "items", "messages", "contents") for place in facts.get(name, ()))
    lost = {note.source for note in session.lost}
    assert not kept & lost
    titles = records - kept - lost
    assert len(titles) <= 1, titles
    assert session.kept == len(kept) + len(titles)
    assert all(len(note.what) <= 64 and note.why for note in (*session.lost, *session.changed))


def counted(document: Any) -> Iterator[str]:
    """The records of a document by the importers' names for them."""
    for key, name in (("messages", "message"), ("input", "item"), ("output", "output"), ("contents", "content")):
        records = document if isinstance(document, list) and key == "messages" else document.get(key) if isinstance(document, dict) else None
        if isinstance(records, list):
            yield from (f"{name} {index}" for index in range(len(records)))
    for key, name in (("instructions", "instructions"), ("system", "system"), ("systemInstruction", "systemInstruction")):
        value = document.get(key) if isinstance(document, dict) else None
        if value and not (key == "instructions" and isinstance(value, list)):
            yield name
        elif key == "instructions" and isinstance(value, list):
            yield from (f"instructions {index}" for index in range(len(value)))


def addresses(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*here, key)
        yield from addresses(item, (*here, key))


def get(value: Any, address: tuple[Any, ...]) -> Any:
    for key in address:
        value = value[key]
    return copy.deepcopy(value)


def put(root: Any, address: tuple[Any, ...], new: Any) -> None:
    """Nothing where an earlier change took the place away."""
    value: Any = root
    *way, last = address
    for key in way:
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        else:
            return
    holder: Any = value
    if isinstance(value, dict if isinstance(last, str) else list) and (isinstance(last, str) or last < len(value)):
        holder[last] = new


@accounted
def test_what_is_nested_too_deep_is_refused_or_lost(format: str, path: Path):
    raw = path.read_bytes()
    for depth in (JSON_DEPTH_MAX + 1, 100_000):
        deep = b"[" * depth + b"]" * depth
        if path.suffix == ".jsonl":
            whole, found = one(format, raw), one(format, raw + b"\n" + deep + b"\n")
            assert [entry.body for entry in found.entries] == [entry.body for entry in whole.entries]
            assert len(found.lost) == len(whole.lost) + 1
        else:
            assert taken(format, raw[: raw.index(b"{") + 1] + b'"deep":' + deep + b"," + raw[raw.index(b"{") + 1 :]) is None


@accounted
def test_a_line_above_the_limit_is_refused_or_lost(monkeypatch: pytest.MonkeyPatch, format: str, path: Path):
    raw = path.read_bytes()
    longest = max(len(line) for line in raw.split(b"\n"))
    for module in (reading, reading_files):
        monkeypatch.setattr(module, "IMPORT_LINE_BYTES_MAX", longest - 1)
    found = taken(format, raw)
    if path.suffix == ".jsonl":
        assert found
        assert "longer than an import takes" in [note.why for note in found[0].lost if note.what == "line"]
    else:
        assert found is None


@accounted
def test_a_picture_above_the_limit_is_kept_as_the_file_spells_it(monkeypatch: pytest.MonkeyPatch, format: str, path: Path):
    before = one(format, path.read_bytes())
    monkeypatch.setattr(reading, "BLOB_BYTES_MAX", 1)
    after = one(format, path.read_bytes())
    assert not after.blobs
    for entry, other in zip(before.entries, after.entries, strict=True):
        assert not isinstance(entry.body, str)
        assert not isinstance(other.body, str)
        for part, now in zip(entry.body.parts, other.body.parts, strict=True):
            assert now == part or (isinstance(part, Media) and isinstance(now, Opaque) and now.block)


def test_no_two_importers_take_each_others_session_files_for_their_own():
    """A file under the wrong name is refused, not read as an empty session."""
    for format, path in FILES:
        for other in ("codex", "pi", "claude-code", "jsonl"):
            if other != format:
                assert taken(other, path.read_bytes()) is None, (path.name, other)
