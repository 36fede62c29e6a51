"""Reading a request's body: counted while it streams, of the right media type, strict JSON."""

import asyncio
from typing import Any

from starlette.requests import ClientDisconnect, Request

from app.api.problems import Problem
from app.config.limits import BODY_BYTES_MAX, JSON_DEPTH_MAX, JSON_ON_LOOP_BYTES_MAX
from app.entries import lossless
from app.entries.errors import Fault


async def read_bytes(request: Request, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The whole body. Raises `payload-too-large` as soon as more than `bytes_max` was announced or sent.

    The connection stays open: the server throws the rest away unread. Closed at once, it would be reset under a client that is still
    sending, and that one would never hear the answer.
    """
    announced = request.headers.get("content-length")
    if announced is not None and announced.isdecimal() and int(announced) > bytes_max:
        raise Problem("payload-too-large")
    pieces: list[bytes] = []
    size = 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > bytes_max:
                raise Problem("payload-too-large")
            pieces.append(piece)
    except ClientDisconnect:
        raise Problem("invalid-request", "The body ended before it was whole.") from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def check_media_type(request: Request) -> None:
    """Raises `unsupported-media-type` unless the body is announced as JSON in UTF-8."""
    media_type, *parameters = [piece.strip().lower() for piece in request.headers.get("content-type", "").split(";")]
    charsets = [piece.removeprefix("charset=").strip('"') for piece in parameters if piece.startswith("charset=")]
    if media_type != "application/json" or any(charset != "utf-8" for charset in charsets):
        raise Problem("unsupported-media-type")


async def read_json(raw: bytes) -> Any:
    """The document of a body; a large one is parsed off the event loop. Raises `invalid-json` without repeating the text."""
    try:
        if len(raw) > JSON_ON_LOOP_BYTES_MAX:
            return await asyncio.to_thread(lossless.loads, raw, JSON_DEPTH_MAX)
        return lossless.loads(raw, JSON_DEPTH_MAX)
    except lossless.InvalidJson as error:
        raise Problem("invalid-json", faults=[Fault("", error.code, _SENTENCES[error.code])]) from None
    except (ValueError, RecursionError):
        raise Problem("invalid-json", faults=[Fault("", "invalid-json", _SENTENCES["invalid-json"])]) from None


_SENTENCES = {
    "invalid-json": "The body is not JSON in UTF-8.",
    "duplicate-key": "An object names the same key twice.",
    "not-finite": "NaN and Infinity are no JSON numbers.",
    "too-deep": f"Arrays and objects may nest {JSON_DEPTH_MAX} deep.",
}
