"""Sessions, their state and their line."""

from typing import Any

from starlette.responses import Response

from app.api.answers import etagged, json_answer, page_answer, unchanged
from app.api.documented import PAGE, ok, plain
from app.api.headers import expected_meta, not_modified
from app.api.routing import Exchange, Operation
from app.api.schemas.basics import LIMIT, SEQ, column, one_of
from app.api.schemas.sessions import CLEAR, CREATE, FORK, PATCH, PATCH_STATE, PUT_LINE
from app.config.limits import LIST_LIMIT_DEFAULT
from app.services.session_changes import Change
from app.services.session_views import etag
from app.services.sessions import Opened, SessionInput
from app.storage.rows import SessionFilter, SessionRow


async def create_session(exchange: Exchange) -> Response:
    body = exchange.body
    given = SessionInput(
        agent=body["agent"],
        agent_revision=_int(body.get("agent_revision")),
        state=body.get("state", {}),
        title=body.get("title"),
        metadata=body.get("metadata", {}),
        user=body.get("user"),
        external_id=body.get("external_id"),
        if_exists=body.get("if_exists", "conflict"),
    )
    return _opened(await exchange.services.sessions.create(exchange.tenant, given, exchange.key))


async def fork_session(exchange: Exchange) -> Response:
    at_seq, expected = _int(exchange.body.get("at_seq")), exchange.expected_head()
    return _opened(await exchange.services.forks.fork(exchange.tenant, exchange.path("session_id"), at_seq, exchange.key, expected))


def _opened(opened: Opened) -> Response:
    headers = {"location": f"/sessions/{opened.session['id']}", "etag": opened.etag}
    if opened.replayed:
        headers["idempotent-replayed"] = "true"
    return json_answer(opened.session, 201 if opened.created else 200, headers)


async def list_sessions(exchange: Exchange) -> Response:
    query = exchange.query
    chosen = SessionFilter(
        agent=query.get("agent"),
        user=query.get("user"),
        external_id=query.get("external_id"),
        status=query.get("status"),
        metadata=tuple(query.get("metadata", {}).items()),
    )
    return page_answer(await exchange.services.sessions.list(exchange.tenant, chosen, query.get("after"), query.get("limit", LIST_LIMIT_DEFAULT)))


async def get_session(exchange: Exchange) -> Response:
    row = await exchange.services.sessions.find(exchange.tenant, exchange.path("session_id"))
    if not_modified(exchange.request, etag(row)):
        return unchanged(etag(row))
    return etagged(await exchange.services.sessions.views.view(row), etag(row))


async def patch_session(exchange: Exchange) -> Response:
    body = exchange.body
    revision = body.get("agent_revision")
    change = Change(
        title=body.get("title"),
        sets_title="title" in body,
        metadata=body.get("metadata"),
        agent=body.get("agent"),
        agent_revision="latest" if revision == "latest" else _int(revision),
        model=body.get("model"),
        checkpoint=body.get("checkpoint"),
        expected_head=exchange.expected_head(),
        expected_meta=expected_meta(exchange.request),
    )
    return await _changed(exchange, await exchange.services.changes.patch(exchange.tenant, exchange.path("session_id"), change))


async def put_line(exchange: Exchange) -> Response:
    row = await exchange.services.changes.set_line(exchange.tenant, exchange.path("session_id"), exchange.body["turn"], exchange.expected_head())
    return await _changed(exchange, row)


async def clear_session(exchange: Exchange) -> Response:
    cleared = await exchange.services.clearing.clear(exchange.tenant, exchange.path("session_id"), exchange.expected_head(), exchange.key)
    replayed = {"idempotent-replayed": "true"} if cleared.replayed else {}
    return json_answer(cleared.session, headers={"etag": cleared.etag, **replayed})


async def _changed(exchange: Exchange, row: SessionRow) -> Response:
    return json_answer(await exchange.services.sessions.views.view(row), headers={"etag": etag(row)})


async def get_state(exchange: Exchange) -> Response:
    state, tag = await exchange.services.states.view(exchange.tenant, exchange.path("session_id"), exchange.query.get("at_seq"))
    return unchanged(tag) if not_modified(exchange.request, tag) else etagged(state, tag)


async def get_plan(exchange: Exchange) -> Response:
    return json_answer(await exchange.services.plans.view(exchange.tenant, exchange.path("session_id")))


async def patch_state(exchange: Exchange) -> Response:
    state = await exchange.services.states.patch(exchange.tenant, exchange.path("session_id"), exchange.body, exchange.if_match())
    return json_answer(state, headers={"etag": f'"{state["head_seq"]}"'})


