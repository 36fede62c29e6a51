"""What file readers share: lines out of bytes cut anywhere, JSON records, and media bytes into blobs.

The modules beside this text read what several files hold alike: documents and records, and a provider's blocks as clients keep them.
"""

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Literal

from app.config.limits import BLOB_BYTES_MAX, IMPORT_LINE_BYTES_MAX, JSON_DEPTH_MAX
from app.entries import lossless
from app.entries.parts import Media
from app.entries.pictures import blob_of
from app.formats.protocols import ImportedSession

_MEDIA_TYPE = re.compile("[^\x00-\x1f\x7f\ud800-\udfff]{3,255}")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)
_DECODER = json.JSONDecoder()
_STANDARD = str.maketrans("-_", "+/")

UNKNOWN_MEDIA_TYPE = "application/octet-stream"
"""Of bytes whose type the file does not tell, or tells in words that are no media type."""


def lines(data: Iterable[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Number from 1 and bytes of each line that is not blank. None stands for a line above `IMPORT_LINE_BYTES_MAX`, which is skipped."""
    number, held, held_bytes = 1, list[bytes](), 0
    for piece in data:
        *whole, rest = piece.split(b"\n")
        for line in whole:
            held.append(line)
            held_bytes += len(line)
            yield from _line(number, held, held_bytes)
            number, held, held_bytes = number + 1, [], 0
        held_bytes += len(rest)
        if held_bytes <= IMPORT_LINE_BYTES_MAX:
            held.append(rest)
    yield from _line(number, held, held_bytes)


def _line(number: int, held: list[bytes], held_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    if held_bytes > IMPORT_LINE_BYTES_MAX:
        yield number, None
        return
    line = b"".join(held).strip()
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    if line:
        yield number, line


def values(line: bytes) -> list[Any]:
    """The JSON values of one line: usually one, several where two writers raced. Raises `ValueError` for what is none.

    Numbers and key order stay as written. A repeated key is taken as its last, since a file is not a request.
    """
    text = line.decode("utf-8", "replace")
    try:
        return [value_of(text)]
    except ValueError:
        pass
    found, at = list[Any](), 0
    while at < len(text):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise ValueError("too deep") from None
        found.append(value_of(text[at:end]))
        while end < len(text) and text[end].isspace():
            end += 1
        at = end
    return found


def value_of(text: str) -> Any:
    """The JSON value of a text, as `values` reads one. Raises `ValueError`."""
    try:
        return lossless.loads(text, JSON_DEPTH_MAX)
    except lossless.InvalidJson as error:
        if error.code != "duplicate-key":
            raise
    return lossless.read(text)


def store(session: ImportedSession, kind: Literal["image", "file"], media_type: str, data: str, filename: str | None = None) -> Media | None:
    """Puts base64 text of either alphabet into the session's blobs; None for what is no base64, is empty, or is longer than a blob may be."""
    plain = re.sub(r"\s+", "", data).translate(_STANDARD).rstrip("=")
    try:
        content = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not content or len(content) > BLOB_BYTES_MAX:
        return None
    digest = "sha256:" + sha256(content).hexdigest()
    known = media_type if _MEDIA_TYPE.fullmatch(media_type) else UNKNOWN_MEDIA_TYPE
    session.blobs[digest] = (known, content)
    return Media(kind, blob_of(digest, known, content), filename=filename)


def store_url(session: ImportedSession, kind: Literal["image", "file"], url: str, filename: str | None = None) -> Media | None:
    """A data URL becomes a blob, an http URL stays one; None for anything else."""
    if url.startswith(("http://", "https://")):
        return Media(kind, url=url, filename=filename)
    found = _DATA_URL.fullmatch(url)
    if found is None or ";base64" not in found[2]:
        return None
    return store(session, kind, found[1] or UNKNOWN_MEDIA_TYPE, found[3], filename)


def mapping(value: Any) -> Mapping[str, Any]:
    """The object, or an empty one where there is none."""
    return value if isinstance(value, Mapping) else {}


def word(value: Mapping[str, Any], key: str) -> str | None:
    """The text under a key; None where there is none, it is empty, or it is something else."""
    found = value.get(key)
    return found if isinstance(found, str) and found else None
