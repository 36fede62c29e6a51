"""Tool servers on real sockets: a strict HTTP endpoint that checks every request, and an MCP server of the official SDK."""

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import uvicorn
from mcp.server.fastmcp import FastMCP

from app.config.secret import Secret
from app.config.tool_servers import ToolServer
from app.outbound.tool_servers.results import ToolRequest

KEY = b"signed-by-the-service-0123456789"
SIGNING_KEY = Secret("whsec_" + base64.b64encode(KEY).decode())
TOKEN = "Bearer tool-token-0123456789"
FIELDS = ["tool", "tool_call_id", "arguments", "session_id", "turn_id"]


def asked(tool: str = "lookup", arguments: str = "{}", **changes: Any) -> ToolRequest:
    given = {"tool_call_id": "call_1", "session_id": "ses_1", "turn_id": "trn_1", "request_id": "msg_1"}
    return ToolRequest(tool=tool, arguments=arguments, **{**given, **changes})


def configured(url: str, kind: Any = "http", name: str = "desk", **changes: Any) -> ToolServer:
    given: dict[str, Any] = {"timeout_seconds": 5.0, "allow_private_network": True, "headers": {"Authorization": Secret(TOKEN)}}
    given |= {"signing_key": SIGNING_KEY} if kind == "http" else {}
    return ToolServer(name=name, kind=kind, url=url, **{**given, **changes})


@dataclass
class Endpoint:
    """An ASGI app that refuses what is not signed, not JSON or not of the documented form, and else answers as a test says."""

    status: int = 200
    media_type: str = "application/json"
    answer: bytes = b'{"content":"fine"}'
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    pause_seconds: float = 0.0
    drop: bool = False
    url: str = ""
    taken: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    sent_bytes: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        fault = self._fault(scope, headers, body)
        if fault is not None:
            self.faults.append(fault)
            await self._send(send, 422, b"{}")
            return
        self.bodies.append(body)
        self.taken.append(json.loads(body))
        self.ids.append(headers["webhook-id"])
        await asyncio.sleep(self.pause_seconds)
        await self._send(send, self.status, self.answer)

    def _fault(self, scope: Any, headers: dict[str, str], body: bytes) -> str | None:
        signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + body
        wanted = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
        if scope["method"] != "POST" or headers.get("content-type") != "application/json":
            return "no POST of JSON"
        if headers.get("authorization") != TOKEN:
            return "no token"
        if headers.get("webhook-signature") != wanted or abs(time.time() - int(headers["webhook-timestamp"])) > 60:
            return "not signed"
        found = json.loads(body)
        if list(found) != FIELDS or not all(isinstance(found[name], str) and found[name] for name in FIELDS if name != "arguments"):
            return "not of the documented form"
        return None

    async def _send(self, send: Any, status: int, body: bytes) -> None:
        headers = [(b"content-type", self.media_type.encode()), *self.headers]
        if self.drop:
            headers.append((b"content-length", str(len(body) + 10).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for at in range(0, len(body), 2**14):
            await send({"type": "http.response.body", "body": body[at : at + 2**14], "more_body": True})
            self.sent_bytes += len(body[at : at + 2**14])
        if self.drop:
            raise ConnectionResetError
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def served(app: Any, lifespan: Literal["on", "off"] = "off") -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """The app on a free port of loopback; gives its address, and what ends it at once, connections and all."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan=lifespan, ws="none", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([listener]))  # the socket listens already: who connects early waits

    def kill() -> None:
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        for one in server.servers:
            one.close()
        listener.close()

    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", kill
    finally:
        server.should_exit = True
        await task
        listener.close()


@asynccontextmanager
async def endpoint(**answers: Any) -> AsyncIterator[Endpoint]:
    found = Endpoint(**answers)
    async with served(found) as (url, _):
        found.url = url + "/tools"
        yield found


async def taken(place: Endpoint, number: int, seconds: float = 20.0) -> None:
    """Waits until the endpoint has taken so many requests."""
    deadline = time.monotonic() + seconds
    while len(place.taken) < number:
        assert time.monotonic() < deadline, f"{len(place.taken)} of {number} requests came"
        await asyncio.sleep(0.02)


@dataclass
class McpPlace:
    """A running MCP server: where it is, what ends it, and what its tools were called with."""

    url: str
    kill: Callable[[], None]
    server: FastMCP
    calls: list[Any]
    headers: list[dict[str, str]]
    methods: list[str]


@asynccontextmanager
async def mcp_server(define: Callable[[FastMCP, list[Any]], None], *, stateless: bool = False, json_answers: bool = False) -> AsyncIterator[McpPlace]:
    """An MCP server of the official SDK over streamable HTTP; `define` gives it tools that note their calls."""
    server = FastMCP("notes", stateless_http=stateless, json_response=json_answers)
    calls: list[Any] = []
    define(server, calls)
    inner = server.streamable_http_app()
    headers: list[dict[str, str]] = []
    methods: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            methods.append(scope["method"])
        await inner(scope, receive, send)

    async with served(app, "on") as (url, kill):
        yield McpPlace(url + "/mcp", kill, server, calls, headers, methods)
