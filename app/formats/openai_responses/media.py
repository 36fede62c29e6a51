"""Images and files as content parts of a Responses request."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from app.context.passes.fitting import stand_in
from app.entries.parts import Blob, Media


def media_part(media: Media, blobs: Mapping[str, bytes]) -> tuple[dict[str, Any], str | None]:
    """The content part of a user message or a tool result, and why it is only a stand-in text, if it is.

    A blob that is not among `blobs` (erased, or not loaded) is named. That kind, type and size are taken is warranted.
    """
    blob, url = media.blob, media.url
    if blob is not None and blob.digest not in blobs:
        return {"type": "input_text", "text": stand_in(media)}, "blob_missing"
    if blob is None and not url:
        return {"type": "input_text", "text": stand_in(media)}, "no_content"
    if blob is not None:
        url = _data_url(blob, blobs)
    if media.kind == "image":
        return {"type": "input_image", "image_url": url, "detail": "auto"}, None
    if url is not None and not url.startswith("data:"):
        return {"type": "input_file", "file_url": url}, None
    return {"type": "input_file", "filename": media.filename or "file", "file_data": url}, None


def _data_url(blob: Blob, blobs: Mapping[str, bytes]) -> str:
    return f"data:{blob.media_type};base64,{b64encode(blobs[blob.digest]).decode()}"
