"""Providers over HTTP: where a body goes, under which headers, and what a refusal means."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from types import MappingProxyType
from typing import Any

import aiohttp
import httpx

from app.config import limits
from app.config.upstreams import Upstream
from app.formats.protocols import Auth, Format, UpstreamFault
from app.models.resolve import ModelChoice
from app.outbound.client import Clients, sent_url, timeouts_of
from app.outbound.egress import check_url
from app.outbound.exchange import Outgoing, Reply
from app.outbound.signing import SIGNATURE_HEADERS, signature

log = logging.getLogger(__name__)

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


_KEY_HEADERS: Mapping[Auth, frozenset[str]] = MappingProxyType(
    {
        "bearer": frozenset(),
        "x-api-key": frozenset({"x-api-key"}),
        "x-goog-api-key": frozenset({"x-goog-api-key"}),
        "aws": SIGNATURE_HEADERS,
    }
)
"""The headers that a key is sent in, beside `authorization`, which is always the service's own."""

REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id", "apim-request-id", "cf-ray")
"""Where providers, and what stands before them, say how they call a request; the first one that is there counts."""


def request_headers(upstream: Upstream, form: Format) -> dict[str, str]:
    """The headers of a request but for a signature, secrets revealed: never to be logged or kept.

    An operator's header wins over the dialect's own (another version of an API, say), never over the service's. Raises `UpstreamFault`
    for a header that the service sets itself and for a value that is no header value, naming the field.
    """
    found = {"accept": form.accept, "accept-encoding": "identity", "content-type": "application/json", "user-agent": "context-ledger"}
    found.update({name.lower(): value for name, value in form.headers.items()})
    own = OWN_HEADERS | _KEY_HEADERS[form.auth]
    for name, secret in upstream.headers.items():
        value = secret.reveal()
        if name.lower() in own:
            raise UpstreamFault("upstream-error", f"Upstream {upstream.name}: the header {name.lower()} is the service's own.")
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise UpstreamFault("upstream-error", f"Upstream {upstream.name}: one of its headers cannot be sent.")
        found[name.lower()] = value
    if upstream.api_key is not None:
        key = upstream.api_key.reveal()
        if not _VALUE.fullmatch(key):
            raise UpstreamFault("upstream-auth", f"Upstream {upstream.name}: its API key cannot be sent in a header.")
        if form.auth in ("bearer", "aws"):
            found["authorization"] = f"Bearer {key}"
        else:
            found[form.auth] = key
    return found


class Provider:
    """The channel to every upstream that is not built in: `POST` to the dialect's path below the base URL."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    @asynccontextmanager
    async def open(self, outgoing: Outgoing, attempt: int) -> AsyncIterator[Reply]:
        """One attempt. Raises `UpstreamFault`; its text never holds what the provider, the URL or an exception says."""
        path = outgoing.format.path(outgoing.model.name)
        async with self._post(outgoing.upstream, outgoing.format, path, outgoing.body) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            request_id = _request_id(headers)
            if response.status_code >= 300 or response.status_code < 200:
                raise await _refusal(outgoing, response, headers, request_id)
            yield Reply(response.status_code, request_id, _chunks(response))

    async def count(self, upstream: Upstream, form: Format, model: ModelChoice, document: Mapping[str, Any]) -> int | None:
        """The tokens of a request by the provider's own endpoint; None where it has none, or did not count in time.

        `document` is the tree of the body that would be sent. Never raises: the estimate stands instead.
        """
        if form.counting is None:
            return None
        try:
            async with asyncio.timeout(limits.COUNT_SECONDS_MAX):
                body = form.counting.body(model.name, document)
                async with self._post(upstream, form, form.counting.path(model.name), body, accept="application/json") as response:
                    answer = bytearray()
                    await _read(response, answer)
            found = form.counting.read(bytes(answer)) if 200 <= response.status_code < 300 else None
            if found is None:
                log.info("upstream %s did not count a request (status %d)", upstream.name, response.status_code)
        except Exception as error:  # whatever went wrong with a count, the call goes on with an estimate
            log.info("upstream %s did not count a request (%s)", upstream.name, error.code if isinstance(error, UpstreamFault) else "failed")
            return None
        return found

    @asynccontextmanager
    async def _post(self, upstream: Upstream, form: Format, path: str, body: bytes, accept: str | None = None) -> AsyncIterator[httpx.Response]:
        """A response of any status, its body not read. Raises `UpstreamFault` where none came."""
        url = f"{upstream.base_url or ''}{path}"
        check_url(url, allow_private_network=upstream.allow_private_network)
        headers = request_headers(upstream, form)
        if accept is not None:
            headers["accept"] = accept
        client = self._clients.of(upstream)
        try:
            request = client.build_request("POST", url, content=body, headers=headers, timeout=timeouts_of(upstream.timeouts))
            if form.auth == "aws" and upstream.api_key is None and upstream.aws is not None:
                # Beside the loop: the first one loads botocore, and each hashes the body.
                request.headers.update(await asyncio.to_thread(signature, upstream.aws, sent_url(request.url), body))
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError) as error:
            raise connection_fault(error) from None
        try:
            yield response
        finally:
            await response.aclose()


async def _read(response: httpx.Response, body: bytearray) -> None:
    """Puts a body that is small by its nature into `body`, up to a limit; what came before a failure is in it too."""
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= limits.ERROR_BODY_BYTES_MAX:
            del body[limits.ERROR_BODY_BYTES_MAX :]
            return


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
    with suppress(httpx.HTTPError, aiohttp.ClientError, OSError):  # what was read, and the status, are enough
        await _read(response, body)
    fault = outgoing.format.read_error(response.status_code, headers, bytes(body))
    fault.http_status = fault.http_status or response.status_code
    fault.provider_request_id = fault.provider_request_id or request_id
    return fault


def _request_id(headers: Mapping[str, str]) -> str | None:
    value = next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), "")
    return _INVISIBLE.sub("", value)[: limits.IDENTIFIER_CHARS_MAX] or None


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
