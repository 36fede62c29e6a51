"""What long sessions add to the reads of a session: its checkpoints, and what its calls used."""

from starlette.responses import Response

from app.api.answers import json_answer, page_answer
from app.api.documented import ok
from app.api.routing import Exchange, Operation
from app.api.schemas.basics import LIMIT, SEQ
from app.config.limits import LIST_LIMIT_DEFAULT


async def list_checkpoints(exchange: Exchange) -> Response:
    after, limit = exchange.query.get("after", 0), exchange.query.get("limit", LIST_LIMIT_DEFAULT)
    return page_answer(await exchange.services.checkpoints.page(exchange.tenant, exchange.path("session_id"), after, limit))


async def get_checkpoint(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.checkpoints.one(exchange.tenant, exchange.path("session_id"), exchange.path("checkpoint_id")))


async def get_usage(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.usage.view(exchange.tenant, exchange.path("session_id")))


READ, TAG = "sessions:read", "sessions"

OPERATIONS = (
    Operation(
        "GET",
        "/sessions/{session_id}/checkpoints",
        "list_checkpoints",
        TAG,
        "Checkpoints of all lines, oldest first.",
        list_checkpoints,
        {200: ok("CheckpointList", "A page.")},
        READ,
        {"limit": LIMIT, "after": SEQ},
        errors=(404,),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/checkpoints/{checkpoint_id}",
        "get_checkpoint",
        TAG,
        "One checkpoint.",
        get_checkpoint,
        {200: ok("Checkpoint", "The checkpoint.")},
        READ,
        errors=(404,),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/usage",
        "get_usage",
        TAG,
        "What the session's calls used, by model and by what they were for, and what that costs.",
        get_usage,
        {200: ok("SessionUsage", "The usage.")},
        READ,
        errors=(404,),
    ),
)
