"""Tools of an MCP server of the official SDK on loopback: what its answers become, and that each way to fail is an error result."""

import asyncio
import base64
import io
import json
from typing import Any

import pytest
from mcp import types
from mcp.server.fastmcp import FastMCP, Image
from pydantic import AnyUrl

from app.config import agent_limits, limits
from app.entries.ids import blob_digest
from app.entries.parts import Blob, Media, Text
from app.outbound.client import Clients
from app.outbound.tool_servers.mcp import read_result
from app.outbound.tool_servers.results import DETAILS, RemoteTool, ToolFault
from app.outbound.tool_servers.servers import ToolServers
from app.telemetry.logs import configure_logs
from tests.outbound.kit import Hosts
from tests.outbound.tool_servers.kit import TOKEN, asked, configured, mcp_server, served

PNG = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4) + b"IHDR" + (3).to_bytes(4) + (2).to_bytes(4) + bytes(9)
WAYS = [(False, False), (False, True), (True, False), (True, True)]
"""With and without sessions, answers as a stream and as JSON."""


def define(server: FastMCP, calls: list[Any]) -> None:
    @server.tool()
    async def add(a: int, b: int | None = None) -> int:
        """Adds two numbers."""
        calls.append((a, b))
        return a + (b or 0)

    @server.tool()
    async def echo(value: dict[str, Any]) -> str:
        return json.dumps(value)

    @server.tool(structured_output=False)
    async def draw() -> Image:
        return Image(data=PNG, format="jpeg")

    @server.tool()
    async def broken() -> str:
        raise ValueError("The database is away.")

    @server.tool()
    async def slow() -> str:
        calls.append("slow")
        await asyncio.sleep(30)
        return "late"

    @server.tool()
    async def large() -> str:
        return "x" * 2**18


@pytest.fixture
def servers(clients):
    def make(url, **changes):
        return ToolServers(clients, {"notes": configured(url, "mcp", "notes", **changes)})

    return make


@pytest.mark.req("T-23")
@pytest.mark.parametrize(("stateless", "json_answers"), WAYS)
async def test_a_tool_is_listed_and_called(servers, stateless, json_answers):
    async with mcp_server(define, stateless=stateless, json_answers=json_answers) as place:
        found = servers(place.url)
        tools = await found.list_tools("notes")
        assert list(tools) == ["add", "echo", "draw", "broken", "slow", "large"]
        assert (tools["add"].description, tools["add"].parameters["required"]) == ("Adds two numbers.", ["a"])
        outcome = await found.call("notes", asked("add", '{"a": 40, "b": 2}'))
        assert (outcome.parts, outcome.is_error, outcome.code) == ((Text("42"),), False, None)
        assert place.calls == [(40, 2)]
        assert all(headers["authorization"] == TOKEN for headers in place.headers)
        assert "GET" not in place.methods
        assert place.methods.count("DELETE") == (0 if stateless else 2)


async def test_arguments_come_as_they_are(servers):
    value = {"none": None, "list": [None, 1.5], "big": 2**80, "text": "ä\0"}
    async with mcp_server(define) as place:
        outcome = await servers(place.url).call("notes", asked("echo", json.dumps({"value": value})))
    assert json.loads(outcome.parts[0].text) == value


@pytest.mark.req("X-18")
async def test_a_picture_is_a_blob_of_the_type_that_its_bytes_are_of(servers):
    async with mcp_server(define) as place:
        outcome = await servers(place.url).call("notes", asked("draw"))
    digest = blob_digest(PNG)
    assert outcome.parts == (Media("image", Blob(digest, "image/png", len(PNG), 3, 2)),)
    assert outcome.media == {digest: ("image/png", PNG)}


@pytest.mark.parametrize(("stateless", "json_answers"), WAYS)
async def test_a_tools_own_error_keeps_its_words(servers, stateless, json_answers):
    async with mcp_server(define, stateless=stateless, json_answers=json_answers) as place:
        outcome = await servers(place.url).call("notes", asked("broken"))
        assert (outcome.is_error, outcome.code) == (True, None)
        assert "The database is away." in outcome.parts[0].text
        assert (await servers(place.url).call("notes", asked("unheard-of"))).is_error


@pytest.mark.parametrize(("stateless", "json_answers"), WAYS)
async def test_an_oversized_answer(servers, stateless, json_answers):
    async with mcp_server(define, stateless=stateless, json_answers=json_answers) as place:
        assert (await servers(place.url, result_bytes_max=2**16).call("notes", asked("large"))).code == "tool-result-too-large"
        assert not (await servers(place.url).call("notes", asked("large"))).is_error


