"""Sessions in and out: a file becomes sessions, a session becomes a file."""

from collections.abc import AsyncIterator, Iterator

from starlette.responses import Response

from app.api.answers import JSON, NDJSON
from app.api.documented import ok
from app.api.routing import Answer, ASGIAnswer, Exchange, Operation, answered_once
from app.api.schemas.basics import BOOL, column, one_of
from app.api.streaming import Streamed
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.services.transfers.exports import EXPORT_FORMATS
from app.services.transfers.imports import IMPORT_FORMATS

_PIECE_BYTES = 64 * 1024
_LATER_EXPORTS = ("anthropic-messages", "markdown")
_MEDIA_TYPES = {"jsonl": NDJSON, "openai-chat": JSON}
_FILE_NAMES = {"jsonl": "session.jsonl", "openai-chat": "session.json"}


async def post_import(exchange: Exchange) -> Response:
    query = exchange.query
    if "format" not in query:
        raise Invalid([Fault("", "missing", f"`format` says how to read the file: {', '.join(IMPORT_FORMATS)}.")])

    async def make() -> str:
        report = await exchange.services.imports.import_bytes(
            exchange.tenant,
            query["format"],
            query.get("agent"),
            _pieces(exchange.body),
            dry_run=query.get("dry_run", False),
            may_put_agents="agents:write" in exchange.scope.scopes,
        )
        return lossless.dumps(report)

    return await answered_once(exchange, make, 201)


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]


async def get_export(exchange: Exchange) -> ASGIAnswer:
    """The first piece is awaited before the answer begins: what is refused is refused with a status."""
    form = exchange.query.get("format", "jsonl")
    pieces = exchange.services.exports.export(exchange.tenant, exchange.path("session_id"), form)
    first = await anext(pieces)
    headers = {
        "content-type": _MEDIA_TYPES[form],
        "content-disposition": f'attachment; filename="{_FILE_NAMES[form]}"',
        "cache-control": "no-store",
    }
    return Streamed(_after(first, pieces), headers)


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


TAG = "transfers"

OPERATIONS = (
    Operation(
        "POST",
        "/sessions/import",
        "import_sessions",
        TAG,
        "Sessions from a file, and what of it was kept, changed and lost.",
        post_import,
        {201: ok("Imported", "The report.")},
        "sessions:write",
        {"format": one_of(*IMPORT_FORMATS), "agent": column(64, 1), "dry_run": BOOL},
        takes_bytes=True,
        errors=(404, 409),
    ),
    Operation(
        "GET",
        "/sessions/{session_id}/export",
        "export_session",
        TAG,
        "A session as a file: `jsonl` holds everything and can be imported again.",
        get_export,
        {
            200: Answer(
                "The file.",
                {NDJSON: {"type": "string", "description": "One record a line."}, JSON: {"type": "object"}},
            )
        },
        "model-input:read",
        {"format": {**one_of(*EXPORT_FORMATS), "x-later": list(_LATER_EXPORTS)}},
        errors=(404,),
    ),
)
