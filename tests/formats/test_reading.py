"""Lines, documents, records and media of imported files."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config import limits
from app.entries.lossless import Number
from app.entries.messages import Message
from app.entries.parts import Part, Text
from app.formats import reading
from app.formats.protocols import ImportedMessage, ImportedSession, Note, UnreadableImport
from app.formats.reading import files, lines, store, store_url, values
from app.formats.reading.files import documents, first_words, moment, records


@settings(deadline=None)
@given(st.lists(st.binary(max_size=6), max_size=8), st.lists(st.integers(0, 60), max_size=4))
def test_lines_whatever_the_pieces(parts: list[bytes], cuts: list[int]):
    raw = b"\n".join(part.replace(b"\xef", b"x") for part in parts)
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[a:b] for a, b in zip(places, [*places[1:], len(raw)], strict=True)]
    expected = [(number, line.strip()) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    assert list(lines(pieces)) == list(lines([raw])) == expected


def test_a_bom_is_no_part_of_the_first_line():
    assert list(lines([b"\xef\xbb\xbf{}\r\n{}"])) == [(1, b"{}"), (2, b"{}")]


def test_a_line_above_the_limit_is_skipped_and_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "IMPORT_LINE_BYTES_MAX", 10)
    assert list(lines([b"a\n" + b"x" * 6, b"x" * 6, b"x" * 6 + b"\nb\n"])) == [(1, b"a"), (2, None), (3, b"b")]
    assert limits.IMPORT_LINE_BYTES_MAX > 2**20


def test_several_values_of_one_line():
    assert values(b'{"a":1}{"b":2} [3]') == [{"a": 1}, {"b": 2}, [3]]
    assert values(b'{"a":1,"a":2}') == [{"a": 2}]
    assert str(values(b'{"a":1e2}')[0]["a"]) == str(Number("1e2"))
    for bad in (b'{"a":1}{"b"', b"[" * 70 + b"]" * 70, b"[" * 100_000, b'{"a": NaN}'):
        with pytest.raises(ValueError, match=r".+"):
            values(bad)


def test_media_become_blobs_once():
    session = ImportedSession()
    data = base64.b64encode(b"abc").decode()
    media = store(session, "image", "image/png", data)
    assert media == store_url(session, "image", f"data:image/png;base64,{data[:2]}\n{data[2:]}")
    assert media is not None
    assert media.blob is not None
    assert session.blobs == {media.blob.digest: ("image/png", b"abc")}
    assert media.blob.byte_length == 3


@pytest.mark.parametrize("url", ["data:image/png,abc", "data:;base64,!!", "ftp://x", "file:///etc/passwd", "data:image/png;base64,"])
def test_a_url_that_is_neither_data_nor_http_is_refused(url: str):
    assert store_url(ImportedSession(), "image", url) is None


def test_a_blob_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "BLOB_BYTES_MAX", 2)
    assert store(ImportedSession(), "image", "image/png", base64.b64encode(b"abc").decode()) is None


def test_base64_of_either_alphabet_and_without_its_padding():
    session = ImportedSession()
    assert store(session, "file", "a/b", "_-8") == store(session, "file", "a/b", "/+8=") is not None
    assert list(session.blobs.values()) == [("a/b", b"\xff\xef")]


@pytest.mark.parametrize("media_type", ["", "x", "a/b\0", "a/\ud800", "a/" + "b" * 300, "a/b\n"])
def test_words_that_are_no_media_type_are_not_taken_for_one(media_type: str):
    session = ImportedSession()
    store(session, "file", media_type, "AAAA")
    assert [known for known, _ in session.blobs.values()] == ["application/octet-stream"]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b'{"a":\n 1}', [("", {"a": 1})]),
        (b"\xef\xbb\xbf[1]", [("", [1])]),
        (b'{"a": 1, "a": 2}', [("", {"a": 2})]),
        (b'{"a":1}\n\n[2] 3', [("line 1 ", {"a": 1}), ("line 3 ", [2]), ("line 3 ", 3)]),
    ],
)
def test_documents_whole_or_a_line(raw: bytes, found: list[Any]):
    assert list(documents([raw[:3], raw[3:]])) == found


@pytest.mark.parametrize("raw", [b"", b"\n", b"x", b"1\nx", b"[1"])
def test_what_is_no_document_is_refused(raw: bytes):
    with pytest.raises(UnreadableImport):
        list(documents([raw]))


def test_a_document_above_the_limit_is_read_by_line(monkeypatch: pytest.MonkeyPatch):
    for module in (reading, files):
        monkeypatch.setattr(module, "IMPORT_LINE_BYTES_MAX", 6)
    assert list(documents([b"[1]\n", b"[2]\n"])) == [("line 1 ", [1]), ("line 2 ", [2])]
    with pytest.raises(UnreadableImport, match="longer"):
        list(documents([b"[1,2,3,4]"]))


def test_records_and_what_is_none():
    found, broken = records([b'{"a":1}{"b":2}\nx\n[3]\n\n{"c":3}'])
    assert found == [("line 1 object 1", {"a": 1}), ("line 1 object 2", {"b": 2}), ("line 5", {"c": 3})]
    assert broken == [Note("line 2", "line", "no JSON"), Note("line 3", "line", "no record of a session file")]


@pytest.mark.parametrize(
    ("value", "units", "found"),
    [
        (0, 1, datetime(1970, 1, 1, tzinfo=UTC)),
        (1772600767008, 1000, datetime(2026, 3, 4, 5, 6, 7, 8000, tzinfo=UTC)),
        (1.5, 1, datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)),
        (True, 1, None),
        ("1", 1, None),
        (None, 1, None),
        (10**30, 1, None),
        (-(10**15), 1, None),
        (float("inf"), 1, None),
        (float("nan"), 1, None),
        (10**400, 1, None),
    ],
)
def test_moments(value: object, units: int, found: datetime | None):
    assert moment(value, units) == found


def said(*parts: Part, hidden: bool = False) -> ImportedMessage:
    return ImportedMessage("user_message", Message(parts), hidden=hidden)


def test_the_first_words_of_the_user_are_a_title():
    assert first_words([]) is None
    assert (
        first_words([said(Text("hidden"), hidden=True), said(Text(" \n ")), said(Text("<tag>")), said(Text("Count  the\ntrees."))])
        == "Count the trees."
    )
    assert first_words([said(Text("<tag>")), said()]) == "<tag>"
    assert first_words([said(Text("x" * 100))]) == "x" * 80
