"""Answers: JSON as UTF-8 bytes, problems, and the header discipline that all of them share."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from app.entries import lossless
from app.services.pages import Page

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
NDJSON = "application/x-ndjson"
SSE = "text/event-stream"
NO_STORE = {"cache-control": "no-store"}


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document as JSON; never kept by caches on the way, since all of it belongs to one tenant."""
    return text_answer(lossless.dumps(value), status, headers)


def text_answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON text that is ready to send."""
    return Response(text.encode(), status, {**NO_STORE, **(headers or {})}, JSON)


def problem_answer(status: int, document: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    return Response(lossless.dumps(document).encode(), status, {**NO_STORE, **headers}, PROBLEM_JSON)


def etagged(value: Any, etag: str) -> Response:
    """A read that may be asked for again by its ETag: kept by the client, and asked about each time."""
    return Response(lossless.dumps(value).encode(), 200, {"etag": etag, "cache-control": "private, no-cache"}, JSON)


def unchanged(etag: str) -> Response:
    return Response(status_code=304, headers={"etag": etag, "cache-control": "private, no-cache"})


def listed(data: list[Any], next_: str | int | None = None) -> dict[str, Any]:
    """The envelope of a list; `next_` is where the next page begins, None on the last."""
    return {"object": "list", "data": data, "has_more": next_ is not None, "next": next_}


def page_answer(page: Page) -> Response:
    """One page of a list."""
    return json_answer(listed(page.data, page.next))
