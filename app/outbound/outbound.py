"""What services take from this room: the way to an upstream, and how often it is tried."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from app.config.tool_servers import ToolServer
from app.config.upstreams import SCRIPTED, Upstream
from app.formats.protocols import Format
from app.models.resolve import Limits, ModelChoice
from app.outbound.client import Clients
from app.outbound.exchange import Channel, Outgoing
from app.outbound.media import MediaFetcher
from app.outbound.model_lists import listed_limits
from app.outbound.providers import Provider
from app.outbound.retry import Dispatch, RetryPolicy
from app.outbound.scripted import RETRY_WAIT_MS_MAX, Scripted
from app.outbound.tool_servers.servers import ToolServers


class Outbound:
    """Made once in the lifespan, closed with it."""

    def __init__(self, *, connections_max: int = 1000) -> None:
        self._clients = Clients(connections_max=connections_max)
        self._provider = Provider(self._clients)
        self._scripted = Scripted()

    def channel_of(self, upstream: Upstream) -> Channel:
        """The channel that reaches an upstream."""
        return self._scripted if upstream.name == SCRIPTED else self._provider

    def retry_of(self, upstream: Upstream) -> RetryPolicy:
        """How often an upstream is tried, and how soon again."""
        if upstream.name == SCRIPTED:
            return RetryPolicy(upstream.retries_max, retry_after_ms_max=sys.maxsize, cap_ms=RETRY_WAIT_MS_MAX)
        return RetryPolicy(upstream.retries_max)

    def media(self, *, private: bool) -> MediaFetcher:
        """What fetches images and files by URL."""
        return MediaFetcher(self._clients, private=private)

    def tool_servers(self, servers: Mapping[str, ToolServer]) -> ToolServers:
        """The way to the operator's tool servers."""
        return ToolServers(self._clients, servers)

    def dispatch(self, outgoing: Outgoing) -> Dispatch:
        """A call, ready to be iterated."""
        return Dispatch(self.channel_of(outgoing.upstream), outgoing, self.retry_of(outgoing.upstream))

    async def count(self, upstream: Upstream, form: Format, model: ModelChoice, document: Mapping[str, Any]) -> int | None:
        """The tokens of a request as the provider counts them; None where it does not, or failed to. Never raises."""
        return None if upstream.name == SCRIPTED else await self._provider.count(upstream, form, model, document)

    async def listed_limits(self, upstreams: Iterable[Upstream]) -> Mapping[str, Mapping[str, Limits]]:
        """What those providers say of their own models that the operator has asked: upstream → model → limits. Never fails."""
        return await listed_limits(self._clients, upstreams)

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._clients.aclose()
