"""What the model sees: the next input and what-ifs, the last dispatched map, calls and their inputs derived again, validation."""

import asyncio
from typing import get_args

from starlette.responses import Response

from app.api.answers import etagged, json_answer, page_answer, unchanged
from app.api.documented import PAGE, ok, plain
from app.api.headers import not_modified
from app.api.routing import Exchange, Operation, answered_once
from app.api.schemas.basics import SEQ, Schema, column, integer, one_of
from app.api.schemas.model_input import VALIDATE, WHAT_IF
from app.config.limits import LIST_LIMIT_DEFAULT
from app.entries import lossless
from app.services.explain import InputQuery, WhatIf
from app.services.input_views import EVERYTHING, Include
from app.services.validation import validate

QUERY: dict[str, Schema] = {
    "upstream": column(128, 1),
    "dialect": column(64, 1),
    "model": column(255, 1),
    "agent_revision": integer(1, 2**31 - 1),
    "at_seq": SEQ,
    "checkpoint": {**column(64, 1), "description": "A checkpoint's id, `latest` or `none`, instead of the one in force."},
    "include": {"type": "array", "items": one_of(*sorted(get_args(Include)))},
}

INPUT_NAME: Schema = {**column(64, 1), "description": "A call's id, the seq of a head, or a dialect: the next input in it."}


def _query(exchange: Exchange) -> InputQuery:
    given = exchange.query
    return InputQuery(**{**given, "include": frozenset(given.get("include", EVERYTHING))})


async def get_model_input(exchange: Exchange) -> Response:
    """The ETag is known without compiling, so that a client that is up to date costs no compile."""
    inputs, session_id, query = exchange.services.inputs, exchange.path("session_id"), _query(exchange)
    tag = f'"{await inputs.etag(exchange.tenant, session_id, query)}"'
    if not_modified(exchange.request, tag):
        return unchanged(tag)
    return etagged(await inputs.model_input(exchange.tenant, session_id, query, None), tag)


async def post_model_input(exchange: Exchange) -> Response:
    body, session_id = exchange.body, exchange.path("session_id")
    what_if = WhatIf(body.get("input"), body.get("overrides"), body.get("context"), body.get("state"))

    async def make() -> str:
        return lossless.dumps(await exchange.services.inputs.model_input(exchange.tenant, session_id, _query(exchange), what_if))

    return await answered_once(exchange, make)


async def get_source_map(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.inputs.source_map(exchange.tenant, exchange.path("session_id")))


async def list_calls(exchange: Exchange) -> Response:
    query = exchange.query
    page = await exchange.services.inputs.calls(
        exchange.tenant, exchange.path("session_id"), query.get("turn"), query.get("after"), query.get("limit", LIST_LIMIT_DEFAULT)
    )
    return page_answer(page)


async def get_call(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.inputs.call(exchange.tenant, exchange.path("session_id"), exchange.path("call_id")))


async def get_call_input(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.inputs.call_input(exchange.tenant, exchange.path("session_id"), exchange.path("call_id")))


async def get_diff(exchange: Exchange) -> Response:
    named = exchange.query.get("from"), exchange.query.get("to")
    return json_answer(await exchange.services.diffs.diff(exchange.tenant, exchange.path("session_id"), *named))


async def get_explanation(exchange: Exchange) -> Response:
    query = exchange.query
    found = await exchange.services.explanations.explain(
        exchange.tenant, exchange.path("session_id"), query["seq"], query.get("call"), query.get("answer_seq")
    )
    return json_answer(found)


async def validate_body(exchange: Exchange) -> Response:
    dialect = exchange.path("dialect")

    async def make() -> str:  # beside the event loop: a body of short messages has millions of them to judge
        return await asyncio.to_thread(lambda: lossless.dumps(validate(dialect, exchange.body)))

    return await answered_once(exchange, make)


READ, TAG = "model-input:read", "model input"
_SESSION = "/sessions/{session_id}"

OPERATIONS = (
    Operation(
        "GET",
        f"{_SESSION}/model-input",
        "get_model_input",
        TAG,
        "What the next call would send, and why.",
        get_model_input,
        {200: ok("ModelInput", "The input.", ("ETag",)), 304: plain("Not changed.")},
        READ,
        QUERY,
        errors=(404, 409),
        conditional=True,
    ),
    Operation(
        "POST",
        f"{_SESSION}/model-input",
        "post_model_input",
        TAG,
        "A what-if; writes nothing.",
        post_model_input,
        {200: ok("ModelInput", "The input.")},
        READ,
        QUERY,
        body=WHAT_IF,
        errors=(404, 409),
    ),
    Operation(
        "GET",
        f"{_SESSION}/model-input/diff",
        "diff_model_inputs",
        TAG,
        "Two calls, heads or dialects compared, as changes of sources.",
        get_diff,
        {200: ok("ModelInputDiff", "The changes.")},
        READ,
        {"from": INPUT_NAME, "to": INPUT_NAME},
        errors=(404, 409),
    ),
    Operation(
        "GET",
        f"{_SESSION}/explain",
        "explain_entry",
        TAG,
        "Why an entry was in, changed or out of a call; by default of the next one.",
        get_explanation,
        {200: ok("Explanation", "The explanation.")},
        READ,
        {"seq": integer(1, 2**62), "call": column(64, 1), "answer_seq": integer(1, 2**62)},
        query_needed=("seq",),
        errors=(404, 409),
    ),
    Operation(
        "GET",
        f"{_SESSION}/source-map",
        "get_source_map",
        TAG,
        "Metadata of the latest dispatched main call.",
        get_source_map,
        {200: ok("SourceMap", "The map.")},
        READ,
        errors=(404, 409),
    ),
    Operation(
        "GET",
        f"{_SESSION}/calls",
        "list_calls",
        TAG,
        "Model calls, ascending.",
        list_calls,
        {200: ok("CallList", "A page.")},
        READ,
        {**PAGE, "turn": column(64, 1)},
        errors=(404,),
    ),
    Operation(
        "GET",
        f"{_SESSION}/calls/{{call_id}}",
        "get_call",
        TAG,
        "One call, with its manifest and source map.",
        get_call,
        {200: ok("ModelCall", "The call.")},
        READ,
        errors=(404, 409),
    ),
    Operation(
        "GET",
        f"{_SESSION}/calls/{{call_id}}/model-input",
        "get_call_input",
        TAG,
        "That call's input derived again and compared; no provider is contacted.",
        get_call_input,
        {200: ok("ModelInput", "The input, with `verified`.")},
        READ,
        errors=(404, 409),
    ),
    Operation(
        "POST",
        "/validate/{dialect}",
        "validate_body",
        TAG,
        "Any request body against a dialect's rules.",
        validate_body,
        {200: ok("Validation", "All violations, with pointers.")},
        READ,
        body=VALIDATE,
        errors=(404,),
    ),
)
