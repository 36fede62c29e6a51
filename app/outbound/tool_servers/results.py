"""What a tool server's answer becomes, and the sentences that a model reads where there is none."""

import base64
import binascii
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.config import limits
from app.entries.ids import blob_digest
from app.entries.parts import Media, Part, Text
from app.entries.pictures import blob_of, picture_type

_EFFECTS = "It may have had effects; check before doing it again."
DETAILS: Mapping[str, str] = MappingProxyType(
    {
        "tool-server-unknown": "The tool's server is not configured any more. The tool did not run.",
        "tool-server-unreachable": "The tool's server could not be reached. The tool did not run.",
        "tool-server-refused": "The service may not connect to the tool's server. The tool did not run.",
        "tool-arguments-invalid": "The arguments hold a number or a character that the tool's server cannot be sent. The tool did not run.",
        "tool-server-error": f"The tool's server failed. {_EFFECTS}",
        "tool-call-refused": "The tool's server did not take the call.",
        "tool-connection-lost": f"The connection to the tool's server broke before an answer came. {_EFFECTS}",
        "tool-timeout": f"The tool did not answer in time. {_EFFECTS}",
        "tool-result-too-large": f"The tool's answer is too large and was not taken. {_EFFECTS}",
        "tool-result-invalid": f"The tool's answer is of no form that can be read. {_EFFECTS}",
    }
)

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")
_URL = re.compile("https?://[!-~]{1,8184}")
_FILENAME_CHARS_MAX = 255


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call of a tool. `tool` is its name on the server, `arguments` the text of a JSON object.

    `request_id` names the call the same way each time it is sent, and no other call: a server may drop a second one.
    """

    tool: str
    arguments: str
    tool_call_id: str
    session_id: str
    turn_id: str
    request_id: str


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call came to. `code` says why there is no result; `media` are the bytes that `parts` name: digest → media type, bytes."""

    parts: tuple[Part, ...]
    is_error: bool = False
    code: str | None = None
    media: Mapping[str, tuple[str, bytes]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it. `parameters` is whatever the server calls its input schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolFault(Exception):
    """A call came to nothing. `code` is a key of `DETAILS`; nothing of what a server, a URL or an exception says is in it."""

    def __init__(self, code: str) -> None:
        super().__init__(DETAILS[code])
        self.code = code


def failure(code: str) -> ToolOutcome:
    """The outcome of a call that came to nothing."""
    return ToolOutcome((Text(DETAILS[code]),), True, code)


def kept(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome, where each of its texts fits a blob: an operator may allow answers larger than that. Raises `ToolFault`."""
    texts = [part.text for part in outcome.parts if isinstance(part, Text) and len(part.text) > limits.BLOB_BYTES_MAX // 4]
    if any(len(text.encode("utf-8", "surrogatepass")) > limits.BLOB_BYTES_MAX for text in texts):
        raise ToolFault("tool-result-too-large")
    return outcome


async def read_bounded(chunks: AsyncIterator[bytes], bytes_max: int) -> bytes:
    """All chunks. Raises `ToolFault` once they hold more than `bytes_max`; what comes after is not read."""
    found = bytearray()
    async for chunk in chunks:
        found += chunk
        if len(found) > bytes_max:
            raise ToolFault("tool-result-too-large")
    return bytes(found)


def read_answer(document: Any) -> ToolOutcome:
    """The outcome that `{content: text | parts, is_error?}` spells. Raises `ToolFault` for anything else."""
    if not isinstance(document, Mapping) or "content" not in document or document.keys() - {"content", "is_error"}:
        raise ToolFault("tool-result-invalid")
    content, is_error = document["content"], document.get("is_error", False)
    if not isinstance(is_error, bool) or not isinstance(content, str | list):
        raise ToolFault("tool-result-invalid")
    if isinstance(content, str):
        return ToolOutcome((Text(content),), is_error)
    if len(content) > limits.PARTS_PER_MESSAGE_MAX:
        raise ToolFault("tool-result-too-large")
    media: dict[str, tuple[str, bytes]] = {}
    return ToolOutcome(tuple([_part(item, media) for item in content]), is_error, None, media)


def media_part(data: str, media_type: str, filename: str | None, media: dict[str, tuple[str, bytes]]) -> Media:
    """An image or a file of base64 `data`; its bytes are put into `media`. What is no picture of a known kind is a file, whatever it is called.

    Raises `ToolFault` for data that is not base64, larger than a blob may be, or without a media type.
    """
    if len(data) > limits.BLOB_BYTES_MAX // 3 * 4 + 4:
        raise ToolFault("tool-result-too-large")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ToolFault("tool-result-invalid") from None
    if len(content) > limits.BLOB_BYTES_MAX:
        raise ToolFault("tool-result-too-large")
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise ToolFault("tool-result-invalid")
    found = picture_type(content) if media_type.startswith("image/") else None
    digest = blob_digest(content)
    media[digest] = (found or media_type, content)
    return Media("file" if found is None else "image", blob_of(digest, found or media_type, content), filename=filename)


def _part(item: Any, media: dict[str, tuple[str, bytes]]) -> Part:
    match item:
        case {"type": "text", "text": str(text), **rest} if not rest:
            return Text(text)
        case {"type": "image" | "file" as kind, "url": str(url), **rest} if not rest.keys() - {"filename"} and _URL.fullmatch(url):
            return Media(kind, url=url, filename=_filename(rest))
        case {"type": "image" | "file", "data": str(data), "media_type": str(media_type), **rest} if not rest.keys() - {"filename"}:
            return media_part(data, media_type, _filename(rest), media)
    raise ToolFault("tool-result-invalid")


def _filename(rest: Mapping[Any, Any]) -> str | None:
    name = rest.get("filename")
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= _FILENAME_CHARS_MAX):
        raise ToolFault("tool-result-invalid")
    return name
