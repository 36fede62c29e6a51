"""Type and size of a picture, read off the head of its bytes: PNG, GIF, JPEG and WebP. Nothing is decoded."""

from typing import Literal

from app.entries.parts import Blob

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG frame, which holds the size; the three that are left out mean something else."""

_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers without a length."""

_JPEG_SEGMENTS_MAX = 1_000

_HEADS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"\xff\xd8\xff", "image/jpeg"))


def blob_of(digest: str, media_type: str, content: bytes) -> Blob:
    """The blob of these bytes. A picture whose head can be read has its size in pixels, and the type that its bytes are of, whatever it was
    called: providers look, and refuse one that is not what it is called (wire-format notes 4.3, 6.2)."""
    if not media_type.startswith("image/"):
        return Blob(digest, media_type, len(content))
    return Blob(digest, picture_type(content) or media_type, len(content), *pixel_size(content))


def picture_type(content: bytes) -> str | None:
    """The media type that the bytes are of; None for what is none of the four kinds."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for head, media_type in _HEADS if content.startswith(head)), None)


def pixel_size(content: bytes) -> tuple[int, int] | tuple[None, None]:
    """Width and height in pixels; None for both where the bytes are of none of the four kinds, or too short, or say 0."""
    match picture_type(content):
        case "image/png":
            found = _pair(content, 16, 4, "big") if content[12:16] == b"IHDR" else None
        case "image/gif":
            found = _pair(content, 6, 2, "little")
        case "image/jpeg":
            found = _jpeg(content)
        case "image/webp":
            found = _webp(content)
        case _:
            found = None
    return found if found is not None and all(found) else (None, None)


def _pair(content: bytes, at: int, length: int, order: Literal["big", "little"]) -> tuple[int, int] | None:
    """Two numbers of `length` bytes each; None where the bytes end before them."""
    first, second = content[at : at + length], content[at + length : at + 2 * length]
    return None if len(second) < length else (int.from_bytes(first, order), int.from_bytes(second, order))


def _little(first: bytes, second: bytes) -> tuple[int, int]:
    return int.from_bytes(first, "little"), int.from_bytes(second, "little")


def _jpeg(content: bytes) -> tuple[int, int] | None:
    """Walks from segment to segment."""
    at = 2
    for _ in range(_JPEG_SEGMENTS_MAX):
        if at + 4 > len(content) or content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_SIZES:
            size = _pair(content, at + 5, 2, "big")
            return None if size is None else (size[1], size[0])  # height stands first
        else:
            at += 2 + max(2, int.from_bytes(content[at + 2 : at + 4], "big"))
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    kind, head = content[12:16], content[16:30]
    if len(head) < 14:
        return None
    if kind == b"VP8X":
        width, height = _little(head[8:11], head[11:14])
        return width + 1, height + 1
    if kind == b"VP8L" and head[4] == 0x2F:
        bits = int.from_bytes(head[5:9], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and head[7:10] == b"\x9d\x01\x2a":
        width, height = _little(head[10:12], head[12:14])
        return width & 0x3FFF, height & 0x3FFF
    return None
