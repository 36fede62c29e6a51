"""Every Claude Code file of the corpus: read whole, no line unaccounted for, results paired, growing snapshots stay prefixes."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.entries.messages import Answer, Message, ToolResult, decode, encode
from app.entries.parts import Text, ToolCall
from app.formats.claude_code.read import read
from app.formats.protocols import ImportedSession
from app.formats.reading import lines, values


@pytest.fixture(scope="session")
def files(shared: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((shared / "corpus" / "transcripts" / "claude_code").glob("*.jsonl"))}


def places(raw: bytes) -> dict[str, Any]:
    found = {}
    for number, line in lines([raw]):
        assert line is not None
        objects = values(line)
        for index, value in enumerate(objects):
            found[f"line {number}" if len(objects) == 1 else f"line {number} object {index + 1}"] = value
    return found


def kept_lines(session: ImportedSession) -> list[str]:
    return [place for entry in session.entries for place in orjson.loads(entry.attributes or "")["claude_code"]["lines"]]


def test_no_line_is_unaccounted_for(files: dict[str, bytes]):
    assert len(files) >= 20
    for name, raw in files.items():
        sessions = list(read([raw]))
        lost = [note.source for session in sessions for note in session.lost if not note.source.endswith(" lines")]
        kept = {place for session in sessions for place in kept_lines(session)}
        titles = {place for place, value in places(raw).items() if value["type"] == "summary"} - set(lost)
        assert kept | titles | set(lost) == set(places(raw)), name
        assert not kept & set(lost), name
        assert len(lost) == len(set(lost)), name
        assert sum(session.kept for session in sessions) == len(kept | titles), name
        assert all(note.why for session in sessions for note in (*session.lost, *session.changed)), name


def test_every_message_of_the_conversation_comes_through(files: dict[str, bytes]):
    for name, raw in files.items():
        (session,) = read([raw])
        lost = {note.source for note in session.lost}
        expected = [value for place, value in places(raw).items() if value["type"] in ("user", "assistant") and place not in lost]
        blocks = [block for value in expected for block in _blocks(value)]
        calls = [
            part.tool_call_id
            for entry in session.entries
            if isinstance(entry.body, Answer)
            for part in entry.body.parts
            if isinstance(part, ToolCall)
        ]
        assert sorted(calls) == sorted(block["id"] for block in blocks if block["type"] == "tool_use"), name
        results = [entry.body.tool_call_id for entry in session.entries if isinstance(entry.body, ToolResult)]
        assert results == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"], name
        inputs = [block for value in expected if value["type"] == "user" for block in _blocks(value) if block["type"] == "text"]
        said = [part for entry in session.entries if isinstance(entry.body, Message) for part in entry.body.parts]
        texts = [part.text for part in said if isinstance(part, Text)]
        assert texts == [block["text"] for block in inputs], name


def _blocks(value: Any) -> list[Any]:
    content = value["message"]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def test_results_follow_their_calls_and_bodies_survive_storage(files: dict[str, bytes]):
    for name, raw in files.items():
        (session,) = read([raw])
        known: set[str] = set()
        for entry in session.entries:
            assert not isinstance(entry.body, str)
            assert decode(entry.kind, encode(entry.body)) == entry.body, name
            if isinstance(entry.body, Answer):
                known.update(part.tool_call_id for part in entry.body.parts if isinstance(part, ToolCall))
            if isinstance(entry.body, ToolResult):
                assert entry.body.tool_call_id in known, name
            assert entry.at is not None


def test_growing_snapshots_of_one_session_import_as_prefixes(files: dict[str, bytes]):
    for series in (["codemie-incremental-turn1.jsonl", "codemie-incremental-turn2.jsonl"], [f"entire-growB-{n}.jsonl" for n in (1, 2, 3)]):
        imports = [next(iter(read([files[name]]))) for name in series]
        for shorter, longer in pairwise(imports):
            assert shorter.external_id == longer.external_id
            assert longer.entries[: len(shorter.entries) - 1] == shorter.entries[:-1]
