"""Lines, records and media of imported files."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config import limits
from app.entries.lossless import Number
from app.formats import reading
from app.formats.protocols import ImportedSession
from app.formats.reading import lines, store, store_url, values


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
