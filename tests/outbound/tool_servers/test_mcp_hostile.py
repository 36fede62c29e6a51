"""MCP servers that speak the protocol and mean no good, or break in its middle."""

import asyncio
import json
from typing import Any

import pytest

from app.entries.parts import Text
from app.outbound.tool_servers.results import DETAILS
from app.outbound.tool_servers.servers import ToolServers
from tests.outbound.tool_servers.kit import asked, configured, served

READY = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
FINE = b'{"content":[{"type":"text","text":"fine"}]}'


class Speaker:
    """An ASGI app that begins a session as it should be, and answers calls and the end of the session as a test says."""

    def __init__(self, stream: bytes | None = None, farewell_bytes: int = 0) -> None:
        self.stream, self.farewell_bytes = stream, farewell_bytes
        self.calls = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["method"] == "DELETE":
            await self._drip(send)
            return
        asked_for = json.loads(body)
        if "id" not in asked_for:
            await self._send(send, 202, b"", b"application/json")
            return
        if asked_for["method"] == "initialize":
            result = json.dumps(READY).encode()
        else:
            self.calls += 1
            result = FINE
            if self.stream is not None:
                await self._send(send, 200, self.stream, b"text/event-stream")
                return
        await self._send(send, 200, b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (asked_for["id"], result), b"application/json")

    async def _send(self, send: Any, status: int, body: bytes, media_type: bytes) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", media_type), (b"mcp-session-id", b"s1")]})
        await send({"type": "http.response.body", "body": body})

    async def _drip(self, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        for _ in range(self.farewell_bytes):
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            await asyncio.sleep(0.2)
        await send({"type": "http.response.body", "body": b""})


async def called(clients: Any, app: Speaker, arguments: str = "{}", **changes: Any) -> Any:
    async with served(app) as (url, _):
        servers = ToolServers(clients, {"notes": configured(url, "mcp", "notes", **{"timeout_seconds": 30, **changes})})
        return await asyncio.wait_for(servers.call("notes", asked("add", arguments)), 8)


async def test_an_end_that_is_dripped_takes_nothing_from_the_answer(clients):
    outcome = await called(clients, Speaker(farewell_bytes=60))
    assert outcome.parts == (Text("fine"),)


async def test_the_answer_counts_wherever_the_stream_ends(clients):
    stream = b'data: {"jsonrpc":"2.0","id":1,"result":%s}\n\n' % FINE
    assert (await called(clients, Speaker(stream=stream))).parts == (Text("fine"),)


@pytest.mark.parametrize("stream", [b": nothing\n\n", b"id: 1\nretry: 60000\ndata:\n\n", b""])
async def test_a_stream_that_ends_without_an_answer_is_a_lost_connection_at_once(clients, stream):
    outcome = await called(clients, Speaker(stream=stream))
    assert outcome.code == "tool-connection-lost"


@pytest.mark.parametrize("arguments", ['{"a":1e400}', '{"a":"\\ud800"}', '{"a":' + "9" * 5000 + "}"])
async def test_arguments_that_cannot_be_sent_reach_no_server(clients, arguments):
    app = Speaker()
    outcome = await called(clients, app, arguments)
    assert (outcome.code, outcome.parts) == ("tool-arguments-invalid", (Text(DETAILS["tool-arguments-invalid"]),))
    assert app.calls == 0
