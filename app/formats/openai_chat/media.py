"""Images and files as content parts of a Chat request, and the text that stands in for what cannot be sent."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from app.context.passes.fitting import stand_in
from app.entries.parts import Media
from app.formats.openai_chat.rules import AUDIO_FORMATS
from app.models.wire_rules import WireRules


def media_part(media: Media, blobs: Mapping[str, bytes], rules: WireRules) -> tuple[dict[str, Any], str | None]:
    """The content part of a user message, and why it is only a stand-in text, if it is.

    One picture in a format that the provider refuses would make every later call of the session fail, so such a
    one is named instead of sent. A blob that is not among `blobs` (erased, or not loaded) is named too.
    """
    why = _obstacle(media, blobs, rules)
    if why is not None:
        return {"type": "text", "text": stand_in(media)}, why
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": media.url if media.blob is None else _data_url(media, blobs)}}, None
    if media.blob is not None and media.blob.media_type in AUDIO_FORMATS:
        data = b64encode(blobs[media.blob.digest]).decode()
        return {"type": "input_audio", "input_audio": {"data": data, "format": AUDIO_FORMATS[media.blob.media_type]}}, None
    url = media.url if media.blob is None else _data_url(media, blobs)
    if rules.file_part == "document_url":
        named = {"document_name": media.filename} if media.filename else {}
        return {"type": "document_url", "document_url": url, **named}, None
    return {"type": "file", "file": {"file_data": url, "filename": media.filename or "file"}}, None


def _obstacle(media: Media, blobs: Mapping[str, bytes], rules: WireRules) -> str | None:
    inline = media.url is not None and media.url.startswith("data:")
    if media.blob is None and not media.url:
        return "no_content"
    if media.blob is not None and media.blob.digest not in blobs:
        return "blob_missing"
    if media.kind == "image":
        if not rules.images:
            return "no_images"
        if media.blob is not None and not _taken(media.blob.media_type, rules.image_types):
            return "media_type_not_taken"
        return None if media.blob is not None or inline or rules.image_urls else "no_image_urls"
    if not rules.files:
        return "no_files"
    if media.blob is not None and not _taken(media.blob.media_type, rules.file_types):
        return "media_type_not_taken"
    return None if media.blob is not None or inline or rules.file_urls else "no_file_urls"


def _taken(media_type: str, types: str) -> bool:
    return types == "*" or media_type in types.split()


def _data_url(media: Media, blobs: Mapping[str, bytes]) -> str:
    assert media.blob is not None
    return f"data:{media.blob.media_type};base64,{b64encode(blobs[media.blob.digest]).decode()}"
