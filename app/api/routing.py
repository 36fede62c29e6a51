"""Operations as data: each route with its scope, its schemas, its statuses and its handler.

One table feeds the router, the validation and the OpenAPI document, so that they cannot say different things. A handler is
plain: it awaits one service and returns an answer. Typed failures are turned into problems here, in one place.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.api import headers, problems
from app.api.answers import problem_answer, text_answer
from app.api.bodies import check_media_type, read_bytes, read_json
from app.api.problems import Problem
from app.api.queries import read_query
from app.api.schemas.basics import Schema
from app.api.services import Services
from app.api.streaming import Streamed
from app.api.validation import Checker
from app.config.settings import Settings
from app.entries.errors import LedgerError
from app.services.scope import Scope
from app.services.turns.inputs import IdempotencyKey

log = logging.getLogger("context_ledger.api")


@dataclass(slots=True)
class Exchange:
    """One request that has been admitted: whose it is, and what it asks, read and checked. Every POST may name an idempotency `key`."""

    request: Request
    scope: Scope
    services: Services
    settings: Settings
    query: Mapping[str, Any]
    body: Any
    key: IdempotencyKey | None

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    @property
    def tenant(self) -> UUID:
        return self.scope.tenant

    def need(self, scope: str) -> None:
        """Raises `scope-missing` unless the key has this scope too."""
        if scope not in self.scope.scopes:
            raise Problem("scope-missing", f"This needs a key with the scope `{scope}`.")

    def if_match(self) -> int | None:
        """The head that `If-Match` expects; None: any."""
        return headers.expected_head(self.request)

    def expected_head(self) -> int | None:
        """What `If-Match` and the body's `expected_head` say together."""
        in_body = self.body.get("expected_head")
        return headers.expected_head(self.request, None if in_body is None else int(in_body))


ASGIAnswer = Response | Streamed
Handler = Callable[[Exchange], Awaitable[ASGIAnswer]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One documented status: its schema by media type; an empty mapping is an answer without a body."""

    description: str
    content: Mapping[str, Schema] = field(default_factory=dict)
    headers: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """A route. `scope` None is public. `errors` are the statuses of problems beyond those that every route may answer.

    `takes_bytes`: the body is a file of any media type, and reaches the handler as the bytes that it is.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    handler: Handler
    answers: Mapping[int, Answer]
    scope: str | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    query_needed: Sequence[str] = ()
    body: Schema | None = None
    body_needed: bool = True
    takes_bytes: bool = False
    errors: Sequence[int] = ()
    conditional: bool = False


async def answered_once(exchange: Exchange, make: Callable[[], Awaitable[str]], status: int = 200) -> Response:
    """The answer of a POST that no append stands behind, from its JSON text; under a known key, the first one again."""
    text, replayed = await exchange.services.replays.once(exchange.tenant, exchange.key, make)
    return text_answer(text, status, {"idempotent-replayed": "true"} if replayed else {})


def instance_of(request: Request) -> str:
    """The path that was asked for, as a URI reference of bounded length."""
    return quote(request.scope["path"][:512], safe="/", errors="replace")


def request_id_of(request: Request) -> str:
    return str(request.scope.get("context_ledger.request_id", ""))


def refusal(request: Request, error: LedgerError | Problem) -> Response:
    """The problem answer of a typed failure."""
    instance, request_id = instance_of(request), request_id_of(request)
    if isinstance(error, Problem):
        return problem_answer(*problems.of_problem(error, instance, request_id))
    status, document, sent = problems.of_error(error, instance, request_id)
    if status == 500:  # its code says that it was logged; such an error carries codes and names, never a statement's parameters
        log.error("unexpected failure: %s", error.detail, exc_info=error)
    return problem_answer(status, document, sent)


def endpoint(operation: Operation) -> Callable[[Request], Awaitable[ASGIAnswer]]:
    """The function that serves an operation: admitted, read, checked, handled, and its failures turned into problems."""
    checker = None if operation.body is None else Checker(operation.body)

    async def serve(request: Request) -> ASGIAnswer:
        request.scope["context_ledger.operation"] = operation
        try:
            app = request.app
            scope = await app.state.access.admit(request, operation.scope)
            query = read_query(request.query_params, operation.query, operation.query_needed)
            raw, body = await _body(request, operation, checker)
            key = headers.idempotency_key(request, raw) if operation.method == "POST" else None
            return await operation.handler(Exchange(request, scope, app.state.services, app.state.settings, query, body, key))
        except (LedgerError, Problem) as error:
            return refusal(request, error)

    return serve


async def _body(request: Request, operation: Operation, checker: Checker | None) -> tuple[bytes, Any]:
    """The body's bytes and its checked document. Routes without a body take none; where it is not needed, none is `{}`."""
    if request.method in ("GET", "HEAD"):
        return b"", None
    raw = await read_bytes(request)
    if checker is None:
        return raw, raw if operation.takes_bytes else None
    if not raw and not operation.body_needed:
        return raw, {}
    check_media_type(request)
    document = await read_json(raw)
    checker.check(document)
    return raw, document
