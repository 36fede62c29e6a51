"""Fetches what an image or a file by URL names, through the egress guard, once, bounded in time, size and hops."""

import asyncio
import re
from urllib.parse import urljoin

import aiohttp
import httpx

from app.config import limits
from app.config.upstreams import Timeouts, Upstream
from app.formats.protocols import UpstreamFault
from app.outbound.client import Clients, timeouts_of
from app.outbound.egress import check_url

_MEDIA_TYPE = re.compile(r"(?:image|audio|video)/[a-z0-9.+-]{1,80}|application/pdf")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class MediaFetcher:
    """Asks as nobody: no key, no cookie, no header of an upstream's. `private`: whether it may reach private networks."""

    def __init__(self, clients: Clients, *, private: bool) -> None:
        seconds = limits.MEDIA_FETCH_SECONDS_MAX
        self._clients = clients
        self._from = Upstream("media", "none", allow_private_network=private, timeouts=Timeouts(seconds, seconds))

    async def fetch(self, url: str) -> tuple[str, bytes] | None:
        """Media type and bytes; None for whatever cannot be had: the URL stays what it was, and is a loss where it cannot be sent."""
        try:
            async with asyncio.timeout(limits.MEDIA_FETCH_SECONDS_MAX):
                return await self._hops(url)
        except (UpstreamFault, httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError, TimeoutError):
            return None

    async def _hops(self, url: str) -> tuple[str, bytes] | None:
        for _ in range(limits.MEDIA_REDIRECTS_MAX + 1):
            check_url(url, allow_private_network=self._from.allow_private_network)
            client = self._clients.of(self._from)
            request = client.build_request("GET", url, headers={"accept": "image/*, */*;q=0.5"}, timeout=timeouts_of(self._from.timeouts))
            response = await client.send(request, stream=True)
            try:
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    url = urljoin(url, response.headers["location"])
                    continue
                return await _content(response)
            finally:
                await response.aclose()
        return None


async def _content(response: httpx.Response) -> tuple[str, bytes] | None:
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code != 200 or not _MEDIA_TYPE.fullmatch(media_type):
        return None
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > limits.BLOB_BYTES_MAX:
            return None
    return (media_type, bytes(content)) if content else None
