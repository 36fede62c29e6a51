"""Event streams of AWS (`application/vnd.amazon.eventstream`): an incremental reader of frames, and a writer of single ones.

A frame is a prelude (length of all, length of the headers, CRC-32 of both), headers, a payload, and the CRC-32 of everything before
it; numbers are big-endian. Rules: https://smithy.io/2.0/aws/amazon-eventstream.html, and what botocore reads.
"""

import struct
from collections.abc import Iterator, Mapping
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
# Headers repeat from frame to frame: what these bytes meant is kept for so many of them.
_KNOWN_HEADERS_MAX = 64

HeaderValue = bool | int | str | bytes
"""A timestamp is an int (milliseconds of the epoch), a UUID 16 bytes, as botocore gives them."""


class BrokenFrame(ValueError):
    """The bytes are no frame, or not the ones that were sent, or too long; nothing more can be read from the stream."""


class Frame(NamedTuple):
    """One frame whose checksums hold. `headers` as sent, names included in their case."""

    headers: Mapping[str, HeaderValue]
    payload: bytes


class FrameReader:
    """Bytes to frames, cut anywhere. A frame that did not come to its end is not given. Work is linear in the bytes fed."""

    __slots__ = ("_frame_bytes_max", "_held", "_known", "_lengths")

    def __init__(self, frame_bytes_max: int = SSE_EVENT_BYTES_MAX) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._held = bytearray()
        self._lengths: tuple[int, int] | None = None
        self._known: dict[bytes, Mapping[str, HeaderValue]] = {}

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that these bytes complete, to be iterated to the end. Raises `BrokenFrame` behind the last one that was whole."""
        held, at = self._held, 0
        held += data
        try:
            while True:
                if self._lengths is None:
                    if len(held) - at < _PRELUDE_BYTES:
                        break
                    self._lengths = self._prelude(held, at)
                total, headers_bytes = self._lengths
                end = at + total
                if len(held) < end:
                    break
                found = self._frame(held, at, end, headers_bytes)
                self._lengths, at = None, end
                yield found
        finally:
            del held[:at]

    def _prelude(self, held: bytearray, at: int) -> tuple[int, int]:
        """Lengths of a whole frame and of its headers, judged before anything of that length is waited for."""
        total, headers_bytes, crc = _PRELUDE.unpack_from(held, at)
        if crc32(held[at : at + 8]) != crc:
            raise BrokenFrame("the checksum of a prelude does not hold")
        if headers_bytes > HEADERS_BYTES_MAX or total > self._frame_bytes_max or total < headers_bytes + _AROUND_BYTES:
            raise BrokenFrame(f"a frame may have {self._frame_bytes_max} bytes, {HEADERS_BYTES_MAX} of them headers")
        return total, headers_bytes

    def _frame(self, held: bytearray, at: int, end: int, headers_bytes: int) -> Frame:
        body = bytes(held[at : end - 4])
        if crc32(body) != _CRC.unpack_from(held, end - 4)[0]:
            raise BrokenFrame("the checksum of a frame does not hold")
        split = _PRELUDE_BYTES + headers_bytes
        raw = body[_PRELUDE_BYTES:split]
        headers = self._known.get(raw)
        if headers is None:
            headers = MappingProxyType(_headers(raw))
            if len(self._known) < _KNOWN_HEADERS_MAX:
                self._known[raw] = headers
        return Frame(headers, body[split:])


_FIXED = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q"), 8: struct.Struct(">q")}
_LENGTH = struct.Struct(">H")


def _headers(raw: bytes) -> dict[str, HeaderValue]:
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
    return found


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
