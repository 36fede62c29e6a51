"""Answers that are written while they are made: event streams and NDJSON.

Plain ASGI: the task that reads the client's connection and the one that writes stand side by side, so that a client that
leaves is noticed at once. Leaving ends the reading alone; what makes the events lives elsewhere and is not touched.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.types import Receive, Scope, Send

from app.api.answers import NDJSON, SSE
from app.config.limits import SEND_SECONDS_MAX

log = logging.getLogger("context_ledger.api")

OPENING = b": open\n\n"
HEARTBEAT = b": \n\n"

SSE_HEADERS: Mapping[str, str] = {
    "content-type": f"{SSE}; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
}
NDJSON_HEADERS: Mapping[str, str] = {"content-type": NDJSON, "cache-control": "no-store", "x-accel-buffering": "no"}


class Streamed:
    """An answer whose body is an iterator of bytes.

    `opening` is sent with the headers, before the first piece is asked for. `left` is awaited when the client goes before the end.
    A client that takes no byte for `SEND_SECONDS_MAX` is cut off.
    """

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        headers: Mapping[str, str],
        *,
        opening: bytes = b"",
        left: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.status_code = 200
        self._pieces = pieces
        self._headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        self._opening = opening
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self._headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        writing = asyncio.create_task(self._write(send))
        watching = asyncio.create_task(gone(receive))
        try:
            await asyncio.wait((writing, watching), return_when=asyncio.FIRST_COMPLETED)
            if not writing.done() and self._left is not None:
                await self._left()
        finally:
            for task in (writing, watching):
                task.cancel()
            await asyncio.gather(writing, watching, return_exceptions=True)
            with contextlib.suppress(Exception):
                await close(self._pieces)
        if not writing.cancelled() and (error := writing.exception()) is not None and not isinstance(error, TimeoutError | OSError):
            raise error

    async def _write(self, send: Send) -> None:
        if self._opening:
            await _sent(send, self._opening)
        async for piece in self._pieces:
            await _sent(send, piece)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _sent(send: Send, piece: bytes) -> None:
    async with asyncio.timeout(SEND_SECONDS_MAX):
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def gone(receive: Receive) -> None:
    """Returns when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def close(pieces: object) -> None:
    """Ends an async generator that may not have been read to its end."""
    ending = getattr(pieces, "aclose", None)
    if ending is not None:
        await ending()
