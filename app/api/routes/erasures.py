"""Erasure: a session, a user, one entry."""

from starlette.responses import Response

from app.api.answers import json_answer
from app.api.documented import ok
from app.api.routing import Exchange, Operation, answered_once
from app.api.schemas.erasures import REDACT
from app.entries import lossless
from app.entries.errors import NotFound


async def delete_session(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.deletions.session(exchange.tenant, exchange.path("session_id"), exchange.if_match()))


async def delete_user(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.deletions.user(exchange.tenant, exchange.path("user")))


async def redact_entry(exchange: Exchange) -> Response:
    seq = exchange.path("seq")
    if not seq.isascii() or not seq.isdigit() or len(seq) > 18:
        raise NotFound("There is no such entry.")

    session_id, reason, expected_head = exchange.path("session_id"), exchange.body["reason"], exchange.expected_head()

    async def make() -> str:
        return lossless.dumps(await exchange.services.redactions.redact(exchange.tenant, session_id, int(seq), reason, expected_head))

    return await answered_once(exchange, make)


ADMIN, TAG = "admin", "erasure"
_RECEIPT = ok("ErasureReceipt", "What is gone, what stays, and what still holds the rest.")

OPERATIONS = (
    Operation(
        "DELETE",
        "/sessions/{session_id}",
        "delete_session",
        TAG,
        "Erase a session for good; its digest chain stays.",
        delete_session,
        {200: _RECEIPT},
        ADMIN,
        errors=(404, 409, 412),
    ),
    Operation(
        "DELETE",
        "/users/{user}",
        "delete_user",
        TAG,
        "Erase all sessions of a user and the state that they share; all or nothing.",
        delete_user,
        {200: _RECEIPT},
        ADMIN,
        errors=(409,),
    ),
    Operation(
        "POST",
        "/sessions/{session_id}/entries/{seq}/redact",
        "redact_entry",
        TAG,
        "Erase one message or one change of state, with everything that was made of it.",
        redact_entry,
        {200: _RECEIPT},
        ADMIN,
        body=REDACT,
        errors=(404, 409, 412),
    ),
)
