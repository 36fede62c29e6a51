"""What a request's headers ask for: conditions, idempotency, and the form of the answer."""

import hashlib
import re
from collections.abc import Sequence

from starlette.requests import Request

from app.api.problems import Problem
from app.services.turns.inputs import IdempotencyKey

NO_HEAD = 2**62
"""No session has this head: a condition that cannot be met."""

_KEY = re.compile(r"[!-~]{1,255}")
_HEAD = re.compile(r'(?P<quote>"?)(?P<head>[0-9]{1,18})(?:\.(?P<meta>[0-9]{1,18}))?(?P=quote)')


def idempotency_key(request: Request, raw: bytes) -> IdempotencyKey | None:
    """The key of a POST: bare or quoted, ≤ 255 visible ASCII. Its scope is the method and the path with its ids.

    Query parameters belong to what was asked, as the body does: a dry run is no answer to the request that is meant.
    """
    given = request.headers.getlist("idempotency-key")
    if not given:
        return None
    key = given[0].strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if len(given) > 1 or _KEY.fullmatch(key) is None:
        raise Problem("invalid-idempotency-key")
    query: bytes = request.scope["query_string"]
    asked = hashlib.sha256(raw)
    if query:
        asked.update(b"\0" + query)
    return IdempotencyKey(f"{request.method} {request.scope['path']}", key, asked.digest())


def expected_head(request: Request, in_body: int | None = None) -> int | None:
    """The head that a write expects, from `If-Match` and `expected_head`; None: any. Contradictions expect what cannot be."""
    header = request.headers.get("if-match")
    if header is None or header.strip() == "*":
        return in_body
    match = _HEAD.fullmatch(header.strip())
    head = NO_HEAD if match is None else int(match["head"])
    return head if in_body is None or in_body == head else NO_HEAD


def expected_meta(request: Request) -> int | None:
    """The version of title and metadata in `If-Match: "<head>.<meta>"`; None where it is not named."""
    match = _HEAD.fullmatch(request.headers.get("if-match", "").strip())
    return None if match is None or match["meta"] is None else int(match["meta"])


def not_modified(request: Request, etag: str) -> bool:
    """Whether `If-None-Match` names this ETag (weak comparison)."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    return given.strip() == "*" or etag in [one.strip().removeprefix("W/") for one in given.split(",")]


def negotiate(accept: str | None, offered: Sequence[str]) -> str:
    """The offered media type that `Accept` likes best, the first for a missing one or `*/*`. Raises `not-acceptable`."""
    if accept is None or accept.strip() in ("", "*/*"):
        return offered[0]
    best: tuple[float, int, int] | None = None
    chosen = ""
    for media_type in offered:
        rank = _rank(accept, media_type)
        if rank is not None and rank[0] > 0 and (best is None or rank > best):
            best, chosen = rank, media_type
    if not chosen:
        raise Problem("not-acceptable", f"This route answers in {', '.join(offered)}.")
    return chosen


def _rank(accept: str, media_type: str) -> tuple[float, int, int] | None:
    """Quality, exactness and (negative) place of the most exact range that holds the type; None where none does."""
    found: tuple[float, int, int] | None = None
    for place, item in enumerate(accept.split(",")):
        name, *parameters = [piece.strip().lower() for piece in item.split(";")]
        if name == media_type:
            exactness = 2
        elif name == media_type.partition("/")[0] + "/*":
            exactness = 1
        elif name == "*/*":
            exactness = 0
        else:
            continue
        if found is None or exactness > found[1]:
            found = (_quality(parameters), exactness, -place)
    return found


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return min(1.0, max(0.0, float(parameter[2:])))
            except ValueError:
                return 0.0
    return 1.0


def last_event_id(request: Request, after: int | None) -> int | None:
    """The cursor of a stream: `Last-Event-ID`, else `?after=`; None from the first event. An ill-formed header is refused.

    The header wins: a client that was cut off asks for the same URL again and says with it how far it has come since.
    """
    given = request.headers.get("last-event-id")
    if given is None or not given.strip():
        return after
    if re.fullmatch(r"[0-9]{1,18}", given.strip()) is None:
        raise Problem("invalid-request", "`Last-Event-ID` is an integer that this stream gave.")
    return int(given)
