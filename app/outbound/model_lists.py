"""Providers' own lists of their models, asked for once at the start where the operator says `metadata = true` (S3-04).

Whatever goes wrong is harmless: the list is done without, and the log says so. Nothing of what a provider sends reaches the log.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

import aiohttp
import httpx
import orjson

from app.config import limits
from app.config.upstreams import Upstream
from app.formats.protocols import UpstreamFault
from app.formats.registry import FORMATS
from app.models.metadata import PATHS, read_models
from app.models.resolve import Limits
from app.outbound.client import Clients, timeouts_of
from app.outbound.egress import check_url
from app.outbound.providers import connection_fault, request_headers

log = logging.getLogger(__name__)


async def listed_limits(clients: Clients, upstreams: Iterable[Upstream]) -> dict[str, Mapping[str, Limits]]:
    """Upstream → model → its limits, of those that are to be asked and answer in time; all at once, within `MODEL_LIST_SECONDS_MAX`."""
    asked = [upstream for upstream in upstreams if upstream.metadata]
    found = await asyncio.gather(*(_limits_of(clients, upstream) for upstream in asked))
    return {upstream.name: models for upstream, models in zip(asked, found, strict=True) if models}


async def _limits_of(clients: Clients, upstream: Upstream) -> Mapping[str, Limits]:
    try:
        async with asyncio.timeout(limits.MODEL_LIST_SECONDS_MAX):
            found = read_models(await _document(clients, upstream))
    except TimeoutError:
        log.warning("upstream %s: its list of models did not come in time", upstream.name)
    except UpstreamFault as fault:
        log.warning("upstream %s: its models could not be listed: %s", upstream.name, fault.detail)
    else:
        log.info("upstream %s: limits of %d models were read off its own list", upstream.name, len(found))
        return found
    return {}


async def _document(clients: Clients, upstream: Upstream) -> object:
    """The parsed list. Raises `UpstreamFault`."""
    if upstream.dialect not in PATHS:
        raise UpstreamFault("upstream-error", "Servers of its dialect say no limits.")
    url = f"{upstream.base_url or ''}{PATHS[upstream.dialect]}"
    check_url(url, allow_private_network=upstream.allow_private_network)
    client = clients.of(upstream)
    request = client.build_request("GET", url, headers=_headers(upstream), timeout=timeouts_of(upstream.timeouts))
    try:
        response = await client.send(request, stream=True)
    except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError) as error:
        raise connection_fault(error) from None
    body = bytearray()
    try:
        if response.status_code != 200:
            raise UpstreamFault("upstream-error", f"The provider answered with status {response.status_code}.")
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > limits.MODEL_LIST_BYTES_MAX:
                raise UpstreamFault("upstream-error", f"The list is longer than {limits.MODEL_LIST_BYTES_MAX} bytes.")
    except (httpx.HTTPError, aiohttp.ClientError, OSError):
        raise UpstreamFault("upstream-error", "The connection broke.") from None
    finally:
        await response.aclose()
    try:
        return orjson.loads(bytes(body))
    except ValueError:
        raise UpstreamFault("upstream-error", "The list is no JSON.") from None


def _headers(upstream: Upstream) -> dict[str, str]:
    """Those of a model call, for a document instead of a stream."""
    found = request_headers(upstream, FORMATS[upstream.dialect]) | {"accept": "application/json"}
    del found["content-type"]
    return found
