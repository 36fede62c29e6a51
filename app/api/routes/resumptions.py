"""What a turn that waits is sent: results of client tools, and decisions on calls that need an approval."""

from app.api.headers import negotiate
from app.api.routes.turns import FORMS, RUN, TAG, WRITE, answered, extra_messages
from app.api.routing import ASGIAnswer, Exchange, Operation
from app.api.schemas.turns import DECISIONS, TOOL_RESULTS
from app.services.turns.decisions import GivenDecision
from app.services.turns.results import GivenResult


async def post_tool_results(exchange: Exchange) -> ASGIAnswer:
    form = negotiate(exchange.request.headers.get("accept"), FORMS)
    body = exchange.body
    results = [GivenResult(one["tool_call_id"], one["content"], one.get("is_error", False)) for one in body["results"]]
    accepted = await exchange.services.turns.tool_results(
        exchange.tenant,
        exchange.path("session_id"),
        exchange.path("turn_id"),
        results,
        extra_messages(body.get("extra_messages", ())),
        exchange.key,
        exchange.expected_head(),
    )
    return await answered(exchange, accepted, form, background=body.get("background", False))


async def post_decisions(exchange: Exchange) -> ASGIAnswer:
    form = negotiate(exchange.request.headers.get("accept"), FORMS)
    body = exchange.body
    decisions = [GivenDecision(one["tool_call_id"], one["decision"], one.get("reason")) for one in body["decisions"]]
    accepted = await exchange.services.turns.decide(
        exchange.tenant, exchange.path("session_id"), exchange.path("turn_id"), decisions, exchange.key, exchange.expected_head()
    )
    return await answered(exchange, accepted, form, background=body.get("background", False))


_TURN = "/sessions/{session_id}/turns/{turn_id}"

OPERATIONS = (
    Operation(
        "POST",
        f"{_TURN}/tool-results",
        "post_tool_results",
        TAG,
        "Results of the calls that the turn waits for.",
        post_tool_results,
        RUN,
        WRITE,
        body=TOOL_RESULTS,
        errors=(404, 406, 409, 412),
    ),
    Operation(
        "POST",
        f"{_TURN}/decisions",
        "post_decisions",
        TAG,
        "Decisions on the calls that wait for an approval.",
        post_decisions,
        RUN,
        WRITE,
        body=DECISIONS,
        errors=(404, 406, 409, 412),
    ),
)
