"""Turns: posted, followed, continued, ended. A handler waits for acceptance alone; every conflict is an answer before a stream begins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from app.api.answers import JSON, SSE, json_answer, page_answer
from app.api.documented import ok, plain, turn_or_events
from app.api.headers import last_event_id, negotiate
from app.api.routing import Answer, ASGIAnswer, Exchange, Operation, answered_once
from app.api.schemas.basics import LIMIT, SEQ, integer, ref
from app.api.schemas.turns import AGAIN, NOTHING, POST_TURN
from app.api.streaming import HEARTBEAT, OPENING, SSE_HEADERS, Streamed, gone
from app.config.limits import LIST_LIMIT_DEFAULT
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.formats.framing.sse import frame
from app.services.entries import attributes_text
from app.services.streams import Event
from app.services.turns.desk import Accepted
from app.services.turns.inputs import Again, ExtraMessage, Flags, TurnInput

FORMS = (JSON, SSE)


def _flags(value: Mapping[str, Any]) -> Flags:
    return Flags(value.get("persist", True), value.get("include_in_context", True), value.get("hidden", False))


def extra_messages(values: Sequence[Mapping[str, Any]]) -> list[ExtraMessage]:
    """The extra messages that a validated body spells."""
    return [ExtraMessage(value["kind"], value["parts"], _flags(value)) for value in values]


def turn_input(body: Mapping[str, Any], expected_head: int | None) -> TurnInput:
    """The input that a validated body spells. Raises `Invalid` for flags that do not go together."""
    flags, background = _flags(body), body.get("background", False)
    if background and not flags.persist:
        raise Invalid([Fault("/persist", "not-with-background", "An input that is not stored cannot run in the background.")])
    skills = body.get("skills", [])
    if skills and not flags.persist:
        raise Invalid([Fault("/skills", "not-with-persist", "A skill belongs to a stored input; leave `skills` out, or store the input.")])
    repeated = [at for at, name in enumerate(skills) if name in skills[:at]]
    if repeated:
        raise Invalid([Fault(f"/skills/{at}", "duplicate", "The items must differ.") for at in repeated])
    return TurnInput(
        input=body["input"],
        follows=body.get("follows"),
        attributes=attributes_text(body.get("attributes"), "/attributes"),
        flags=flags,
        extra_messages=extra_messages(body.get("extra_messages", ())),
        overrides=body.get("overrides", {}),
        on_disconnect=body.get("on_disconnect", "continue"),
        on_busy=body.get("on_busy", "reject"),
        on_pending=body.get("on_pending", "reject"),
        background=background,
        expected_head=expected_head,
        skills=skills,
    )


async def post_turn(exchange: Exchange) -> ASGIAnswer:
    form = negotiate(exchange.request.headers.get("accept"), FORMS)
    wanted = turn_input(exchange.body, exchange.expected_head())
    accepted = await exchange.services.turns.accept(exchange.tenant, exchange.path("session_id"), wanted, exchange.key)
    return await answered(exchange, accepted, form, background=wanted.background)


async def retry_turn(exchange: Exchange) -> ASGIAnswer:
    return await _repeated(exchange, sibling=False)


async def regenerate_turn(exchange: Exchange) -> ASGIAnswer:
    return await _repeated(exchange, sibling=True)


async def _repeated(exchange: Exchange, *, sibling: bool) -> ASGIAnswer:
    form = negotiate(exchange.request.headers.get("accept"), FORMS)
    body = exchange.body
    again = Again(
        body.get("overrides"),
        body.get("on_disconnect"),
        body.get("on_busy", "reject"),
        body.get("on_pending", "reject"),
        body.get("background", False),
        exchange.expected_head(),
    )
    accepted = await exchange.services.turns.repeat(
        exchange.tenant, exchange.path("session_id"), exchange.path("turn_id"), again, sibling=sibling, key=exchange.key
    )
    return await answered(exchange, accepted, form, background=again.background)


async def answered(exchange: Exchange, accepted: Accepted, form: str, *, background: bool) -> ASGIAnswer:
    """The answer to an accepted request: 202 at once, the stream, or the Turn when it rests."""
    turns = exchange.services.turns
    url = f"/sessions/{accepted.session_id}/turns/{accepted.turn_id}"
    headers = {"content-location": f"{url}/events"}
    if accepted.replayed:
        headers["idempotent-replayed"] = "true"

    async def cancel() -> None:
        await turns.cancel(exchange.tenant, accepted.session_id, accepted.turn_id, "disconnect")

    left = cancel if accepted.cancels else None
    if background:
        view = await turns.view(exchange.tenant, accepted.session_id, accepted.turn_id)
        return json_answer(view, 202, {**headers, "location": url})
    if form == SSE:
        events = await turns.answer(exchange.tenant, accepted)
        return Streamed(_frames(events), {**SSE_HEADERS, **headers}, opening=OPENING, left=left)
    settled = turns.settled(exchange.tenant, accepted)
    view = await _unless_gone(exchange, settled, left)
    return json_answer(view, 200, {**headers, "location": url})


async def _unless_gone(exchange: Exchange, settled: Awaitable[dict[str, Any]], left: Callable[[], Awaitable[None]] | None) -> dict[str, Any]:
    """The Turn once it rests; a client that leaves before is noticed, and its turn cancelled where it asked for that."""
    if left is None:
        return await settled
    waiting = asyncio.ensure_future(settled)
    watching = asyncio.create_task(gone(exchange.request.receive))
    try:
        await asyncio.wait((waiting, watching), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            await left()
        return await waiting
    finally:
        watching.cancel()
        waiting.cancel()


async def _frames(events: AsyncIterator[list[Event]] | None) -> AsyncIterator[bytes]:
    """The frames of the events that came together, in one piece: one write to the socket."""
    if events is None:
        return
    async for some in events:
        yield b"".join([frame(event.id, event.name, event.data) for event in some]) or HEARTBEAT


async def get_events(exchange: Exchange) -> ASGIAnswer:
    negotiate(exchange.request.headers.get("accept"), (SSE,))
    session_id, turn_id = exchange.path("session_id"), exchange.path("turn_id")
    after = last_event_id(exchange.request, exchange.query.get("after")) or 0
    events = await exchange.services.turns.events(exchange.tenant, session_id, turn_id, after)
    if events is None:
        return Response(status_code=204)
    headers = {**SSE_HEADERS, "content-location": f"/sessions/{session_id}/turns/{turn_id}/events"}
    return Streamed(_frames(events), headers, opening=OPENING)


async def list_turns(exchange: Exchange) -> Response:
    page = await exchange.services.turns.page(
        exchange.tenant, exchange.path("session_id"), exchange.query.get("after", 0), exchange.query.get("limit", LIST_LIMIT_DEFAULT)
    )
    return page_answer(page)


async def get_turn(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.turns.view(exchange.tenant, exchange.path("session_id"), exchange.path("turn_id")))


async def cancel_turn(exchange: Exchange) -> Response:
    async def make() -> str:
        return lossless.dumps(await exchange.services.turns.cancel(exchange.tenant, exchange.path("session_id"), exchange.path("turn_id")))

    return await answered_once(exchange, make)


async def stop_session(exchange: Exchange) -> Response:
    async def make() -> str:
        session_id = exchange.path("session_id")
        return lossless.dumps({"object": "stop", "session_id": session_id, "turn": await exchange.services.turns.stop(exchange.tenant, session_id)})

    return await answered_once(exchange, make)


READ, WRITE, TAG = "sessions:read", "sessions:write", "turns"
_TURN = "/sessions/{session_id}/turns/{turn_id}"
RUN = {200: turn_or_events("The turn, when it settles or waits."), 202: ok("Turn", "Accepted; it runs in the background.", ("Content-Location",))}

OPERATIONS = (
    Operation(
        "POST",
        "/sessions/{session_id}/turns",
        "post_turn",
        TAG,
        "Post an input and run the turn.",
        post_turn,
        RUN,
        WRITE,
        body=POST_TURN,
        errors=(404, 406, 409, 412),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/turns",
        "list_turns",
        TAG,
        "Turns, ascending.",
        list_turns,
        {200: ok("TurnList", "A page.")},
        READ,
        {"limit": LIMIT, "after": integer(0, 2**62)},
        errors=(404,),
    ),
    Operation("GET", _TURN, "get_turn", TAG, "One turn.", get_turn, {200: ok("Turn", "The turn.")}, READ, errors=(404,)),
    Operation(
        "GET",
        f"{_TURN}/events",
        "get_events",
        TAG,
        "The turn's events, from the first or after a cursor, on any replica.",
        get_events,
        {
            200: Answer("Events.", {SSE: ref("StreamEvent")}),
            204: plain("The cursor is at the end of a settled turn."),
        },
        READ,
        {"after": SEQ},
        errors=(404, 406, 410),
    ),
    Operation(
        "POST",
        f"{_TURN}/cancel",
        "cancel_turn",
        TAG,
        "End a turn; the partial answer is kept and marked.",
        cancel_turn,
        {200: ok("Turn", "The turn.")},
        WRITE,
        body=NOTHING,
        body_needed=False,
        errors=(404, 409),
    ),
    Operation(
        "POST",
        "/sessions/{session_id}/stop",
        "stop_session",
        TAG,
        "End whatever runs or waits in the session.",
        stop_session,
        {200: ok("Stopped", "The turn that was ended, or null.")},
        WRITE,
        body=NOTHING,
        body_needed=False,
        errors=(404, 409),
    ),
    *(
        Operation(
            "POST",
            f"{_TURN}/{verb}",
            f"{verb}_turn",
            TAG,
            summary,
            handler,
            RUN,
            WRITE,
            body=AGAIN,
            body_needed=False,
            errors=(404, 406, 409, 412),
        )
        for verb, summary, handler in (
            ("retry", "Run the last turn again, when it failed or was stopped.", retry_turn),
            ("regenerate", "Another answer to a settled turn's input, on a new line.", regenerate_turn),
        )
    ),
)