@pytest.mark.parametrize(("stateless", "json_answers"), WAYS)
async def test_slowness(servers, stateless, json_answers):
    async with mcp_server(define, stateless=stateless, json_answers=json_answers) as place:
        started = asyncio.get_running_loop().time()
        assert (await servers(place.url, timeout_seconds=0.5).call("notes", asked("slow"))).code == "tool-timeout"
        assert asyncio.get_running_loop().time() - started < 5
        assert place.calls == ["slow"]


@pytest.mark.parametrize(("stateless", "json_answers"), WAYS)
async def test_a_server_that_is_killed_in_mid_call(servers, stateless, json_answers):
    async with mcp_server(define, stateless=stateless, json_answers=json_answers) as place:
        found = servers(place.url, timeout_seconds=20)
        task = asyncio.create_task(found.call("notes", asked("slow")))
        for _ in range(1000):
            if place.calls:
                break
            await asyncio.sleep(0.01)
        place.kill()
        outcome = await asyncio.wait_for(task, 10)
        assert (outcome.code, outcome.parts) == ("tool-connection-lost", (Text(DETAILS["tool-connection-lost"]),))
        assert (await found.call("notes", asked("add", '{"a":1}'))).code == "tool-server-unreachable"
        with pytest.raises(ToolFault) as caught:
            await found.list_tools("notes")
        assert caught.value.code == "tool-server-unreachable"


async def test_a_call_that_is_cancelled_leaves_nothing_behind(servers):
    async with mcp_server(define) as place:
        before = asyncio.all_tasks()
        task = asyncio.create_task(servers(place.url).call("notes", asked("slow")))
        for _ in range(1000):
            if place.calls:
                break
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert place.methods[-1] == "DELETE"
        ours = [one for one in asyncio.all_tasks() - before if "app/" in str(one.get_coro())]
        assert ours == []


class Plain:
    """An ASGI app that answers every request alike, whatever it is."""

    def __init__(self, status: int, body: bytes, media_type: str = "application/json", headers: Any = ()) -> None:
        self.status, self.body, self.media_type, self.headers = status, body, media_type, headers
        self.seen = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen += 1
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", self.media_type.encode()), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


REFUSAL = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"a secret of the server"}}'
OLD = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


@pytest.mark.parametrize(
    ("app", "code"),
    [
        (Plain(500, b"a secret of the server"), "tool-server-error"),
        (Plain(401, b"{}"), "tool-call-refused"),
        (Plain(404, b"{}"), "tool-call-refused"),
        (Plain(307, b"", headers=[(b"location", b"/elsewhere")]), "tool-server-error"),
        (Plain(200, REFUSAL), "tool-call-refused"),
        (Plain(200, b"no json"), "tool-result-invalid"),
        (Plain(200, b'{"jsonrpc":"2.0","id":0,"result":{}}'), "tool-result-invalid"),
        (Plain(200, json.dumps({"jsonrpc": "2.0", "id": 0, "result": OLD}).encode()), "tool-result-invalid"),
        (Plain(200, b"<p>", "text/html"), "tool-result-invalid"),
        (Plain(200, b"data: no json\n\n", "text/event-stream"), "tool-result-invalid"),
        (Plain(200, b"zip", headers=[(b"content-encoding", b"gzip")]), "tool-result-invalid"),
    ],
)
async def test_what_is_no_mcp_server(servers, app, code):
    async with served(app) as (url, _):
        outcome = await asyncio.wait_for(servers(url, timeout_seconds=30).call("notes", asked("add")), 10)
        assert (outcome.parts, outcome.is_error, outcome.code) == ((Text(DETAILS[code]),), True, code)
        assert app.seen == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "inner.test"])
async def test_a_private_address_is_never_connected_to(host):
    clients = Clients(resolver=Hosts(inner_test=["127.0.0.1"]))
    async with mcp_server(define) as place:
        url = place.url.replace("127.0.0.1", host)
        servers = ToolServers(clients, {"notes": configured(url, "mcp", allow_private_network=False)})
        assert (await servers.call("notes", asked("add", '{"a":1}'))).code == "tool-server-refused"
        with pytest.raises(ToolFault) as caught:
            await servers.list_tools("notes")
        assert caught.value.code == "tool-server-refused"
        assert place.methods == []
    await clients.aclose()


