"""The HTTP clients: httpx over aiohttp's transport, with explicit limits, without redirects, cookies or the environment's proxies.

Two of them, since a connection pool must not serve an upstream that may reach private networks and one that may not.
"""

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Protocol

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver
from httpx_aiohttp import AiohttpTransport
from yarl import URL

from app.config import limits
from app.config.upstreams import Timeouts
from app.outbound.egress import GuardedResolver

_KEEPALIVE_SECONDS = 30.0


def timeouts_of(timeouts: Timeouts) -> httpx.Timeout:
    """The waits of one request. aiohttp's wait for a pooled connection includes the time to connect, look-up included."""
    return httpx.Timeout(
        connect=timeouts.connect_seconds,
        read=timeouts.idle_seconds,
        write=timeouts.idle_seconds,
        pool=timeouts.connect_seconds + limits.POOL_WAIT_SECONDS_MAX,
    )


def sent_url(url: httpx.URL) -> str:
    """The URL as it will stand in the request: aiohttp takes escapes off that its place in a URL does not need (`%3A` in a path)."""
    return str(URL(str(url)))


class Place(Protocol):
    """Somewhere to connect to: an upstream or a tool server."""

    @property
    def allow_private_network(self) -> bool: ...


class Clients:
    """Opened lazily inside the running loop, closed with `aclose`. `connections_max` bounds each of the two pools."""

    def __init__(self, *, connections_max: int = 1000, resolver: AbstractResolver | None = None) -> None:
        self._connections_max = connections_max
        self._resolver = resolver
        self._guarded: httpx.AsyncClient | None = None
        self._open: httpx.AsyncClient | None = None

    def of(self, place: Place) -> httpx.AsyncClient:
        """The client that may reach this place."""
        if place.allow_private_network:
            self._open = self._open or self._client(self._resolver)
            return self._open
        self._guarded = self._guarded or self._client(GuardedResolver(self._resolver or aiohttp.ThreadedResolver()))
        return self._guarded

    async def aclose(self) -> None:
        """Closes all connections."""
        for client in (self._guarded, self._open):
            if client is not None:
                await client.aclose()
        self._guarded = self._open = None

    def _client(self, resolver: AbstractResolver | None) -> httpx.AsyncClient:
        context = httpx.create_ssl_context()  # the bundled authorities, or those of SSL_CERT_FILE

        def session() -> aiohttp.ClientSession:
            return aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections_max, ssl=context, resolver=resolver, keepalive_timeout=_KEEPALIVE_SECONDS, use_dns_cache=False
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                max_field_size=limits.HEADER_BYTES_MAX,
                max_line_size=limits.HEADER_BYTES_MAX,
            )

        pool = httpx.Limits(max_connections=self._connections_max, max_keepalive_connections=self._connections_max)
        transport = AiohttpTransport(verify=context, trust_env=False, limits=pool, client=session)
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        return httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None, cookies=no_cookies)
