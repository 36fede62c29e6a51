"""Tools of an MCP server, over streamable HTTP by the official SDK: a session a call, begun, used and ended.

A kept session would be a state of one process that another replica does not have, and would have to be mended whenever a server forgets it.
The SDK sends through the service's own client, so that the guard over addresses holds; what goes wrong below it is heard here at once,
where the SDK would wait for an answer that cannot come.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import httpx
from mcp import types
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError
from pydantic import ValidationError

from app.config import agent_limits, limits
from app.config.tool_servers import ToolServer
from app.entries import lossless
from app.entries.parts import Part, Text
from app.outbound.client import Clients, timeouts_of
from app.outbound.egress import EgressRefused, check_url
from app.outbound.tool_servers.http import BROKEN, connection_fault, refusal, waits_of
from app.outbound.tool_servers.results import RemoteTool, ToolFault, ToolOutcome, ToolRequest, media_part

T = TypeVar("T")

_FILENAME_CHARS_MAX = 255
_HEARD_SECONDS = 0.05


async def call_mcp(clients: Clients, server: ToolServer, request: ToolRequest) -> ToolOutcome:
    """Calls the tool and reads the answer. Raises `ToolFault`; the caller bounds the time."""
    arguments = _arguments(request.arguments)

    async def call(session: ClientSession) -> types.CallToolResult:
        # The SDK's own `call_tool` would ask for the list of tools after each answer.
        params = types.CallToolRequestParams(name=request.tool, arguments=arguments)
        return await session.send_request(types.ClientRequest(types.CallToolRequest(params=params)), types.CallToolResult)

    found = await _in_session(clients, server, server.result_bytes_max, call)
    return await asyncio.to_thread(read_result, found)


def _arguments(text: str) -> Any:
    """The arguments as the SDK takes them. It would say null for a number beyond all floats, and breaks on half a surrogate pair."""
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise ToolFault("tool-arguments-invalid") from None
    return found


async def list_mcp(clients: Clients, server: ToolServer) -> dict[str, RemoteTool]:
    """The server's tools by name. Raises `ToolFault`; the caller bounds the time."""

    async def ask(session: ClientSession) -> dict[str, RemoteTool]:
        found: dict[str, RemoteTool] = {}
        cursor = None
        for _ in range(agent_limits.TOOL_LIST_PAGES_MAX):
            params = types.PaginatedRequestParams(cursor=cursor)
            page = await session.send_request(types.ClientRequest(types.ListToolsRequest(params=params)), types.ListToolsResult)
            for tool in page.tools:
                found.setdefault(tool.name, RemoteTool(tool.name, tool.description or "", tool.inputSchema))
            cursor = page.nextCursor
            if not cursor:
                break
        return found

    return await _in_session(clients, server, agent_limits.TOOL_LIST_BYTES_MAX, ask)


def read_result(result: types.CallToolResult) -> ToolOutcome:
    """The parts of a result; structured content counts where there is nothing else. Raises `ToolFault`."""
    if len(result.content) > limits.PARTS_PER_MESSAGE_MAX:
        raise ToolFault("tool-result-too-large")
    media: dict[str, tuple[str, bytes]] = {}
    parts = tuple([_part(block, media) for block in result.content])
    if not parts and result.structuredContent is not None:
        parts = (Text(lossless.dumps(result.structuredContent)),)
    return ToolOutcome(parts or (Text(""),), result.isError, None, media)


def _part(block: types.ContentBlock, media: dict[str, tuple[str, bytes]]) -> Part:
    match block:
        case types.TextContent():
            return Text(block.text)
        case types.ImageContent() | types.AudioContent():
            return _media(block.data, block.mimeType, None, media)
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return Text(resource.text)
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return _media(resource.blob, resource.mimeType or "application/octet-stream", str(resource.uri).rpartition("/")[2], media)
        case _:
            return Text(lossless.dumps(block.model_dump(mode="json", by_alias=True, exclude_none=True)))


def _media(data: str, media_type: str, filename: str | None, media: dict[str, tuple[str, bytes]]) -> Part:
    return media_part(data, media_type.partition(";")[0].strip().lower(), (filename or "")[:_FILENAME_CHARS_MAX] or None, media)


