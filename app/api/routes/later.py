"""Routes that the contract names and a later version builds: answered as not built, never as unknown. The OpenAPI document leaves them out."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.api.problems import Problem
from app.api.routing import refusal
from app.entries.errors import LedgerError

_SESSION = "/sessions/{session_id}"

LATER: tuple[tuple[str, str, str], ...] = (("POST", "/tokens", "sessions:write"),)
"""Method, path and the scope that it will need."""


def later_routes() -> list[Route]:
    """One route each, for who would be admitted to it."""
    return [_route(*row) for row in LATER]


def _route(method: str, path: str, scope: str) -> Route:
    async def refuse(request: Request) -> Response:
        try:
            await request.app.state.access.admit(request, scope)
        except (LedgerError, Problem) as error:
            return refusal(request, error)
        return refusal(request, Problem("not-yet-supported"))

    return Route(path, refuse, methods=[method])
