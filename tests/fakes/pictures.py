"""What can be read off an image in base64: whether it is one at all, its kind, its size."""

import base64
import binascii
import struct
from dataclasses import dataclass

_HEADS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}


@dataclass(frozen=True, slots=True)
class Picture:
    """`kind` is None for bytes of no kind we know; `pixels` (the longer side) is None where the head does not say."""

    size_bytes: int
    kind: str | None
    pixels: int | None


def picture(data: str) -> Picture | None:
    """What the base64 text holds; None for a text that is no base64."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = next((name for head, name in _HEADS.items() if raw.startswith(head)), None)
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        kind = "webp"
    pixels = None
    if kind == "png" and len(raw) >= 24:
        pixels = max(struct.unpack(">II", raw[16:24]))
    elif kind == "gif" and len(raw) >= 10:
        pixels = max(struct.unpack("<HH", raw[6:10]))
    elif kind == "jpeg":
        pixels = _jpeg_pixels(raw)
    return Picture(len(raw), kind, pixels)


def _jpeg_pixels(raw: bytes) -> int | None:
    """The longer side, from the frame header."""
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        marker, length = raw[at + 1], int.from_bytes(raw[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return max(struct.unpack(">HH", raw[at + 5 : at + 9]))
        at += 2 + length
    return None
