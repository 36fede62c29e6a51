"""The outermost layer, as plain ASGI: request ids, local and cross-origin rules, counters, and what may never happen.

Nothing here buffers a body or an answer; a stream passes through untouched.
"""

import logging
import re
import time
import uuid
from collections.abc import Iterable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api import problems
from app.api.access import is_loopback_name
from app.api.answers import problem_answer
from app.config.settings import Settings
from app.telemetry.context import bound_request

log = logging.getLogger("context_ledger.api")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_METHODS = "GET, POST, PUT, PATCH, DELETE"
_ASKED = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, Traceparent"
_EXPOSED = "ETag, Location, Content-Location, X-Request-Id, Idempotent-Replayed, Retry-After"


def request_id(headers: Headers) -> str:
    """The caller's id where it has the allowed form, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def trace_id(headers: Headers) -> str | None:
    """The trace that the request belongs to (W3C traceparent, version 00); None where the header is missing or ill-formed."""
    match = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return None if match is None or set(match[1]) == {"0"} or set(match[2]) == {"0"} else match[1]


class Edge:
    """Wraps the application. Every answer that leaves has an `X-Request-Id`, and an unexpected failure is one fixed sentence."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._local = settings.auth == "local"
        self._origins = frozenset(settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope["context_ledger.request_id"] = chosen = request_id(headers)
        with bound_request(chosen, trace_id(headers)):
            await self._serve(scope, receive, send, headers, chosen)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, headers: Headers, chosen: str) -> None:
        started, status = time.perf_counter(), 0
        origin = headers.get("origin")
        extra = {"x-request-id": chosen, "x-content-type-options": "nosniff", **self._cors(origin)}

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(extra)
            await send(message)

        refused = self._refused(scope, headers, origin)
        try:
            if refused is not None:
                await self._problem(refused, scope, receive, marked)
            elif scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await self._preflight(marked, origin)
            else:
                await self._app(scope, receive, marked)
        except Exception:
            # The traceback goes to the log, where values are redacted; parameters of statements are never in it.
            method, route = _place(scope)
            log.exception("unexpected failure", extra={"method": method, "route": route})
            if status:
                raise
            await self._problem("internal", scope, receive, marked)
        finally:
            _count(scope, status, time.perf_counter() - started)

    def _refused(self, scope: Scope, headers: Headers, origin: str | None) -> str | None:
        """The problem of a request that is not local, where only local ones are served. A page's Origin must be local or allowed."""
        if not self._local:
            return None
        if not is_loopback_name(headers.get("host", "")):
            return "foreign-host"
        if origin is not None and origin not in self._origins and not is_loopback_name(origin.partition("://")[2]):
            return "foreign-origin"
        return None

    def _cors(self, origin: str | None) -> dict[str, str]:
        if origin is None or origin not in self._origins:
            return {"vary": "Origin"} if self._origins else {}
        return {"access-control-allow-origin": origin, "access-control-expose-headers": _EXPOSED, "vary": "Origin"}

    async def _preflight(self, send: Send, origin: str | None) -> None:
        allowed: Iterable[tuple[bytes, bytes]] = ()
        if origin in self._origins:
            allowed = (
                (b"access-control-allow-methods", _METHODS.encode()),
                (b"access-control-allow-headers", _ASKED.encode()),
                (b"access-control-max-age", b"600"),
            )
        await send({"type": "http.response.start", "status": 204, "headers": list(allowed)})
        await send({"type": "http.response.body", "body": b""})

    async def _problem(self, code: str, scope: Scope, receive: Receive, send: Send) -> None:
        status, document, headers = problems.of_problem(problems.Problem(code), scope["path"][:512], scope["context_ledger.request_id"])
        await problem_answer(status, document, headers)(scope, receive, send)


def _place(scope: Scope) -> tuple[str, str]:
    """Method and path of the operation, for counters and logs; what nobody serves is one place, whatever a caller calls it."""
    operation: Any = scope.get("context_ledger.operation")
    return ("other", "other") if operation is None else (scope["method"], str(operation.path))


def _count(scope: Scope, status: int, seconds: float) -> None:
    services = getattr(scope["app"].state, "services", None) if "app" in scope else None
    metrics = getattr(services, "metrics", None)
    if metrics is not None:
        method, route = _place(scope)
        metrics.requests.labels(route, method, str(status)).inc()
        metrics.request_seconds.labels(route, method).observe(seconds)
