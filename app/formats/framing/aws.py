"""Event streams of AWS (`application/vnd.amazon.eventstream`): an incremental reader of frames, and a writer of single ones.

A frame is a prelude (length of all, length of the headers, CRC-32 of both), headers, a payload, and the CRC-32 of everything before
it; numbers are big-endian. Rules: https://smithy.io/2.0/aws/amazon-eventstream.html, and what botocore reads.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

from app.config.limits import SSE_EVENT_BYTES_MAX

HEADERS_BYTES_MAX = 128 * 2**10
"""The standard's own limit on the headers of one frame."""

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_PRELUDE_BYTES = 12
_AROUND_BYTES = _PRELUDE_BYTES + 4
# Headers repeat from frame to frame and from stream to stream: what so many of them mean is remembered, where they are no longer.
_REMEMBERED_MAX = 256
_REMEMBERED_BYTES_MAX = 1_024

HeaderValue = bool | int | str | bytes
"""A timestamp is an int (milliseconds of the epoch), a UUID 16 bytes, as botocore gives them."""


class BrokenFrame(ValueError):
    """The bytes are no frame, or not the ones that were sent, or too long; nothing more can be read from the stream."""


class Frame(NamedTuple):
    """One frame whose checksums hold. `headers` as sent, names included in their case."""

    headers: Mapping[str, HeaderValue]
    payload: bytes


_frame: Callable[[tuple[Mapping[str, HeaderValue], bytes]], Frame] = partial(tuple.__new__, Frame)
"""Makes a `Frame` from its fields at once: half of the time of the named constructor, some thousand times an answer."""


class FrameReader:
    """Bytes to frames, cut anywhere. A frame that did not come to its end is not given. Work is linear in the bytes fed."""

    __slots__ = ("_frame_bytes_max", "_held", "_held_bytes", "_needed_bytes")

    def __init__(self, frame_bytes_max: int = SSE_EVENT_BYTES_MAX) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._needed_bytes = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that these bytes complete, to be iterated to the end. Raises `BrokenFrame` behind the last one that was whole."""
        if self._held:
            self._held.append(data)
            self._held_bytes += len(data)
            if self._held_bytes < self._needed_bytes:
                return
            data = b"".join(self._held)
        at, size = 0, len(data)
        while True:
            needed = _PRELUDE_BYTES
            if size - at < needed:
                break
            total, headers_bytes, crc = _PRELUDE.unpack_from(data, at)
            if crc32(data[at : at + 8]) != crc:
                raise BrokenFrame("the checksum of a prelude does not hold")
            # Judged before anything of that length is waited for.
            if headers_bytes > HEADERS_BYTES_MAX or total > self._frame_bytes_max or total < headers_bytes + _AROUND_BYTES:
                raise BrokenFrame(f"a frame may have {self._frame_bytes_max} bytes, {HEADERS_BYTES_MAX} of them headers")
            needed = total
            if size - at < needed:
                break
            start, end = at + _PRELUDE_BYTES, at + total - 4
            if crc32(data[at + 8 : end], crc) != _CRC.unpack_from(data, end)[0]:
                raise BrokenFrame("the checksum of a frame does not hold")
            raw = data[start : start + headers_bytes]
            headers = _remembered(raw) if headers_bytes <= _REMEMBERED_BYTES_MAX else _headers(raw)
            yield _frame((headers, data[start + headers_bytes : end]))
            at = end + 4
        rest = data[at:]
        self._held, self._held_bytes, self._needed_bytes = [rest] if rest else [], len(rest), needed


_FIXED = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q"), 8: struct.Struct(">q")}
_LENGTH = struct.Struct(">H")


def _headers(raw: bytes) -> Mapping[str, HeaderValue]:
    found: dict[str, HeaderValue] = {}
    at = 0
    try:
        while at < len(raw):
            name_end = at + 1 + raw[at]
            name, kind = raw[at + 1 : name_end].decode(), raw[name_end]
            if name in found:
                raise BrokenFrame("a frame names the same header twice")
            found[name], at = _value(raw, name_end + 1, kind)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise BrokenFrame("the headers of a frame cannot be read") from None
    return MappingProxyType(found)


_remembered = lru_cache(_REMEMBERED_MAX)(_headers)


def _value(raw: bytes, at: int, kind: int) -> tuple[HeaderValue, int]:
    """The value of a type that begins at `at`, and where it ends."""
    if kind in (0, 1):
        return kind == 0, at
    if kind in _FIXED:
        number: int = _FIXED[kind].unpack_from(raw, at)[0]
        return number, at + _FIXED[kind].size
    if kind not in (6, 7, 9):
        raise BrokenFrame("a header is of a type that the standard does not know")
    start, length = (at, 16) if kind == 9 else (at + 2, _LENGTH.unpack_from(raw, at)[0])
    value = raw[start : start + length]
    if len(value) < length:
        raise BrokenFrame("the headers of a frame cannot be read")
    return value.decode() if kind == 7 else value, start + length


def frame(headers: Mapping[str, HeaderValue], payload: bytes) -> bytes:
    """One frame. An int goes out as a 64-bit one. Raises `ValueError` for a header that has no form in it, and for what is too long."""
    pieces: list[bytes] = []
    for name, value in headers.items():
        raw = name.encode()
        if not 0 < len(raw) <= 255:
            raise ValueError("the name of a header takes 1 to 255 bytes")
        pieces += (bytes((len(raw),)), raw, _spelled(value))
    head = b"".join(pieces)
    if len(head) > HEADERS_BYTES_MAX:
        raise ValueError(f"the headers of a frame take at most {HEADERS_BYTES_MAX} bytes")
    lengths = struct.pack(">II", _AROUND_BYTES + len(head) + len(payload), len(head))
    body = b"".join((lengths, _CRC.pack(crc32(lengths)), head, payload))
    return body + _CRC.pack(crc32(body))


def _spelled(value: HeaderValue) -> bytes:
    if isinstance(value, bool):
        return b"\x00" if value else b"\x01"
    if isinstance(value, int):
        try:
            return b"\x05" + _FIXED[5].pack(value)
        except struct.error:
            raise ValueError("a number in a header takes 64 bits") from None
    raw = value.encode() if isinstance(value, str) else value
    if len(raw) > 0xFFFF:
        raise ValueError("the value of a header takes at most 65535 bytes")
    return (b"\x07" if isinstance(value, str) else b"\x06") + _LENGTH.pack(len(raw)) + raw
