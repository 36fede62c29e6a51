"""Images and documents as blocks, and the text that stands in for what cannot be sent."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

from app.entries.parts import Media
from app.formats.bedrock.rules import FILE_FORMATS, IMAGE_FORMATS

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*?;base64,([A-Za-z0-9+/=\s]+)")


class Source(NamedTuple):
    """What a block is made of: `format` is Converse's word, `data` base64 text, as blobs are spelled over REST (6.1)."""

    format: str
    data: str


def read_source(media: Media, blobs: Mapping[str, bytes]) -> Source | str:
    """The source of an image or a document, or in one word why there is none.

    Inline data is taken as it is; nothing is fetched. Types and sizes were fitted to the target before, but of inline data.
    """
    formats = IMAGE_FORMATS if media.kind == "image" else FILE_FORMATS
    if media.blob is not None:
        if media.blob.digest not in blobs:
            return "blob_missing"
        format = formats.get(media.blob.media_type)
        return "media_type_not_taken" if format is None else Source(format, b64encode(blobs[media.blob.digest]).decode())
    inline = _DATA_URL.fullmatch(media.url or "")
    if inline is None:
        return f"no_{media.kind}_urls" if media.url else "no_content"
    format = formats.get(inline[1])
    return "media_type_not_taken" if format is None else Source(format, re.sub(r"\s+", "", inline[2]))


def block_of(kind: str, source: Source, name: str) -> dict[str, Any]:
    """The block; a document has a name, which the model reads (6.1)."""
    content = {"bytes": source.data}
    if kind == "image":
        return {"image": {"format": source.format, "source": content}}
    return {"document": {"format": source.format, "name": name, "source": content}}