async def list_skill_snapshots(exchange: Exchange) -> Response:
    after, limit = exchange.query.get("after", 0), exchange.query.get("limit", LIST_LIMIT_DEFAULT)
    return page_answer(await exchange.services.skill_snapshots.page(exchange.tenant, exchange.path("session_id"), after, limit))


async def verify_session(exchange: Exchange) -> Response:
    """An erased session is gone here; the command walks its chain all the same."""
    await exchange.services.sessions.find(exchange.tenant, exchange.path("session_id"))
    return json_answer(await exchange.services.verifier.verify(exchange.tenant, exchange.path("session_id")))


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


READ, WRITE, TAG = "sessions:read", "sessions:write", "sessions"
_SESSION = ok("Session", "The session.", ("ETag",))

OPERATIONS = (
    Operation(
        "POST",
        "/sessions",
        "create_session",
        TAG,
        "Open a session.",
        create_session,
        {200: ok("Session", "It exists under its `external_id`.", ("ETag", "Location")), 201: ok("Session", "A new session.", ("ETag", "Location"))},
        WRITE,
        body=CREATE,
        errors=(409, 410),
    ),
    Operation(
        "GET",
        "/sessions",
        "list_sessions",
        TAG,
        "Sessions, newest activity first.",
        list_sessions,
        {200: ok("SessionList", "A page.")},
        READ,
        {
            **PAGE,
            "agent": column(64),
            "user": column(255),
            "external_id": column(255),
            "status": one_of("idle", "busy", "pending"),
            "metadata.": column(255),
        },
    ),
    Operation(
        "GET",
        "/sessions/{session_id}",
        "get_session",
        TAG,
        "One session.",
        get_session,
        {200: _SESSION, 304: plain("Not changed.")},
        READ,
        errors=(404,),
        conditional=True,
    ),
    Operation(
        "PATCH",
        "/sessions/{session_id}",
        "patch_session",
        TAG,
        "Change title, metadata, agent, model or checkpoint. `metadata` is replaced as a whole.",
        patch_session,
        {200: _SESSION},
        WRITE,
        body=PATCH,
        errors=(404, 409, 412),
    ),
    Operation(
        "PUT",
        "/sessions/{session_id}/line",
        "put_line",
        TAG,
        "Make a turn the last of the current line again.",
        put_line,
        {200: _SESSION},
        WRITE,
        body=PUT_LINE,
        errors=(404, 409, 412),
    ),
    Operation(
        "POST",
        "/sessions/{session_id}/fork",
        "fork_session",
        TAG,
        "Open a session that shares this one's past up to `at_seq` (by default its head) and goes on by itself; also while a turn runs.",
        fork_session,
        {201: ok("Session", "The fork.", ("ETag", "Location"))},
        WRITE,
        body=FORK,
        body_needed=False,
        errors=(404, 412),
    ),
    Operation(
        "POST",
        "/sessions/{session_id}/clear",
        "clear_session",
        TAG,
        "Begin the line anew, without a summary; the ledger stays.",
        clear_session,
        {200: ok("Session", "The session right behind the entry that cleared it.", ("ETag",))},
        WRITE,
        body=CLEAR,
        body_needed=False,
        errors=(404, 409, 412),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/plan",
        "get_plan",
        TAG,
        "The plan that the session's model keeps.",
        get_plan,
        {200: ok("Plan", "The plan, or null.")},
        READ,
        errors=(404,),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/state",
        "get_state",
        TAG,
        "The state by scope, now or at an earlier head.",
        get_state,
        {200: ok("State", "The state.", ("ETag",)), 304: plain("Not changed.")},
        READ,
        {"at_seq": SEQ},
        errors=(404,),
        conditional=True,
    ),
    Operation(
        "PATCH",
        "/sessions/{session_id}/state",
        "patch_state",
        TAG,
        "Merge a patch (RFC 7396) into the state; accepted while a turn runs.",
        patch_state,
        {200: ok("State", "The state after it.", ("ETag",))},
        WRITE,
        body=PATCH_STATE,
        errors=(404, 409, 412),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/skill-snapshots",
        "list_skill_snapshots",
        TAG,
        "Snapshots of skills on the current line, with their texts.",
        list_skill_snapshots,
        {200: ok("SkillSnapshotList", "A page.")},
        READ,
        {"limit": LIMIT, "after": SEQ},
        errors=(404,),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/verify",
        "verify_session",
        TAG,
        "Walk the digest chain and the invariants.",
        verify_session,
        {200: ok("Verification", "What was found.")},
        READ,
        errors=(404,),
    ),
)
