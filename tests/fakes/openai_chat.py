"""A Chat Completions endpoint that is as strict as the real one and answers with recorded streams.

A plain ASGI app. It checks each request by rules of its own (`openai_chat_rules`), answers a breach with 400 in OpenAI's error
shape, and otherwise plays the next of its streams, byte for byte, in pieces that do not heed the borders of events.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from app.config.secret import Secret
from app.config.upstreams import Timeouts, Upstream
from tests.fakes.openai_chat_rules import Breach, breaches

KEY = "sk-made-up-for-the-fake-0123456789"
PIECE_BYTES = 700


class FakeOpenAI:
    """`streams` are played one a request, the last one again and again. `served` are the bodies that passed, `refused` what did not."""

    def __init__(self, streams: Sequence[bytes], url: str = "") -> None:
        self.streams = list(streams)
        self.url = url
        self.served: list[Any] = []
        self.refused: list[tuple[Any, list[Breach]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", scope["type"]
        raw = await _read(receive)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if (scope["method"], scope["path"]) != ("POST", "/v1/chat/completions"):
            await _error(send, 404, Breach(f"Invalid URL ({scope['method']} {scope['path']})", None))
        elif headers.get("authorization") != f"Bearer {KEY}":
            await _error(send, 401, Breach("Incorrect API key provided.", None, "invalid_api_key"))
        else:
            await self._complete(raw, headers, send)

    async def _complete(self, raw: bytes, headers: dict[str, str], send: Any) -> None:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        found = breaches(body)
        if not headers.get("content-type", "").startswith("application/json"):
            found.append(Breach("Unsupported content type.", None))
        if isinstance(body, dict) and body.get("stream") is not True:
            found.append(Breach("This endpoint streams alone.", "stream"))
        if found:
            self.refused.append((body, found))
            await _error(send, 400, found[0])
            return
        stream = self.streams[min(len(self.served), len(self.streams) - 1)]
        self.served.append(body)
        start = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-request-id", f"req_fake_{len(self.served)}".encode())]
        await send({"type": "http.response.start", "status": 200, "headers": start})
        for at in range(0, len(stream), PIECE_BYTES):
            await send({"type": "http.response.body", "body": stream[at : at + PIECE_BYTES], "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})

    def upstream(self, name: str = "openai", **more: Any) -> Upstream:
        """This endpoint as the operator would configure it."""
        facts: dict[str, Any] = {"retries_max": 0, "timeouts": Timeouts(connect_seconds=5, idle_seconds=30)}
        return Upstream(name, "openai-chat", f"{self.url}/v1", Secret(KEY), allow_private_network=True, **(facts | more))


async def _read(receive: Any) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _error(send: Any, status: int, breach: Breach) -> None:
    error = {"message": breach.message, "type": "invalid_request_error", "param": breach.param, "code": breach.code}
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})


async def refuse(send: Any, status: int, words: str) -> None:
    """An answer in OpenAI's error shape."""
    await _error(send, status, Breach(words, None))


@asynccontextmanager
async def fake_openai(streams: Sequence[bytes], kind: type[FakeOpenAI] = FakeOpenAI) -> AsyncIterator[FakeOpenAI]:
    """The endpoint on a free port of this machine; `kind`: one that does more."""
    fake = kind(streams)
    listener = socket.create_server(("127.0.0.1", 0))
    fake.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(fake, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([listener]))  # the socket listens already: who connects early waits
    try:
        yield fake
    finally:
        server.should_exit = True
        await task
        listener.close()
