"""AWS event stream frames: lengths, headers, payload and two checksums (wire-format notes 6.3)."""

import struct
import zlib
from collections.abc import Iterator, Mapping

_STRING = 7  # the type of a header that is a text; the fakes need no other


def write_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    packed = b"".join(
        struct.pack(">B", len(name.encode())) + name.encode() + struct.pack(">BH", _STRING, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + payload
    return frame + struct.pack(">I", zlib.crc32(frame))


def write_event(kind: str, payload: bytes) -> bytes:
    return write_frame({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, payload)


def write_exception(kind: str, payload: bytes) -> bytes:
    return write_frame({":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}, payload)


def read_frames(stream: bytes) -> Iterator[tuple[dict[str, str], bytes]]:
    """Headers and payload of each whole frame. What stands after the last one is passed over."""
    at = 0
    while (end := _end(stream, at)) is not None:
        headers_bytes = struct.unpack_from(">I", stream, at + 4)[0]
        body = at + 12 + headers_bytes
        yield dict(_headers(stream[at + 12 : body])), stream[body : end - 4]
        at = end


def last_border(stream: bytes) -> int:
    """The end of the last whole frame."""
    at = 0
    while (end := _end(stream, at)) is not None:
        at = end
    return at


def _end(stream: bytes, at: int) -> int | None:
    if at + 16 > len(stream):
        return None
    end: int = at + struct.unpack_from(">I", stream, at)[0]
    return end if end <= len(stream) else None


def _headers(packed: bytes) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(packed):
        name_bytes = packed[at]
        name = packed[at + 1 : at + 1 + name_bytes].decode()
        at += 1 + name_bytes
        kind, value_bytes = struct.unpack_from(">BH", packed, at)
        assert kind == _STRING, kind
        yield name, packed[at + 3 : at + 3 + value_bytes].decode()
        at += 3 + value_bytes
