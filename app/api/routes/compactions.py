"""Compaction on request, and what it would do."""

from starlette.responses import Response

from app.api.answers import json_answer
from app.api.documented import ok
from app.api.routing import Exchange, Operation, answered_once
from app.api.schemas.compactions import COMPACT, KEEP_RECENT
from app.entries import lossless
from app.services.turns.compacting import CompactionInput


async def compact(exchange: Exchange) -> Response:
    body = exchange.body
    wanted = CompactionInput(body.get("instructions"), body.get("keep_recent_tokens"), body.get("driver"), exchange.expected_head())

    async def make() -> str:
        return lossless.dumps(await exchange.services.compactions.compact(exchange.tenant, exchange.path("session_id"), wanted))

    return await answered_once(exchange, make)


async def get_plan(exchange: Exchange) -> Response:
    keep = exchange.query.get("keep_recent_tokens")
    return json_answer(await exchange.services.compactions.plan(exchange.tenant, exchange.path("session_id"), keep))


TAG = "compaction"

OPERATIONS = (
    Operation(
        "POST",
        "/sessions/{session_id}/compactions",
        "compact_session",
        TAG,
        "Put a summary in the place of older messages, for the model alone.",
        compact,
        {200: ok("Compaction", "What came of it.")},
        "sessions:write",
        body=COMPACT,
        body_needed=False,
        errors=(404, 409, 412),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/compactions/plan",
        "get_compaction_plan",
        TAG,
        "What a compaction would do; nothing is written and no provider is asked.",
        get_plan,
        {200: ok("CompactionPlan", "What it would try.")},
        "sessions:read",
        {"keep_recent_tokens": KEEP_RECENT},
        errors=(404,),
    ),
)
