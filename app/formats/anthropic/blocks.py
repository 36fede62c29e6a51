"""Images and documents as content blocks, the text that stands in for what cannot be sent, and blocks that go back as received."""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from app.context.passes.fitting import stand_in
from app.entries import lossless
from app.entries.parts import Media
from app.formats.anthropic.rules import FILE_TYPES, IMAGE_TYPES

TITLE_CHARS_MAX = 500
"""The title of a document; a longer name is cut."""

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL)


def media_block(media: Media, blobs: Mapping[str, bytes]) -> tuple[dict[str, Any], str | None]:
    """The block of an image or a document, and why it is only a stand-in text, if it is: its blob is not among `blobs` (erased, or not
    loaded), or its data URL holds nothing that is taken."""
    if media.blob is not None:
        content = blobs.get(media.blob.digest)
        source = None if content is None else _source(media.blob.media_type, content)
        why = "blob_missing"
    elif (media.url or "").startswith("data:"):
        source, why = _of_data_url(media), "data_url_not_taken"
    else:
        source, why = {"type": "url", "url": media.url}, ""
    if source is None:
        return text_block(stand_in(media)), why
    if media.kind == "image":
        return {"type": "image", "source": source}, None
    title = (media.filename or "").strip()[:TITLE_CHARS_MAX]
    return {"type": "document", "source": source} | ({"title": title} if title else {}), None


def _source(media_type: str, content: bytes) -> dict[str, Any]:
    if media_type == "text/plain":
        return {"type": "text", "media_type": media_type, "data": content.decode("utf-8", "replace")}
    return {"type": "base64", "media_type": media_type, "data": b64encode(content).decode()}


def _of_data_url(media: Media) -> dict[str, Any] | None:
    found = _DATA_URL.fullmatch(media.url or "")
    if found is None or found[1] not in (IMAGE_TYPES if media.kind == "image" else FILE_TYPES):
        return None
    try:
        return _source(found[1], b64decode(found[2], validate=True))
    except ValueError:
        return None


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def received(block: str | None) -> dict[str, Any]:
    """What a provider put with a part, every number as spelled; empty for a text that is no object, as imports may leave it."""
    try:
        found = lossless.loads(block or "{}")
    except lossless.InvalidJson:
        return {}
    return found if isinstance(found, dict) else {}


def received_block(block: str | None) -> dict[str, Any] | None:
    """The same of a whole block, which has a type; None where there is none."""
    found = received(block)
    return found if isinstance(found.get("type"), str) else None
