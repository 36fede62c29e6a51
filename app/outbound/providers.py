"""Providers over HTTP: where a body goes, under which headers, and what a refusal means."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import httpx

from app.config import limits
from app.config.upstreams import Upstream
from app.formats.protocols import UpstreamFault
from app.outbound.client import Clients, timeouts_of
from app.outbound.egress import check_url
from app.outbound.exchange import Outgoing, Reply

# What the service says itself, or what belongs to one connection (RFC 9110 7.6.1): an operator's header may not replace it.
OWN_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_INVISIBLE = re.compile(r"[^\x21-\x7e]")


def request_headers(upstream: Upstream) -> dict[str, str]:
    """The headers of a request, secrets revealed: never to be logged or kept.

    Raises `UpstreamFault` for a header that the service sets itself and for a value that is no header value, naming the field.
    """
    found = {"accept": "text/event-stream", "accept-encoding": "identity", "content-type": "application/json", "user-agent": "context-ledger"}
    for name, secret in upstream.headers.items():
        value = secret.reveal()
        if name.lower() in OWN_HEADERS:
            raise UpstreamFault("upstream-error", f"Upstream {upstream.name}: the header {name.lower()} is the service's own.")
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise UpstreamFault("upstream-error", f"Upstream {upstream.name}: one of its headers cannot be sent.")
        found[name.lower()] = value
    if upstream.api_key is not None:
        key = upstream.api_key.reveal()
        if not _VALUE.fullmatch(key):
            raise UpstreamFault("upstream-auth", f"Upstream {upstream.name}: its API key cannot be sent in a header.")
        found["authorization"] = f"Bearer {key}"
    return found


class Provider:
    """The channel to every upstream that is not built in: `POST` to the dialect's path below the base URL."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    @asynccontextmanager
    async def open(self, outgoing: Outgoing, attempt: int) -> AsyncIterator[Reply]:
        """One attempt. Raises `UpstreamFault`; its text never holds what the provider, the URL or an exception says."""
        upstream = outgoing.upstream
        url = f"{upstream.base_url or ''}{outgoing.format.path(outgoing.model.name)}"
        check_url(url, allow_private_network=upstream.allow_private_network)
        client = self._clients.of(upstream)
        request = client.build_request("POST", url, content=outgoing.body, headers=request_headers(upstream), timeout=timeouts_of(upstream.timeouts))
        try:
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError) as error:
            raise connection_fault(error) from None
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            request_id = _request_id(headers)
            if response.status_code >= 300 or response.status_code < 200:
                raise await _refusal(outgoing, response, headers, request_id)
            yield Reply(response.status_code, request_id, _chunks(response))
        finally:
            await response.aclose()


async def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.aiter_raw():
            yield chunk
    except httpx.TimeoutException:
        raise UpstreamFault("stream-truncated", "The provider went silent in mid-answer.", retryable=True) from None
    except (httpx.HTTPError, aiohttp.ClientError, OSError):
        raise UpstreamFault("stream-truncated", "The connection broke in mid-answer.", retryable=True) from None


async def _refusal(outgoing: Outgoing, response: httpx.Response, headers: Mapping[str, str], request_id: str | None) -> UpstreamFault:
    if 300 <= response.status_code < 400:
        return UpstreamFault("upstream-error", "The provider answered with a redirect; redirects are not followed.", http_status=response.status_code)
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) >= limits.ERROR_BODY_BYTES_MAX:
                break
    except (httpx.HTTPError, aiohttp.ClientError, OSError):
        pass  # what was read, and the status, are enough
    fault = outgoing.format.read_error(response.status_code, headers, bytes(body[: limits.ERROR_BODY_BYTES_MAX]))
    fault.http_status = fault.http_status or response.status_code
    fault.provider_request_id = fault.provider_request_id or request_id
    return fault


def _request_id(headers: Mapping[str, str]) -> str | None:
    value = headers.get("x-request-id") or headers.get("request-id")
    return None if value is None else _INVISIBLE.sub("", value)[: limits.IDENTIFIER_CHARS_MAX] or None


def connection_fault(error: Exception) -> UpstreamFault:
    """What it means that no response came. Nothing of the exception's text is kept: it may hold a URL."""
    causes = {type(error), type(error.__cause__)}
    if any(issubclass(cause, (aiohttp.ClientSSLError, aiohttp.ServerFingerprintMismatch)) for cause in causes):
        return UpstreamFault("upstream-error", "The provider's certificate could not be verified.")
    if any(issubclass(cause, (aiohttp.ClientConnectorDNSError,)) for cause in causes):
        return UpstreamFault("upstream-error", "The provider's host could not be resolved.", retryable=True)
    if any(issubclass(cause, (aiohttp.ConnectionTimeoutError,)) for cause in causes):
        return UpstreamFault("upstream-error", "No connection to the provider within the time allowed.", retryable=True)
    if any(issubclass(cause, aiohttp.ClientConnectorError) for cause in causes):  # httpx-aiohttp takes a refused connection for a timeout
        return UpstreamFault("upstream-error", "The connection to the provider failed.", retryable=True)
    if any(issubclass(cause, (TimeoutError, httpx.TimeoutException)) for cause in causes) and not any(
        issubclass(cause, aiohttp.ServerDisconnectedError) for cause in causes
    ):
        return UpstreamFault("upstream-error", "The provider did not begin to answer within the time allowed.", retryable=True)
    if isinstance(error, (ValueError, httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return UpstreamFault("upstream-error", "The request could not be written.")
    return UpstreamFault("upstream-error", "The connection to the provider failed.", retryable=True)
