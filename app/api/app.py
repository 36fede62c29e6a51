"""The HTTP application: the table of operations on a router, behind the edge."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.api import describe
from app.api.access import Access
from app.api.edge import Edge
from app.api.problems import Problem
from app.api.routes import agents, compactions, erasures, later, long_sessions, model_input, operations, raw, resumptions, sessions, transfers, turns
from app.api.routing import Operation, endpoint, refusal
from app.api.services import Services
from app.config.settings import Settings

OPERATIONS: tuple[Operation, ...] = (
    *agents.OPERATIONS,
    *sessions.OPERATIONS,
    *long_sessions.OPERATIONS,
    *erasures.OPERATIONS,
    *raw.OPERATIONS,
    *transfers.OPERATIONS,
    *turns.OPERATIONS,
    *resumptions.OPERATIONS,
    *compactions.OPERATIONS,
    *model_input.OPERATIONS,
    *operations.OPERATIONS,
)

_ASKED_MOST = ("post_entries", "post_turn")

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def build_api(services: Services | None, settings: Settings, lifespan: Lifespan | None = None) -> FastAPI:
    """The application. `services` None: the lifespan sets `app.state.services` once they are open; until then answers are 503."""
    app = FastAPI(title="Context Ledger", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.services = services
    app.state.settings = settings
    app.state.access = Access(settings)
    app.state.openapi_bytes, app.state.openapi_document = _described()
    app.router.redirect_slashes = False
    app.router.routes.extend(_routes())
    app.router.routes.extend(later.later_routes())
    app.add_exception_handler(HTTPException, _refused)
    app.add_middleware(Edge, settings=settings)
    return app


@cache
def _routes() -> tuple[Route, ...]:
    """The same of every application in a process: an endpoint finds its own in the request, and the schemas of bodies are compiled once."""
    return tuple([Route(_pattern(one), endpoint(one), methods=[one.method], name=one.name) for one in _by_path()])


@cache
def _described() -> tuple[bytes, dict[str, Any]]:
    return describe.rendered(OPERATIONS), describe.document(OPERATIONS)


def _pattern(operation: Operation) -> str:
    """The path as the router reads it: the name of a user may hold a slash."""
    return operation.path.replace("{user}", "{user:path}")


def _by_path() -> list[Operation]:
    """Fixed paths before those with parameters, so that no name hides a route; but those that are asked most of all first.

    The router tries one after the other, at 1.5 µs each.
    """
    return sorted(OPERATIONS, key=lambda one: (one.name not in _ASKED_MOST, one.path.count("{")))


async def _refused(request: Request, error: Exception) -> Response:
    """What the router itself refuses: an unknown path, or a method that a path does not have."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        return refusal(request, Problem("method-not-allowed", headers={"allow": _allowed(request)}))
    return refusal(request, Problem("not-found"))


def _allowed(request: Request) -> str:
    """Every method of the path that was asked for; the router knows only those of the first route that it met."""
    found = {
        method
        for route in request.app.router.routes
        if isinstance(route, Route) and route.path_regex.match(request.scope["path"]) is not None
        for method in route.methods or ()
    }
    return ", ".join(sorted(found))
