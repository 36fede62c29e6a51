"""A provider on a real socket that does what a test tells it, and calls to send to it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from app.config.secret import Secret
from app.config.upstreams import Timeouts, Upstream
from app.entries.deltas import TextDelta
from app.formats.registry import FORMATS
from app.models.resolve import ModelChoice
from app.outbound.client import Clients
from app.outbound.exchange import AttemptFailed, Deltas, Item, Outgoing
from app.outbound.providers import Provider
from app.outbound.retry import Dispatch, RetryPolicy

CHAT = FORMATS["openai-chat"]
KEY = "sk-made-up-0123456789"
HELLO = (
    b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}\n\n',
    b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"lo"}}]}\n\n',
    b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
)

Handler = Callable[[web.Request, int], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """What the provider was sent, in order."""

    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    left: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def provider(handler: Handler, ssl_context: Any = None) -> AsyncIterator[Seen]:
    """A server on a free port; `handler(request, n)` answers the n-th request, from 1."""
    seen = Seen()

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.bodies.append(await request.read())
        seen.headers.append({name.lower(): value for name, value in request.headers.items()})
        seen.paths.append(request.path_qs)
        try:
            return await handler(request, len(seen.bodies))
        except (asyncio.CancelledError, ConnectionResetError):
            seen.left.set()
            raise

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ssl_context)
    await site.start()
    seen.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield seen
    finally:
        await runner.cleanup()


async def say(request: web.Request, *pieces: bytes, pause: float = 0.0, headers: dict[str, str] | None = None) -> web.StreamResponse:
    """Streams the pieces, each as a chunk of its own."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream", "x-request-id": "req-1", **(headers or {})})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
        await asyncio.sleep(pause)
    await response.write_eof()
    return response


async def hello(request: web.Request, n: int) -> web.StreamResponse:
    return await say(request, *HELLO)


def upstream(url: str, **more: Any) -> Upstream:
    facts: dict[str, Any] = {
        "base_url": url,
        "api_key": Secret(KEY),
        "allow_private_network": True,
        "timeouts": Timeouts(connect_seconds=2, idle_seconds=2),
    }
    return Upstream("fake", "openai-chat", **(facts | more))


def outgoing(to: Upstream, body: bytes = b'{"model":"m","messages":[]}', **more: Any) -> Outgoing:
    return Outgoing(to, CHAT, ModelChoice(to.name, "m", {}), body, lambda: CHAT.new_reader("fake"), **more)


class Naps(list[float]):
    """Stands in for sleeping: remembers the seconds and waits for none of them."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


async def run(call: Outgoing, clients: Clients, policy: RetryPolicy | None = None, naps: Naps | None = None) -> tuple[list[Item], Dispatch]:
    """All items of a call over HTTP."""
    sleep = Naps() if naps is None else naps
    dispatch = Dispatch(Provider(clients), call, policy or RetryPolicy(call.upstream.retries_max), sleep=sleep, chance=lambda: 0.0)
    async with aclosing(dispatch.items()) as items:
        return [item async for item in items], dispatch


def text(items: list[Item]) -> str:
    said = [delta for item in items if isinstance(item, Deltas) for delta in item.deltas]
    return "".join(delta.text for delta in said if isinstance(delta, TextDelta))


def failures(items: list[Item]) -> list[AttemptFailed]:
    return [item for item in items if isinstance(item, AttemptFailed)]


class Hosts(AbstractResolver):
    """A resolver with answers of its own; counts how often it is asked."""

    def __init__(self, **hosts: list[str]) -> None:
        self.hosts = {name.replace("_", "."): addresses for name, addresses in hosts.items()}
        self.asked = 0

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        self.asked += 1
        if host not in self.hosts:
            raise OSError("no such host")
        return [ResolveResult(hostname=host, host=one, port=port, family=socket.AF_INET, proto=0, flags=0) for one in self.hosts[host]]

    async def close(self) -> None:
        pass
