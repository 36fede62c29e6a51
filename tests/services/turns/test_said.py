"""Parts as a client wrote them, and the bytes of those that are named by URL alone."""

import base64

import pytest

from app.config.limits import MEDIA_FETCHES_MAX
from app.entries.errors import Invalid
from app.entries.ids import blob_digest
from app.entries.parts import Blob, Media, Part, Text
from app.models.wire_rules import WireRules, with_quirks
from app.services.turns import inputs
from app.services.turns.inputs import Said, read_parts, with_fetched_media

PNG = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4) + b"IHDR" + (3).to_bytes(4) + (2).to_bytes(4) + bytes(9)
FOUND = ("image/jpeg", PNG)
BLOB = Blob(blob_digest(PNG), "image/png", len(PNG), 3, 2)


def at(number: int) -> str:
    return f"https://example.org/{number}"


async def fetched(said: list[Said], **rules: bool) -> tuple[list[Said], list[str]]:
    """The messages with what was found, and what was asked for."""
    asked: list[str] = []

    async def fetch(url: str) -> tuple[str, bytes]:
        asked.append(url)
        return FOUND

    return await with_fetched_media(fetch, with_quirks(WireRules(), {"image_urls": False, "file_urls": False} | rules), said), asked


async def test_each_url_is_asked_for_once_and_no_more_of_them_than_may_be():
    many = [Said((Media("image", url=at(number)), Media("image", url=at(number))), {}) for number in range(MEDIA_FETCHES_MAX + 1)]
    found, asked = await fetched(many)
    assert asked == [at(number) for number in range(MEDIA_FETCHES_MAX)]
    assert [[part.blob for part in one.parts if isinstance(part, Media)] for one in found] == [[BLOB] * 2] * MEDIA_FETCHES_MAX + [[None] * 2]


async def test_only_what_the_target_takes_by_no_url_and_has_no_bytes_is_asked_for():
    other = Blob("sha256:" + "0" * 64, "image/png", 3)
    parts: tuple[Part, ...] = (Text("t"), Media("image", other, url=at(1)), Media("image", url=at(2)), Media("file", url=at(3)))
    brought = {other.digest: ("image/png", b"png")}
    (found,), asked = await fetched([Said(parts, brought)], file_urls=True)
    assert asked == [at(2)]
    assert found == Said((*parts[:2], Media("image", BLOB, url=at(2)), parts[3]), brought | {BLOB.digest: FOUND})
    _, asked = await fetched([Said(parts, brought)], image_urls=True)
    assert asked == [at(3)]
    same = (Media("image", other, url=at(1)), Media("image", url=at(1)))
    (found,), _ = await fetched([Said(same, brought)])
    assert found.parts == (same[0], Media("image", BLOB, url=at(1))), "bytes that are there stay"


@pytest.mark.parametrize(("data", "code"), [("QUJ D", "invalid-base64"), ("A", "invalid-base64"), ("é", "invalid-base64"), ("QUJDRA==", "too-large")])
def test_bytes_that_are_no_base64_or_too_many_are_refused(data: str, code: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inputs, "BLOB_BYTES_MAX", 3)
    with pytest.raises(Invalid) as caught:
        read_parts([{"type": "text", "text": "t"}, {"type": "image", "media_type": "image/png", "data": data}], "/input")
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [("/input/1/data", code)]
    read = read_parts([{"type": "image", "media_type": "image/png", "data": base64.b64encode(b"png").decode()}], "/input")
    assert read.media == {blob_digest(b"png"): ("image/png", b"png")}
