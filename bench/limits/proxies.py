"""The limits of a stream: what passes bytes on and does nothing else.

`httpx` and `httpx-aiohttp` are raw ASGI under uvicorn; `tee` is aiohttp on both sides and keeps a copy of what went by.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import aiohttp
import httpx
import uvicorn
from aiohttp import web
from httpx_aiohttp import AiohttpTransport

CONNECTIONS_MAX = 1000
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
STREAM_HEADERS = [(b"content-type", b"text/event-stream")]


def listener() -> socket.socket:
    """A listening socket on a free loopback port."""
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    found.listen(1024)
    return found


class PassThrough:
    """Raw ASGI: each chunk that httpx hands over goes out as one body message."""

    def __init__(self, upstream: str, transport: httpx.AsyncBaseTransport | None) -> None:
        self._url = upstream + "/v1/chat/completions"
        limits = httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX)
        self._client = httpx.AsyncClient(transport=transport, limits=limits, timeout=60, trust_env=False)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        async with self._client.stream("POST", self._url, content=body, headers={"content-type": "application/json"}) as response:
            await send({"type": "http.response.start", "status": response.status_code, "headers": STREAM_HEADERS})
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def serve_pass_through(upstream: str, over_aiohttp: bool) -> None:
    """Serves until it is ended; prints its port first."""
    sock = listener()
    print(sock.getsockname()[1], flush=True)
    transport = AiohttpTransport(limits=httpx.Limits(max_connections=CONNECTIONS_MAX)) if over_aiohttp else None
    config = uvicorn.Config(PassThrough(upstream, transport), lifespan="off", access_log=False, log_level="error")
    await uvicorn.Server(config).serve(sockets=[sock])


async def serve_tee(upstream: str) -> None:
    """Serves until it is ended; prints its port first."""
    url = upstream + "/v1/chat/completions"
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX), auto_decompress=False)

    async def handle(request: web.Request) -> web.StreamResponse:
        kept: list[bytes] = []
        async with session.post(url, data=await request.read(), headers={"content-type": "application/json"}) as answer:
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                kept.append(chunk)
                await response.write(chunk)
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    sock = listener()
    await web.SockSite(runner, sock).start()
    print(sock.getsockname()[1], flush=True)
    await asyncio.Event().wait()