async def test_a_list_of_many_pages(servers, monkeypatch):
    def pages(server: FastMCP, calls: list[Any]) -> None:
        @server._mcp_server.list_tools()
        async def listed(request: types.ListToolsRequest) -> types.ListToolsResult:
            at = int((request.params and request.params.cursor) or 0)
            calls.append(at)
            tool = types.Tool(name=f"t{at}", description=None, inputSchema={"type": "object"})
            return types.ListToolsResult(tools=[tool], nextCursor=str(at + 1))

    monkeypatch.setattr(agent_limits, "TOOL_LIST_PAGES_MAX", 3)
    async with mcp_server(pages) as place:
        found = await servers(place.url).list_tools("notes")
        assert found == {name: RemoteTool(name, "", {"type": "object"}) for name in ("t0", "t1", "t2")}
        assert place.calls == [0, 1, 2]


async def test_a_list_that_does_not_come_in_time(servers, monkeypatch):
    monkeypatch.setattr(agent_limits, "TOOL_LIST_SECONDS_MAX", 0.3)

    def define_slow(server: FastMCP, calls: list[Any]) -> None:
        @server._mcp_server.list_tools()
        async def listed() -> list[types.Tool]:
            await asyncio.sleep(30)
            return []

    async with mcp_server(define_slow) as place:
        with pytest.raises(ToolFault) as caught:
            await servers(place.url).list_tools("notes")
        assert caught.value.code == "tool-timeout"


def test_every_kind_of_content():
    link = types.ResourceLink(type="resource_link", name="a", uri=AnyUrl("file:///a.txt"))
    result = types.CallToolResult(
        content=[
            types.TextContent(type="text", text="one"),
            types.AudioContent(type="audio", data=base64.b64encode(b"wav").decode(), mimeType="audio/wav; rate=1"),
            types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri=AnyUrl("file:///b.txt"), text="two")),
            types.EmbeddedResource(type="resource", resource=types.BlobResourceContents(uri=AnyUrl("file:///c/d.bin"), blob="AAAA")),
            link,
        ]
    )
    outcome = read_result(result)
    audio, binary = blob_digest(b"wav"), blob_digest(bytes(3))
    assert outcome.parts == (
        Text("one"),
        Media("file", Blob(audio, "audio/wav", 3)),
        Text("two"),
        Media("file", Blob(binary, "application/octet-stream", 3), filename="d.bin"),
        Text('{"name":"a","uri":"file:///a.txt","type":"resource_link"}'),
    )
    assert outcome.media == {audio: ("audio/wav", b"wav"), binary: ("application/octet-stream", bytes(3))}


def test_structured_content_counts_where_there_is_nothing_else():
    assert read_result(types.CallToolResult(content=[], structuredContent={"n": 1})).parts == (Text('{"n":1}'),)
    assert read_result(types.CallToolResult(content=[])).parts == (Text(""),)
    text = types.TextContent(type="text", text="one")
    assert read_result(types.CallToolResult(content=[text], structuredContent={"n": 1})).parts == (Text("one"),)


@pytest.mark.parametrize(("data", "code"), [("%%", "tool-result-invalid"), ("A" * (limits.BLOB_BYTES_MAX * 4 // 3 + 8), "tool-result-too-large")])
def test_media_that_cannot_be_kept(data, code):
    result = types.CallToolResult(content=[types.ImageContent(type="image", data=data, mimeType="image/png")])
    with pytest.raises(ToolFault) as caught:
        read_result(result)
    assert caught.value.code == code


OURS = ("app.", "mcp.client", "mcp.shared", "root")


async def test_no_secret_url_or_content_is_in_a_result_or_a_line_of_the_log(servers):
    stream = io.StringIO()
    handler = configure_logs("debug", "json", [], stream)
    async with mcp_server(define) as place, served(Plain(200, b'{"secret":"of the server"}')) as (url, _):
        for one in (place.url, url):
            outcome = await servers(one, timeout_seconds=0.5).call("notes", asked("slow", '{"q":"the prompt"}'))
            lines = [line for line in map(json.loads, stream.getvalue().splitlines()) if line["logger"].startswith(OURS)]
            said = f"{outcome}{lines}"
            assert "tool server notes: a call came to nothing" in said
            assert not any(word in said for word in (TOKEN, "the prompt", "of the server", "127.0.0.1", "/mcp"))
    handler.close()
