"""The size of a picture, read off its head."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries.parts import Blob
from app.entries.pictures import blob_of, pixel_size

PNG = b"\x89PNG\r\n\x1a\n"


def png(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return PNG + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00;"


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 12) + b"Exif\0\0MM\0*"
    return b"\xff\xd8" + exif + b"\xff\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00\xff\xd9"


def webp(kind: bytes, chunk: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 12 + len(chunk)) + b"WEBP" + kind + struct.pack("<I", len(chunk)) + chunk


def lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\0\0")


def lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\0" * 9)


def extended(width: int, height: int) -> bytes:
    return webp(b"VP8X", b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


@pytest.mark.parametrize("make", [png, gif, jpeg, lossy, lossless, extended])
@given(width=st.integers(1, 16_383), height=st.integers(1, 16_383), cut=st.integers(0, 60))
def test_each_kind_says_its_size_and_a_piece_of_it_none_or_the_same(make, width: int, height: int, cut: int):
    whole = make(width, height)
    assert pixel_size(whole) == (width, height)
    assert pixel_size(whole[:cut]) in ((width, height), (None, None))


@pytest.mark.parametrize(
    "content", [b"", b"x", PNG, png(0, 5), b"\xff\xd8" + b"\xff" * 5_000, b"\xff\xd8\xff\xe1\0\0" * 99, b"RIFF0000WEBPVP8?" + b"\0" * 20]
)
def test_what_cannot_be_read_has_no_size(content: bytes):
    assert pixel_size(content) == (None, None)


@given(st.binary(max_size=80), st.sampled_from([b"", PNG, b"GIF87a", b"\xff\xd8", b"RIFF\0\0\0\0WEBPVP8L", b"\xff\xd8\xff\xc0"]))
def test_no_bytes_break_it(content: bytes, head: bytes):
    size = pixel_size(head + content)
    assert size == (None, None) or all(edge and edge > 0 for edge in size)


def test_only_a_picture_is_measured():
    assert blob_of("d", "image/png", png(3, 4)) == Blob("d", "image/png", 33, 3, 4)
    assert blob_of("d", "application/pdf", png(3, 4)) == Blob("d", "application/pdf", 33)


@pytest.mark.req("X-18")
def test_a_picture_bears_the_type_that_its_bytes_are_of():
    for content, media_type in ((png(1, 1), "image/png"), (gif(1, 1), "image/gif"), (jpeg(1, 1), "image/jpeg"), (lossy(1, 1), "image/webp")):
        assert blob_of("d", "image/jpg", content) == Blob("d", media_type, len(content), 1, 1)
        assert blob_of("d", "application/pdf", content).media_type == "application/pdf", "what is sent as a file is the sender's to name"
    assert blob_of("d", "image/heic", b"\0\0\0\x18ftypheic").media_type == "image/heic"
