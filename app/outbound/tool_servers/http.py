"""Tools behind a plain HTTP endpoint: one signed POST a call.

The body is `{tool, tool_call_id, arguments, session_id, turn_id}`, the arguments in the very spelling of the model. Where the operator gave a
key, it is signed as Standard Webhooks says: `webhook-signature: v1,<base64 of HMAC-SHA256 over "id.timestamp.body">`, and `webhook-id` is the
same each time that one call is sent. The answer is `{content: text | parts, is_error?}` as JSON, or plain text.
"""

import asyncio
import base64
import hashlib
import hmac
import time

import aiohttp
import httpx

from app.config import limits
from app.config.tool_servers import SIGNING_KEY_PREFIX, ToolServer
from app.config.upstreams import Timeouts
from app.entries import lossless
from app.entries.parts import Text
from app.outbound.client import Clients, timeouts_of
from app.outbound.egress import EgressRefused, check_url
from app.outbound.tool_servers.results import ToolFault, ToolOutcome, ToolRequest, read_answer, read_bounded

BROKEN = (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError)
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, httpx.PoolTimeout, httpx.UnsupportedProtocol)
"""Errors of aiohttp's, where it raised them: what httpx-aiohttp makes of a lost connection looks like one that never was."""


async def call_http(clients: Clients, server: ToolServer, request: ToolRequest) -> ToolOutcome:
    """Posts the call and reads the answer. Raises `ToolFault`; the caller bounds the time."""
    check_url(server.url, allow_private_network=server.allow_private_network)
    body = request_body(request)
    client = clients.of(server)
    message = client.build_request("POST", server.url, content=body, headers=_headers(server, request, body), timeout=timeouts_of(waits_of(server)))
    try:
        response = await client.send(message, stream=True)
    except BROKEN as error:
        raise connection_fault(error) from None
    try:
        return await _outcome(response, server.result_bytes_max)
    except BROKEN:
        raise ToolFault("tool-connection-lost") from None
    finally:
        await response.aclose()


def request_body(request: ToolRequest) -> bytes:
    """The body of the POST, in UTF-8. Arguments that are no JSON object stand in it as a string."""
    text = request.arguments
    try:
        is_object = isinstance(lossless.loads(text), dict)
        text.encode()
    except (lossless.InvalidJson, UnicodeEncodeError):
        is_object = False
    arguments = text if is_object else lossless.dumps(text)
    first = lossless.dumps({"tool": request.tool, "tool_call_id": request.tool_call_id})
    last = lossless.dumps({"session_id": request.session_id, "turn_id": request.turn_id})
    return f'{first[:-1]},"arguments":{arguments},{last[1:]}'.encode()


def signature(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    """The value of `webhook-signature`. `timestamp` is in whole seconds since 1970."""
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def waits_of(server: ToolServer) -> Timeouts:
    """The waits of one request. The one for an answer is longer than the call's own time, which is what ends a slow call."""
    return Timeouts(min(server.timeout_seconds, Timeouts().connect_seconds), server.timeout_seconds + 1)


def connection_fault(error: Exception) -> ToolFault:
    """What it means that no response came: whether anything was sent decides what the model may believe."""
    causes = [cause for cause in (error, error.__cause__, error.__context__) if cause is not None]
    if any(isinstance(cause, EgressRefused) for cause in causes):
        return ToolFault("tool-server-refused")
    return ToolFault("tool-server-unreachable" if any(isinstance(cause, _UNSENT) for cause in causes) else "tool-connection-lost")


def _headers(server: ToolServer, request: ToolRequest, body: bytes) -> dict[str, str]:
    found = {name.lower(): secret.reveal() for name, secret in server.headers.items()}
    found |= {"accept": "application/json, text/plain", "accept-encoding": "identity", "content-type": "application/json"}
    timestamp = str(int(time.time()))
    found |= {"user-agent": "context-ledger", "webhook-id": request.request_id, "webhook-timestamp": timestamp}
    if server.signing_key is not None:
        key = base64.b64decode(server.signing_key.reveal().removeprefix(SIGNING_KEY_PREFIX))
        found["webhook-signature"] = signature(key, request.request_id, timestamp, body)
    return found


def refusal(response: httpx.Response) -> str | None:
    """The code of a fault that status and headers tell already; None where the body may be read."""
    if not 200 <= response.status_code < 300:
        return "tool-call-refused" if 400 <= response.status_code < 500 else "tool-server-error"
    return None if response.headers.get("content-encoding", "identity").lower() == "identity" else "tool-result-invalid"


async def _outcome(response: httpx.Response, bytes_max: int) -> ToolOutcome:
    """Nothing of a body is read where the status is no success; redirects are not followed."""
    code = refusal(response)
    if code is not None:
        raise ToolFault(code)
    content = await read_bounded(response.aiter_raw(), bytes_max)
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "text/plain" or not content:
        try:
            return ToolOutcome((Text(content.decode()),))
        except UnicodeDecodeError:
            raise ToolFault("tool-result-invalid") from None
    if media_type != "application/json":
        raise ToolFault("tool-result-invalid")
    if len(content) > limits.JSON_ON_LOOP_BYTES_MAX:
        return await asyncio.to_thread(_document, content)
    return _document(content)


def _document(content: bytes) -> ToolOutcome:
    try:
        return read_answer(lossless.loads(content))
    except lossless.InvalidJson:
        raise ToolFault("tool-result-invalid") from None