async def _in_session(clients: Clients, server: ToolServer, bytes_max: int, work: Callable[[ClientSession], Awaitable[T]]) -> T:
    """What `work` gives in a session of its own. Raises `ToolFault`."""
    check_url(server.url, allow_private_network=server.allow_private_network)
    fault: asyncio.Future[ToolFault] = asyncio.get_running_loop().create_future()
    headers = {name.lower(): secret.reveal() for name, secret in server.headers.items()}
    headers |= {"user-agent": "context-ledger", "accept-encoding": "identity"}
    watched = _Watched(clients.of(server), bytes_max, fault)
    async with httpx.AsyncClient(transport=watched, headers=headers, timeout=timeouts_of(waits_of(server)), trust_env=False) as client:
        task = asyncio.ensure_future(_session(server.url, client, fault, work))
        try:
            waited: set[asyncio.Future[Any]] = {task, fault}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if fault.done():
                raise fault.result()
            if task.cancelled() or task.exception() is not None:  # whatever the SDK's own tasks made of a broken connection
                raise ToolFault("tool-connection-lost")
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _session(url: str, client: httpx.AsyncClient, fault: asyncio.Future[ToolFault], work: Callable[[ClientSession], Awaitable[T]]) -> T:
    async def hear(message: object) -> None:
        if isinstance(message, Exception):  # an answer that the SDK could not read; nobody else is told
            _set(fault, "tool-result-invalid")

    async with streamable_http_client(url, http_client=client) as (read, write, _), ClientSession(read, write, message_handler=hear) as session:
        try:
            await session.initialize()
            return await work(session)
        except McpError as error:
            _set(fault, "tool-connection-lost" if error.error.code == types.CONNECTION_CLOSED else "tool-call-refused")
            raise
        except (ValidationError, RuntimeError):  # a result of another form, a version that is not spoken
            _set(fault, "tool-result-invalid")
            raise


def _set(fault: asyncio.Future[ToolFault], code: str) -> None:
    """The first thing that goes wrong is what went wrong."""
    if not fault.done():
        fault.set_result(ToolFault(code))


class _Watched(httpx.AsyncBaseTransport):
    """Carries one session by the service's client, holds its answers to a size, and tells `fault` of whatever ends it.

    A server's own stream is never opened: nothing that a server says by itself is listened to. Redirects are not followed.
    """

    def __init__(self, client: httpx.AsyncClient, bytes_max: int, fault: asyncio.Future[ToolFault]) -> None:
        self._client = client
        self._bytes_max = bytes_max
        self._fault = fault

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(405)
        if request.method == "DELETE":
            async with asyncio.timeout(agent_limits.TOOL_SESSION_END_SECONDS_MAX):
                response = await self._client.send(request, stream=True)
                await response.aclose()  # its body says nothing, and could take what the call has left of its time
            return httpx.Response(response.status_code)
        try:
            response = await self._answered(request)
        except EgressRefused:
            _set(self._fault, "tool-server-refused")
            raise
        except BROKEN as error:
            _set(self._fault, connection_fault(error).code)
            raise
        code = refusal(response)
        if code is not None:
            _set(self._fault, code)
            await response.aclose()
            raise httpx.ReadError("not an answer that is taken")
        return response

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        response = await self._client.send(request, stream=True)
        return httpx.Response(response.status_code, headers=response.headers, stream=_Held(response, self._bytes_max, self._fault))


class _Held(httpx.AsyncByteStream):
    """The body of one answer, up to its limit."""

    def __init__(self, response: httpx.Response, bytes_max: int, fault: asyncio.Future[ToolFault]) -> None:
        self._response = response
        self._bytes_max = bytes_max
        self._fault = fault

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._bytes_max
        try:
            async for chunk in self._response.aiter_raw():
                left -= len(chunk)
                if left < 0:
                    _set(self._fault, "tool-result-too-large")
                    raise httpx.ReadError("larger than what is taken")
                yield chunk
        except BROKEN:
            _set(self._fault, "tool-connection-lost")
            raise
        if self._response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            # The SDK leaves a stream at the answer, so none was in this one. What it made of the events is heard first.
            asyncio.get_running_loop().call_later(_HEARD_SECONDS, _set, self._fault, "tool-connection-lost")

    async def aclose(self) -> None:
        await self._response.aclose()
