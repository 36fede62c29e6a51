"""Our own export: what is written is read back, to the last code point; a cut, forged or future file is noticed."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.folds import SkillLoaded
from app.entries.kinds import KINDS
from app.entries.messages import Entry
from app.formats.jsonl.read import read
from app.formats.jsonl.write import write_blob, write_end, write_entry, write_head
from app.formats.protocols import ImportedSession, UnreadableImport
from tests.strategies import Ledger, ledgers

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def exported(ledger: Ledger, **session: Any) -> bytes:
    entries = [message.entry for message in ledger.messages]
    return write_head(session) + b"".join(map(write_entry, entries)) + write_end(len(entries))


def imported(raw: bytes) -> ImportedSession:
    (session,) = read([raw])
    return session


@pytest.mark.req("X-09")
@settings(max_examples=200, deadline=None)
@given(ledgers())
def test_every_entry_comes_back_to_the_last_code_point(ledger: Ledger):
    session = imported(exported(ledger, title="T \ud800", external_id="x", metadata={"k": 1}))
    assert (session.title, session.external_id, session.facts) == ("T \ud800", "x", {"metadata": {"k": 1}})
    assert not session.lost
    assert session.kept == len(ledger.messages)
    for message, found in zip(ledger.messages, session.entries, strict=True):
        entry = message.entry
        assert (found.seq, found.kind, found.body, found.attributes, found.turn) == (
            entry.seq,
            entry.kind,
            entry.payload,
            entry.attributes,
            entry.turn,
        )
        assert (found.hidden, found.include_in_context, found.agent, found.invocation) == (
            entry.hidden,
            entry.include_in_context,
            entry.agent,
            entry.invocation,
        )
        assert found.at == entry.at


BODIES = {"skill_loaded": SkillLoaded("brief", "sha256:" + "0" * 64, "Be brief.", anchor_seq=2).encode()}
"""Of kinds whose bodies an import checks."""


@pytest.mark.parametrize("kind", KINDS)
def test_entries_of_every_kind_are_taken(kind: str):
    body = BODIES.get(kind, '{"parts":[],"status":"completed","tool_call_id":"c","x":12345678901234567890123,"y":1.0}')
    entry = Entry(1, kind, 1, 2, None, "nurse", 1, 3, True, False, '{"a":1e2}', body, b"d", b"d", None, AT)
    session = imported(write_head({}) + write_entry(entry) + write_end(1))
    (found,) = session.entries
    assert (found.kind, found.body, found.attributes, found.at) == (kind, body, '{"a":1e2}', AT)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=50))
def test_blobs_come_back(content: bytes):
    digest = "sha256:" + sha256(content).hexdigest()
    session = imported(write_head({}) + write_blob(digest, "image/png", content) + write_end(0))
    assert session.blobs == {digest: ("image/png", content)}


def test_several_sessions_in_one_file():
    one, two = Ledger(), Ledger()
    one.user("a")
    two.user("b")
    two.answer("c")
    assert [len(session.entries) for session in read([exported(one) + exported(two)])] == [1, 2]


def test_a_cut_file_is_read_as_far_as_it_goes_and_says_so():
    ledger = Ledger()
    for index in range(3):
        ledger.user(f"m{index}")
    lines = exported(ledger).splitlines(keepends=True)
    session = imported(b"".join(lines[:-2]))
    assert len(session.entries) == 2
    assert [note.source for note in session.lost] == ["end of file"]
    assert [note.what for note in imported(b"".join([*lines[:2], *lines[3:]])).lost] == ["end"]
    with pytest.raises(UnreadableImport):
        imported(b"".join(lines[:2]) + lines[2][:-20])
    first, second = read([b"".join(lines[:2]) + exported(ledger)])
    assert (len(first.entries), first.lost[0].what, len(second.entries)) == (1, "end", 3)


def test_erased_unknown_and_broken_entries_are_listed():
    ledger = Ledger()
    entry = ledger.user("x").entry
    odd = [entry._replace(payload=None), entry._replace(payload="{}"), entry._replace(payload="no json")]
    future = orjson.loads(write_entry(entry)) | {"kind": "of_tomorrow"}
    newer = orjson.loads(write_entry(entry)) | {"version": 2}
    raw = write_head({}) + b"".join(map(write_entry, odd)) + orjson.dumps(future) + b"\n" + orjson.dumps(newer) + b"\n" + write_end(5)
    session = imported(raw)
    assert not session.entries
    assert [note.source for note in session.lost] == [f"line {number}" for number in range(2, 7)]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"seq":1,"kind":"user_message"}\n',
        b'{"context_ledger":2,"session":{}}\n',
        b'{"context_ledger":"1","session":{}}\n',
        b"[1]\n",
        b"no json\n",
        write_head({}) + write_blob("sha256:" + "0" * 64, "image/png", b"forged"),
        write_head({}) + b'{"odd":1}\n',
        write_head({}) + write_head({})[:-1] + b"{}\n",
    ],
)
def test_another_format_a_greater_version_and_a_forged_blob_are_refused(raw: bytes):
    with pytest.raises(UnreadableImport):
        list(read([raw]))


def test_an_entry_of_a_kind_that_is_not_known_is_written_as_it_is_stored():
    entry = Ledger().user("x").entry._replace(kind="of_tomorrow", version=7)
    written = orjson.loads(write_entry(entry))
    assert (written["kind"], written["version"], written["body"]) == ("of_tomorrow", 7, entry.payload)
