"""Images and documents as content blocks, the text that stands in for what cannot be sent, and blocks that go back as received."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.parts import Media

TITLE_CHARS_MAX = 500
"""The title of a document; a longer name is cut."""


def media_block(media: Media, blobs: Mapping[str, bytes]) -> tuple[dict[str, Any], str | None]:
    """The block of an image or a document, and why it is only a stand-in text, if it is: its blob is not among `blobs`."""
    if media.blob is not None:
        content = blobs.get(media.blob.digest)
        if content is None:
            return text_block(stand_in(media)), "blob_missing"
        if media.blob.media_type == "text/plain":
            source = {"type": "text", "media_type": "text/plain", "data": content.decode("utf-8", "replace")}
        else:
            source = {"type": "base64", "media_type": media.blob.media_type, "data": b64encode(content).decode()}
    elif media.url:
        source = {"type": "url", "url": media.url}
    else:
        return text_block(stand_in(media)), "no_content"
    if media.kind == "image":
        return {"type": "image", "source": source}, None
    title = (media.filename or "").strip()[:TITLE_CHARS_MAX]
    return {"type": "document", "source": source} | ({"title": title} if title else {}), None


def stand_in(media: Media) -> str:
    """What the model is told of a picture or a file that it does not get: kind, name, media type and size."""
    facts = [media.filename] if media.filename else []
    if media.blob is not None:
        facts += [media.blob.media_type, f"{media.blob.byte_length} bytes"]
    elif media.url is not None and not media.url.startswith("data:"):
        facts.append(media.url)
    return f"[{media.kind} not shown{': ' if facts else ''}{', '.join(facts)}]"


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
