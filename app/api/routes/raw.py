"""What happened: entries posted, entries read, blobs."""

import re
from collections.abc import AsyncIterator

from starlette.responses import Response

from app.api.answers import JSON, NDJSON, SSE, text_answer, unchanged
from app.api.documented import ok, plain, raw_answer
from app.api.headers import last_event_id, negotiate, not_modified
from app.api.problems import Problem
from app.api.routing import Answer, ASGIAnswer, Exchange, Operation
from app.api.schemas.basics import LIMIT, SEQ, one_of
from app.api.schemas.entries import POST_ENTRIES
from app.api.streaming import HEARTBEAT, NDJSON_HEADERS, OPENING, SSE_HEADERS, Streamed
from app.config import limits
from app.config.limits import LIST_LIMIT_DEFAULT
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.entries.kinds import KINDS
from app.formats.framing.sse import frame
from app.services.transcripts import RawQuery
from app.storage.rows import SessionRow

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(;[ -~]*)?")
_BLOB_HEADERS = {
    "content-disposition": "attachment",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=31536000, immutable",
}


async def post_entries(exchange: Exchange) -> Response:
    done = await exchange.services.entries.append(
        exchange.tenant, exchange.path("session_id"), exchange.body["entries"], exchange.expected_head(), exchange.key
    )
    headers = {"etag": f'"{done.head_seq}"'}
    if done.replayed:
        headers["idempotent-replayed"] = "true"
    return text_answer('{"entries":[' + ",".join(done.entries) + "]}", 201, headers)


async def get_raw(exchange: Exchange) -> ASGIAnswer:
    form = negotiate(exchange.request.headers.get("accept"), (JSON, NDJSON, SSE))
    query = exchange.query
    if query.get("view") == "ledger":
        exchange.need("model-input:read")
    transcripts = exchange.services.transcripts
    row = await transcripts.session(exchange.tenant, exchange.path("session_id"))
    chosen = RawQuery(
        view=query.get("view", "transcript"),
        line=query.get("line"),
        after_seq=query.get("after_seq", 0),
        before_seq=query.get("before_seq"),
        at_seq=query.get("at_seq"),
        kinds=query.get("kinds"),
        descending=query.get("order") == "desc",
        inline=query.get("blobs", "inline") == "inline",
    )
    if form == SSE:
        return _follow(exchange, row, chosen)
    tag = f'"{row.head_seq}"'
    if not_modified(exchange.request, tag):
        return unchanged(tag)
    if form == NDJSON:
        return Streamed(transcripts.lines(row, chosen, query.get("limit")), {**NDJSON_HEADERS, "etag": tag})
    page = await transcripts.page(row, chosen, query.get("limit", LIST_LIMIT_DEFAULT))
    more, next_ = ("false", "null") if page.next is None else ("true", str(page.next))
    text = '{"object":"list","data":[' + ",".join(page.entries) + f'],"has_more":{more},"next":{next_}}}'
    return text_answer(text, headers={"etag": tag, "cache-control": "private, no-cache"})


def _follow(exchange: Exchange, row: SessionRow, chosen: RawQuery) -> Streamed:
    after = last_event_id(exchange.request, chosen.after_seq) or 0
    following = RawQuery(chosen.view, chosen.line, after, None, None, chosen.kinds, False, chosen.inline)
    return Streamed(_frames(exchange, row, following), SSE_HEADERS, opening=OPENING)


async def _frames(exchange: Exchange, row: SessionRow, chosen: RawQuery) -> AsyncIterator[bytes]:
    async for item in exchange.services.transcripts.follow(row, chosen):
        yield HEARTBEAT if item is None else frame(item[0], "entry", item[1])


async def get_blob(exchange: Exchange) -> Response:
    digest = exchange.path("digest")
    tag = f'"{digest}"'
    media_type, content = await exchange.services.transcripts.blob(exchange.tenant, exchange.path("session_id"), digest)
    if not_modified(exchange.request, tag):
        return Response(status_code=304, headers={"etag": tag, "cache-control": _BLOB_HEADERS["cache-control"]})
    safe = media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    return Response(content, headers={**_BLOB_HEADERS, "content-type": safe, "etag": tag})


async def post_blob(exchange: Exchange) -> Response:
    media_type = exchange.request.headers.get("content-type", "").strip()
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise Problem("unsupported-media-type", "Say by `Content-Type` what the bytes are, for example image/png.")
    if len(exchange.body) > limits.BLOB_BYTES_MAX:
        raise Problem("payload-too-large", f"A blob may hold {limits.BLOB_BYTES_MAX} bytes.")
    if not exchange.body:
        raise Invalid([Fault("", "missing", "The body is the bytes of the blob; it is empty.")])
    new = False

    async def make() -> str:
        nonlocal new
        blob, new = await exchange.services.uploads.store(exchange.tenant, exchange.path("session_id"), media_type, exchange.body)
        return lossless.dumps(blob)

    text, replayed = await exchange.services.replays.once(exchange.tenant, exchange.key, make)
    return text_answer(text, 201 if new else 200, {"idempotent-replayed": "true"} if replayed else {})


TAG = "raw"

OPERATIONS = (
    Operation(
        "POST",
        "/sessions/{session_id}/entries",
        "post_entries",
        TAG,
        "Append messages without a model call.",
        post_entries,
        {201: ok("EntriesAppended", "The entries.", ("ETag",))},
        "sessions:write",
        body=POST_ENTRIES,
        errors=(404, 409, 412),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/raw",
        "get_raw",
        TAG,
        "What happened: the transcript that a person saw, or every entry.",
        get_raw,
        {200: raw_answer(), 304: plain("Not changed.")},
        "sessions:read",
        {
            "view": one_of("transcript", "ledger"),
            "line": one_of("current", "all"),
            "after_seq": SEQ,
            "before_seq": SEQ,
            "at_seq": SEQ,
            "limit": LIMIT,
            "order": one_of("asc", "desc"),
            "kinds": {"type": "array", "items": one_of(*KINDS)},
            "blobs": one_of("inline", "ref"),
        },
        errors=(404, 406),
        conditional=True,
    ),
    Operation(
        "POST",
        "/sessions/{session_id}/blobs",
        "post_blob",
        TAG,
        "Store the bytes of an image or a file, for messages to name by digest.",
        post_blob,
        {201: ok("Blob", "Stored."), 200: ok("Blob", "The session held these bytes already.")},
        "sessions:write",
        takes_bytes=True,
        errors=(404, 415),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/blobs/{digest}",
        "get_blob",
        TAG,
        "The bytes of a blob, as an attachment.",
        get_blob,
        {
            200: Answer("The bytes, of the media type that they were stored with.", {"*/*": {"type": "string", "format": "binary"}}, ("ETag",)),
            304: plain("Not changed."),
        },
        "sessions:read",
        errors=(404,),
        conditional=True,
    ),
)
