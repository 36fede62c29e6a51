"""A service's own routes: health, metrics, the API's documents, and what each problem means."""

from starlette.responses import Response

from app.api.answers import NO_STORE, json_answer
from app.api.docs_page import page
from app.api.documented import ok
from app.api.problems import PROBLEMS, Problem
from app.api.routing import Answer, Exchange, Operation
from app.telemetry.metrics import CONTENT_TYPE


async def livez(exchange: Exchange) -> Response:
    return json_answer({"status": "ok", "auth": exchange.settings.auth})


async def readyz(exchange: Exchange) -> Response:
    """Ready when every check passes. A service that has not started or is draining is not; nothing else of it is told."""
    services = exchange.request.app.state.services
    checks = {"started": False} if services is None else dict(await services.readiness.checks())
    ready = all(checks.values())
    return json_answer({"status": "ready" if ready else "unready", "auth": exchange.settings.auth, "checks": checks}, 200 if ready else 503)


async def get_metrics(exchange: Exchange) -> Response:
    metrics = exchange.services.metrics
    if metrics is None or not exchange.settings.metrics_enabled:
        raise Problem("not-found")
    return Response(metrics.render(), headers={**NO_STORE, "content-type": CONTENT_TYPE})


async def get_problem(exchange: Exchange) -> Response:
    code = exchange.path("code")
    row = PROBLEMS.get(code)
    if row is None:
        raise Problem("not-found")
    return json_answer({"type": f"/problems/{code}", "code": code, "status": row.status, "title": row.title, "meaning": row.meaning})


async def openapi_json(exchange: Exchange) -> Response:
    return Response(exchange.request.app.state.openapi_bytes, media_type="application/json", headers={"cache-control": "no-cache"})


async def docs(exchange: Exchange) -> Response:
    content = page(exchange.request.app.state.openapi_document)
    headers = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'", "cache-control": "no-cache"}
    return Response(content, media_type="text/html", headers=headers)


TAG = "operations"

OPERATIONS = (
    Operation("GET", "/livez", "livez", TAG, "Whether the process answers; never needs a key.", livez, {200: ok("Liveness", "It does.")}),
    Operation(
        "GET",
        "/readyz",
        "readyz",
        TAG,
        "Whether it can serve: database, migrations, disk; not while draining.",
        readyz,
        {200: ok("Readiness", "Ready."), 503: ok("Readiness", "Not ready.")},
    ),
    Operation(
        "GET",
        "/metrics",
        "metrics",
        TAG,
        "Counters for Prometheus.",
        get_metrics,
        {200: Answer("Text.", {"text/plain": {"type": "string"}})},
        "admin",
        errors=(404,),
    ),
    Operation(
        "GET", "/problems/{code}", "get_problem", TAG, "What a problem means.", get_problem, {200: ok("ProblemPage", "Its meaning.")}, errors=(404,)
    ),
    Operation(
        "GET",
        "/openapi.json",
        "openapi",
        TAG,
        "This document.",
        openapi_json,
        {200: Answer("OpenAPI 3.1.", {"application/json": {"type": "object"}})},
    ),
    Operation(
        "GET",
        "/docs",
        "docs",
        TAG,
        "This document as a page, without anything from elsewhere.",
        docs,
        {200: Answer("HTML.", {"text/html": {"type": "string"}})},
    ),
)
