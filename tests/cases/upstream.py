"""An upstream on a real socket that writes what a case says: bytes, pauses, and an end that is clean or not.

HTTP/1.1 by hand, since a server that frames bodies for us cannot be told where one network write ends or to reset a connection.
One server plays for everybody: which play is meant is told by the model, which a request names in its body or in its path.
"""

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

HEAD_BYTES_MAX = 64 * 2**10
DONE = "data: [DONE]\n\n"
WRITE_PAUSE_SECONDS = 0.002
"""Between two writes, so that each arrives alone."""


@dataclass(slots=True)
class Seen:
    """One request as it came. Times in seconds of the loop; `left_at` is when the client closed its end before ours."""

    at: float
    headers: Mapping[str, str]
    path: str
    body: bytes
    written: int = 0
    left_at: float | None = None

    @property
    def model(self) -> str:
        """The model that is asked: of the body, else of a path such as `/models/NAME:streamGenerateContent`."""
        found = re.search("/models?/([^:/?]+)", self.path)
        return str(json.loads(self.body)["model"]) if found is None else unquote(found[1])


@dataclass(slots=True)
class Play:
    """What an upstream answers, one attempt after another; the last one repeats.

    `gate`, where it is given, is waited for before `[DONE]` is written; `at_gate` says that everything before it is out.
    `idle` is set while nobody is being answered.
    """

    attempts: Sequence[Any]
    delay_seconds: float = 0.0
    gate: asyncio.Event | None = None
    at_gate: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list[Seen] = field(default_factory=list)
    open: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)


class Upstream:
    """The server. `plays` is filled by whoever runs a case, under a model name of its own."""

    def __init__(self) -> None:
        self.plays: dict[str, Play] = {}
        self.url = ""
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Upstream"]:
        """Listens on a free port of this machine."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()
            for connection in list(self._connections):
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read_request(reader)
        play = self.plays[request.model]
        attempt = play.attempts[min(len(play.seen), len(play.attempts) - 1)]
        play.seen.append(request)
        play.open += 1
        play.idle.clear()
        writing = asyncio.create_task(_write(writer, play, attempt, request))
        watching = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait((writing, watching), return_when=asyncio.FIRST_COMPLETED)
            if not writing.done():
                request.left_at = asyncio.get_running_loop().time()
        finally:
            writing.cancel()
            watching.cancel()
            await asyncio.gather(writing, watching, return_exceptions=True)
            play.open -= 1
            if not play.open:
                play.idle.set()


async def _read_request(reader: asyncio.StreamReader) -> Seen:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Seen(asyncio.get_running_loop().time(), headers, first.split(" ")[1], body)


async def _write(writer: asyncio.StreamWriter, play: Play, attempt: Any, request: Seen) -> None:
    await asyncio.sleep(play.delay_seconds)
    whole = attempt.get("body")
    headers = {"content-type": "application/json" if whole is not None else "text/event-stream", "connection": "close", **attempt.get("headers", {})}
    framing = "transfer-encoding: chunked" if whole is None else f"content-length: {len(whole.encode())}"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {attempt['status']} X\r\n{head}{framing}\r\n\r\n".encode() + (whole or "").encode())
    await writer.drain()
    if whole is not None:
        return
    for chunk in attempt["chunks"]:
        await _chunk(writer, play, chunk, request)
        await asyncio.sleep(attempt.get("chunk_interval_ms", 0) / 1000)
    if attempt.get("then") == "reset":
        await asyncio.sleep(0.05)  # what was written is read first: a reset may overtake it
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, play: Play, chunk: Any, request: Seen) -> None:
    if isinstance(chunk, dict) and "sleep_ms" in chunk:
        await asyncio.sleep(chunk["sleep_ms"] / 1000)
        return
    if chunk == DONE and play.gate is not None:
        play.at_gate.set()
        await play.gate.wait()
    data = bytes.fromhex(chunk["hex"]) if isinstance(chunk, dict) else chunk.encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()
    request.written += 1
    await asyncio.sleep(WRITE_PAUSE_SECONDS)
