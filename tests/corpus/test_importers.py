"""Files of other programs and requests of other APIs, of our own and of the shared corpus: no record unaccounted for, and read twice alike."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.entries.messages import Answer, ToolResult, decode, encode
from app.entries.parts import Opaque, ToolCall
from app.formats.protocols import ImportedSession
from app.formats.registry import IMPORTERS
from tests.corpus.requests import read_anthropic, read_gemini, read_responses
from tests.corpus.said import File, Piece, Read, Reading, beside, corpus_files, loads, of_entry
from tests.corpus.sessions import read_ai_sdk, read_codex, read_gemini_chat, read_pi

OWN = Path(__file__).parents[1] / "transcripts"
FOLDERS = {
    "openai_responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
    "codex": "codex",
    "pi": "pi",
    "ai_sdk": "ai-sdk",
}
READERS: dict[str, Read] = {
    "openai-responses": read_responses,
    "anthropic-messages": read_anthropic,
    "gemini": lambda raw: read_gemini_chat(raw) if b'"sessionId"' in raw[:1000] else read_gemini(raw),
    "codex": read_codex,
    "pi": read_pi,
    "ai-sdk": read_ai_sdk,
}


@pytest.fixture(scope="module", params=["own", "corpus"])
def files(request: pytest.FixtureRequest) -> list[File]:
    if request.param == "corpus":
        return corpus_files(request.getfixturevalue("shared"))
    return [File(path.name, format, path.read_bytes()) for folder, format in FOLDERS.items() for path in sorted((OWN / folder).iterdir())]


def imported(file: File) -> ImportedSession:
    (session,) = IMPORTERS[file.format]([file.raw])
    return session


def test_there_are_files_of_every_format(files: list[File]):
    assert {file.format for file in files} == set(FOLDERS.values())
    assert len(files) >= 10


@pytest.mark.req("X-17", "S0-29")
def test_every_record_is_kept_or_reported_as_lost(files: list[File]):
    for file in files:
        session = imported(file)
        places = READERS[file.format](file.raw).places
        kept = {place for entry in session.entries for place in of_entry(entry, {}).places}
        lost = [note.source for note in session.lost if note.source != "document"]
        titles = set(places) - kept - set(lost)
        assert kept | set(lost) | titles == set(places), file.name
        assert not kept & set(lost), file.name
        assert len(lost) == len(set(lost)), file.name
        assert session.kept == len(kept) + len(titles), file.name
        assert len(titles) <= 1, "of titles the last one is kept, which is no entry"
        assert all(note.what and len(note.what) <= 64 and note.why for note in (*session.lost, *session.changed)), file.name


def test_every_field_of_a_document_is_read_or_reported(files: list[File]):
    read = {"input", "output", "instructions", "messages", "system", "contents", "systemInstruction", "system_instruction"}
    told = {"id", "title", "object", "status", "incomplete_details", "model", "created_at", "usage", "error"}
    told |= {"sessionId", "projectHash", "startTime", "lastUpdated"}
    for file in files:
        document = None if file.format in ("codex", "pi") else json.loads(file.raw)
        if isinstance(document, dict):
            lost = {note.what for note in imported(file).lost if note.source == "document"}
            assert lost >= {key for key, value in document.items() if value not in (None, [], {}, "")} - read - told, file.name


@pytest.mark.req("S0-20", "S0-21", "S1-04", "S1-05", "S1-06")
def test_a_second_reading_finds_the_same_messages_in_the_same_order(files: list[File]):
    for file in files:
        session, second = imported(file), READERS[file.format](file.raw)
        calls = named_alike(session, second)
        assert len(session.entries) == len(second.said), file.name
        for entry, wanted in zip(session.entries, second.said, strict=True):
            found = of_entry(entry, calls)
            assert len(found.pieces) == len(wanted.pieces), (file.name, wanted.places)
            found.pieces = [alike(piece, other, calls) for piece, other in zip(found.pieces, wanted.pieces, strict=True)]
            found.status, wanted.status = (found.status, wanted.status) if entry.kind == "assistant_message" else ("", "")
            assert found == wanted, (file.name, wanted.places)


def named_alike(session: ImportedSession, second: Reading) -> dict[str, str]:
    """Ids that an importer had to make up → what the second reading calls the call; both number the calls in order."""
    calls = [
        part.tool_call_id for entry in session.entries if isinstance(entry.body, Answer) for part in entry.body.parts if isinstance(part, ToolCall)
    ]
    others = [piece[1] for said in second.said for piece in said.pieces if piece[0] == "call"]
    return {ours: theirs for ours, theirs in zip(calls, others, strict=True) if ours.startswith("call_import_")}


def alike(piece: Piece, wanted: Piece, calls: dict[str, str]) -> Piece:
    """The piece as the second reading has it, where that knows only the value and not the text."""
    if piece[0] == "call":
        written = piece[3] if isinstance(wanted[3], str) else loads(piece[3])
        return ("call", calls.get(piece[1], piece[1]), piece[2], written)
    if wanted[0] == "json":
        return ("json", loads(piece[1]))
    if wanted[0] == "command":
        return ("command", wanted[1]) if piece[1].startswith(f"Ran `{wanted[1]}`\n") else piece
    return piece


def test_bodies_survive_storage_and_media_are_what_their_digests_say(files: list[File]):
    for file in files:
        session = imported(file)
        for entry in session.entries:
            assert not isinstance(entry.body, str)
            assert decode(entry.kind, encode(entry.body)) == entry.body, file.name
        for digest, (media_type, content) in session.blobs.items():
            assert digest == "sha256:" + hashlib.sha256(content).hexdigest()
            assert "/" in media_type


@pytest.mark.req("S0-21")
def test_results_follow_their_calls_but_for_those_that_the_file_has_without_one(files: list[File]):
    for file in files:
        session = imported(file)
        known: set[str] = set()
        orphans = 0
        for entry in session.entries:
            if isinstance(entry.body, Answer):
                known.update(part.tool_call_id for part in entry.body.parts if isinstance(part, ToolCall))
            elif isinstance(entry.body, ToolResult):
                orphans += entry.body.tool_call_id not in known
        assert orphans == sum(note.why == "a result whose call is not in the file" for note in session.changed), file.name


@pytest.mark.req("X-23")
def test_what_a_provider_wants_back_is_kept_to_the_letter_and_names_nobody_who_gets_it(files: list[File]):
    marks = 0
    for file in files:
        session = imported(file)
        held = set(strings(file)) | FRAME
        for texts in beside(session).values():
            assert set(texts) <= held, file.name
            marks += sum(text not in FRAME for text in texts)
        for entry in session.entries:
            assert not isinstance(entry.body, str)
            for part in entry.body.parts:
                producer = getattr(part, "producer", None)
                assert (producer is None) == (getattr(part, "opaque", None) is None and not isinstance(part, Opaque)), file.name
                assert producer is None or producer.split("/")[1] == "import", file.name
    assert marks >= 10


FRAME = {"", "message", "assistant", "output_text", "function_call", "thinking", "reasoning", "redacted_thinking", "summary_text", "text"}
"""What a block is made of besides, where a client keeps only the seal of it."""


def strings(file: File) -> Iterator[str]:
    """Every string of a file, also of JSON inside strings."""

    def walk(value: Any) -> Iterator[str]:
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from walk(item)
        if isinstance(value, str):
            yield value
            if value.startswith("{"):
                with suppress(ValueError):
                    yield from walk(json.loads(value))

    texts = file.raw.decode().splitlines() if file.name.endswith(".jsonl") else [file.raw.decode()]
    for text in texts:
        with suppress(ValueError):
            yield from walk(json.loads(text))


def test_growing_files_of_one_session_import_as_prefixes(files: list[File]):
    for file in files:
        if file.name.endswith(".jsonl"):
            lines = file.raw.splitlines(keepends=True)
            whole = imported(file)
            for end in range(len(lines) // 2, len(lines), max(1, len(lines) // 5)):
                part = imported(File(file.name, file.format, b"".join(lines[:end])))
                assert part.external_id == whole.external_id
                assert [said_of(entry) for entry in whole.entries[: len(part.entries) - 1]] == [said_of(entry) for entry in part.entries[:-1]]


def said_of(entry: Any) -> tuple[str, str]:
    return entry.kind, encode(entry.body)
