"""What a refusal or a failure of a Messages endpoint means (wire-format notes 4.6).

A vendor's message may quote the prompt or the key, so it is matched and never repeated: `detail` is our own sentence with
the status and the vendor's words for the error, where those are plain ones.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.entries import lossless
from app.entries.deltas import StreamFailed
from app.formats.protocols import UpstreamFault
from app.formats.refusals import lowered, request_id, retry_after_ms, wished

_OVERFLOW = re.compile(r"prompt is too long|input is too long|exceeds? (the )?(maximum )?context|context (limit|window)", re.IGNORECASE)
_KINDS: Mapping[int, str] = MappingProxyType(
    {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        409: "conflict_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
)
_STATUS: Mapping[str, int] = MappingProxyType({kind: status for status, kind in _KINDS.items()})
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,63}")
_SECRETISH = re.compile(r"(sk|key)[-_]|\d{6}", re.IGNORECASE)
_REQUEST_ID_HEADERS = ("request-id", "x-request-id", "x-amzn-requestid", "cf-ray")


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFault:
    """The fault of a response that is no answer. `headers` by any case; `body` as received, JSON or not.

    A 429 without a wait comes from a spend cap, which no second try gets past.
    """
    told = lowered(headers)
    document = _object(body)
    error = _error_of(document)
    wait_ms = retry_after_ms(told)
    code, retryable = _classify(status, error)
    if status == 429 and wait_ms is None:
        retryable = False
    return UpstreamFault(
        code,
        f"The upstream answered {status}{_said(error)}.",
        retryable=wished(told, code, retryable),
        retry_after_ms=wait_ms,
        http_status=status,
        provider_request_id=request_id([*(told.get(name) for name in _REQUEST_ID_HEADERS), str(document.get("request_id") or "")]),
    )


def write_error(status: int, code: str | None) -> bytes:
    """The body of a refusal in Anthropic's shape (4.6)."""
    error = {"type": code or _KINDS.get(status, "api_error"), "message": "scripted failure"}
    return lossless.dumps({"type": "error", "error": error, "request_id": None}).encode()


def stream_error(error: Any) -> StreamFailed:
    """The failure that an `error` event of a stream reports: what the same word means as a status."""
    found = error if isinstance(error, dict) else {}
    code, retryable = _classify(_STATUS.get(str(found.get("type")), 0), found)
    return StreamFailed(code, f"The stream ended with an error{_said(found)}.", retryable)


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = lossless.loads(body)
    except lossless.InvalidJson:
        return {}
    return document if isinstance(document, dict) else {}


def _error_of(document: dict[str, Any]) -> dict[str, Any]:
    """The error object; gateways send one flat, or a sentence instead of it."""
    nested = document.get("error")
    if isinstance(nested, dict):
        return nested
    return {"message": nested} if isinstance(nested, str) else document


def _classify(status: int, error: Mapping[str, Any]) -> tuple[str, bool]:
    """Our code, and whether the same bytes may be sent again. `status` 0: none was given."""
    kind, message = error.get("type"), error.get("message")
    if status == 413 or kind == "request_too_large":
        return "upstream-overflow", False
    if status in (0, 400, 422) and isinstance(message, str) and _OVERFLOW.search(message):
        return "upstream-overflow", False
    if status == 402 or kind == "billing_error":
        return "upstream-rate-limited", False
    if status in (401, 403) or kind in ("authentication_error", "permission_error"):
        return "upstream-auth", False
    if status == 429:
        return "upstream-rate-limited", True
    return "upstream-error", status in (408, 409, 425) or status >= 500


def _said(error: Mapping[str, Any]) -> str:
    """The vendor's words for the error in brackets, where they are plain ones that cannot be a key."""
    details = error.get("details")
    given = (error.get("type"), details.get("error_code") if isinstance(details, Mapping) else None)
    words = [word for word in given if isinstance(word, str) and _WORD.fullmatch(word) and not _SECRETISH.search(word)]
    return f" ({', '.join(dict.fromkeys(words))})" if words else ""
