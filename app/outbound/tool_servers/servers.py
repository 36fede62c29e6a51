"""What services take of the tool servers: which there are, what they list, and one call of a tool."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Literal

from app.config import agent_limits
from app.config.tool_servers import ToolServer
from app.outbound.client import Clients
from app.outbound.egress import EgressRefused
from app.outbound.tool_servers.http import call_http
from app.outbound.tool_servers.results import RemoteTool, ToolFault, ToolOutcome, ToolRequest, failure, kept

log = logging.getLogger(__name__)


class ToolServers:
    """The operator's servers, by name. The MCP SDK takes a quarter of a second to load: only whoever has such a server waits for it."""

    def __init__(self, clients: Clients, servers: Mapping[str, ToolServer]) -> None:
        self._clients = clients
        self._servers = servers

    def kind_of(self, name: str) -> Literal["http", "mcp"] | None:
        """The kind of a server; None for one that is not configured."""
        server = self._servers.get(name)
        return None if server is None else server.kind

    async def call(self, name: str, request: ToolRequest) -> ToolOutcome:
        """Runs one call. Never raises: whatever goes wrong is an error result, and a line of the log that names the server alone."""
        server = self._servers.get(name)
        if server is None:
            return failure("tool-server-unknown")
        try:
            async with asyncio.timeout(server.timeout_seconds):
                return kept(await self._call(server, request))
        except TimeoutError:
            code = "tool-timeout"
        except EgressRefused:
            code = "tool-server-refused"
        except ToolFault as fault:
            code = fault.code
        except Exception as error:  # a turn does not fail because of what a server made of a call
            log.error("tool server %s: a call failed in an unforeseen way (%s)", name, type(error).__name__)
            return failure("tool-server-error")
        log.warning("tool server %s: a call came to nothing (%s)", name, code)
        return failure(code)

    async def list_tools(self, name: str) -> Mapping[str, RemoteTool]:
        """The tools of an MCP server, by name, within `TOOL_LIST_SECONDS_MAX`. Raises `ToolFault` where they cannot be had."""
        from app.outbound.tool_servers.mcp import list_mcp

        try:
            async with asyncio.timeout(agent_limits.TOOL_LIST_SECONDS_MAX):
                return await list_mcp(self._clients, self._servers[name])
        except TimeoutError:
            raise ToolFault("tool-timeout") from None
        except EgressRefused:
            raise ToolFault("tool-server-refused") from None

    async def _call(self, server: ToolServer, request: ToolRequest) -> ToolOutcome:
        if server.kind == "http":
            return await call_http(self._clients, server, request)
        from app.outbound.tool_servers.mcp import call_mcp

        return await call_mcp(self._clients, server, request)
