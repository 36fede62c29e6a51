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
        self._sending_since: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self._headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        writing = asyncio.create_task(self._write(send))
        watching = asyncio.create_task(gone(receive))
        stalling = asyncio.create_task(self._stalled())
        try:
            await asyncio.wait((writing, watching, stalling), return_when=asyncio.FIRST_COMPLETED)
            if not writing.done() and self._left is not None:
                await self._left()
        finally:
            for task in (writing, watching, stalling):
                task.cancel()
            await asyncio.gather(writing, watching, stalling, return_exceptions=True)
            with contextlib.suppress(Exception):
                await close(self._pieces)
        if not writing.cancelled() and (error := writing.exception()) is not None and not isinstance(error, OSError):
            raise error

    async def _write(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        if self._opening:
            await send({"type": "http.response.body", "body": self._opening, "more_body": True})
        async for piece in self._pieces:
            self._sending_since = clock()
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self._sending_since = None
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stalled(self) -> None:
        """Returns when the client has taken no byte for too long. One look now and then: a timer a piece would cost more than the piece."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SEND_SECONDS_MAX / 4)
            if self._sending_since is not None and clock() - self._sending_since >= SEND_SECONDS_MAX:
                return


async def gone(receive: Receive) -> None:
    """Returns when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def close(pieces: object) -> None:
    """Ends an async generator that may not have been read to its end."""
    ending = getattr(pieces, "aclose", None)
    if ending is not None:
        await ending()
