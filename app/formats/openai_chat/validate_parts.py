"""Content parts of a Chat request: which types a role takes and what each needs."""

from collections.abc import Mapping
from typing import Any

from app.formats.openai_chat.rules import CONTENT_CHARS_MAX
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_DETAILS = ("auto", "low", "high", "original")


def check_text_part(part: Mapping[str, Any], at: str, found: list[Violation], rules: WireRules) -> None:
    """System, developer and tool messages: text only."""
    if part.get("type") != "text":
        found.append(Violation(f"{at}/type", "part-type-not-taken", "This role takes text parts only."))
    else:
        _text(part, "text", at, found)


def check_assistant_part(part: Mapping[str, Any], at: str, found: list[Violation], rules: WireRules) -> None:
    """Assistant messages: text and refusal; any chunk, where reasoning is one of them (2.4)."""
    kind = part.get("type")
    if kind not in ("text", "refusal") and rules.reasoning_key == "content" and isinstance(kind, str):
        if kind == "thinking" and not isinstance(part.get("thinking"), list):
            found.append(Violation(f"{at}/thinking", "thinking-invalid", "`thinking` is a list of chunks."))
    elif kind not in ("text", "refusal"):
        found.append(Violation(f"{at}/type", "part-type-not-taken", "An assistant message takes text and refusal parts."))
    else:
        _text(part, kind, at, found)


def check_user_part(part: Mapping[str, Any], at: str, found: list[Violation], rules: WireRules) -> None:
    """User messages: text, image_url, input_audio and file, as far as the target takes them."""
    kind = part.get("type")
    if kind == "text":
        _text(part, "text", at, found)
    elif kind == "image_url":
        _image(part.get("image_url"), at, found, rules)
    elif kind == "document_url" and rules.file_part == "document_url":
        if not isinstance(part.get("document_url"), str):
            found.append(Violation(f"{at}/document_url", "file-invalid", "A document has an http or data URL."))
    elif not rules.files and kind in ("input_audio", "file"):
        found.append(Violation(f"{at}/type", "part-type-not-taken", "This server takes no files."))
    elif kind == "input_audio":
        audio = part.get("input_audio")
        if not isinstance(audio, dict) or not isinstance(audio.get("data"), str) or audio.get("format") not in ("wav", "mp3"):
            found.append(Violation(f"{at}/input_audio", "audio-invalid", "Audio has `data` and `format` wav or mp3."))
    elif kind == "file":
        file = part.get("file")
        if not isinstance(file, dict) or not (isinstance(file.get("file_data"), str) or isinstance(file.get("file_id"), str)):
            found.append(Violation(f"{at}/file", "file-invalid", "A file has `file_data` or `file_id`."))
    else:
        found.append(Violation(f"{at}/type", "part-type-not-taken", "A user message takes text, image_url, input_audio and file parts."))


def _image(image: Any, at: str, found: list[Violation], rules: WireRules) -> None:
    url = image.get("url") if isinstance(image, dict) else None
    if not rules.images:
        found.append(Violation(f"{at}/type", "part-type-not-taken", "This model takes no images."))
    elif not isinstance(url, str) or not url.startswith(("https://", "http://", "data:")):
        found.append(Violation(f"{at}/image_url/url", "url-invalid", "An image has an http or data URL."))
    elif not rules.image_urls and not url.startswith("data:"):
        found.append(Violation(f"{at}/image_url/url", "url-not-taken", "An image comes with its bytes."))
    if isinstance(image, dict) and image.get("detail", "auto") not in _DETAILS:
        found.append(Violation(f"{at}/image_url/detail", "value-unknown", f"`detail` is one of {', '.join(_DETAILS)}."))


def _text(part: Mapping[str, Any], key: str, at: str, found: list[Violation]) -> None:
    text = part.get(key)
    if not isinstance(text, str):
        found.append(Violation(f"{at}/{key}", "text-missing", f"`{key}` is a string."))
    elif len(text) > CONTENT_CHARS_MAX:
        found.append(Violation(f"{at}/{key}", "content-too-long", f"Content takes at most {CONTENT_CHARS_MAX} characters."))
