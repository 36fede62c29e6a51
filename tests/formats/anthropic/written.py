"""Bodies as written, held against both judges, and the pieces that they are made of."""

import base64
from typing import Any

import orjson

from app.entries.parts import Blob, ToolCall
from app.formats.anthropic.validate import validate
from app.formats.anthropic.write_request import write_request
from app.formats.protocols import Written
from tests.formats.anthropic.judge import objections
from tests.formats.anthropic.requests import message, request, target

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = Blob("sha256:" + "a" * 64, "image/png", len(PNG))
PDF = Blob("sha256:" + "b" * 64, "application/pdf", 3)
NOTE = Blob("sha256:" + "c" * 64, "text/plain", 3)
BLOBS = {IMAGE.digest: PNG, PDF.digest: b"pdf", NOTE.digest: "nö".encode()}
PICTURE_DATA = base64.b64encode(PNG).decode()
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE_DATA}}
UNMARKED = {"cache_breakpoints": 0}
CALL = message("assistant", ToolCall("c1", "lookup", '{"id": 1e2}'))


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def written(*messages: Any, **changes: Any) -> tuple[dict[str, Any], Written]:
    """Body and account; without cache marks unless a target is given. Both judges take it."""
    changes.setdefault("target", target(quirks=UNMARKED))
    found = write_request(request(*messages, **changes), BLOBS)
    body: dict[str, Any] = orjson.loads(found.body)
    assert not validate(body, changes["target"].rules)
    assert not objections(found.body)
    return body, found
