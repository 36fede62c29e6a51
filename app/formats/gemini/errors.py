"""What a refusal or a failure of Gemini means (wire-format notes 5.3).

A vendor's message may quote the prompt or the key, so it is matched and never repeated: `detail` is our own sentence with the number,
Google's status and the reason, where those are plain words in capitals, as no key is.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.entries import lossless
from app.entries.deltas import StreamFailed
from app.formats.protocols import UpstreamFault
from app.formats.refusals import bounded_ms, lowered, request_id, retry_after_ms

_STATUSES: Mapping[str, int] = MappingProxyType(
    {
        "INVALID_ARGUMENT": 400,
        "FAILED_PRECONDITION": 400,
        "OUT_OF_RANGE": 400,
        "UNAUTHENTICATED": 401,
        "PERMISSION_DENIED": 403,
        "NOT_FOUND": 404,
        "ABORTED": 409,
        "RESOURCE_EXHAUSTED": 429,
        "CANCELLED": 499,
        "INTERNAL": 500,
        "UNIMPLEMENTED": 501,
        "UNAVAILABLE": 503,
        "DEADLINE_EXCEEDED": 504,
    }
)
_WORDS: Mapping[int, str] = MappingProxyType({number: word for word, number in reversed(list(_STATUSES.items()))})
_OVERFLOW = re.compile(r"input token count.*exceeds|exceeds the maximum number of tokens|request payload size exceeds|too many tokens", re.IGNORECASE)
_BAD_KEY = re.compile(r"API_KEY_|ACCESS_TOKEN_|CREDENTIALS_")
_WORD = re.compile(r"[A-Z][A-Z_]{1,63}")
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_REQUEST_ID_HEADERS = ("x-goog-request-id", "x-request-id", "request-id", "x-cloud-trace-context")


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFault:
    """The fault of a response that is no answer. `headers` by any case; `body` as received, JSON or not, wrapped in a list or not.

    `retry_after_ms` from `RetryInfo` among the details, else from the headers.
    """
    told = lowered(headers)
    error = _error_of(body)
    code, retryable = _classify(status, error)
    wait_ms = _retry_info_ms(error)
    return UpstreamFault(
        code,
        f"The upstream answered {status}{_said(error)}.",
        retryable=retryable,
        retry_after_ms=retry_after_ms(told) if wait_ms is None else wait_ms,
        http_status=status,
        provider_request_id=request_id(told.get(name) for name in _REQUEST_ID_HEADERS),
    )


def write_error(status: int, code: str | None) -> bytes:
    """The body of a refusal in Google's shape. `code`: Google's status, where it is not the one that goes with the number."""
    return lossless.dumps({"error": {"code": status, "message": "scripted failure", "status": code or _WORDS.get(status, "UNKNOWN")}}).encode()


def write_stream_error(code: str) -> str:
    """The same for an error inside a stream, which has no HTTP status of its own."""
    return write_error(_STATUSES.get(code, 500), code if code in _STATUSES else None).decode()


def stream_error(error: Any) -> StreamFailed:
    """The failure that an error object inside a stream reports."""
    found = error if isinstance(error, dict) else {}
    code, retryable = _classify(0, found)
    return StreamFailed(code, f"The stream ended with an error{_said(found)}.", retryable, _retry_info_ms(found))


def _error_of(body: bytes) -> dict[str, Any]:
    try:
        document = lossless.loads(body)
    except lossless.InvalidJson:
        return {}
    if isinstance(document, list):
        document = document[0] if document else {}
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else {}


def _classify(status: int, error: Mapping[str, Any]) -> tuple[str, bool]:
    """Our code, and whether the same bytes may be sent again. `status` 0: none was given but in the error itself."""
    word = error.get("status")
    number = error.get("code")
    if not status and isinstance(number, int) and 400 <= number < 600:
        status = number
    if not status and isinstance(word, str):
        status = _STATUSES.get(word, 0)
    message = error.get("message")
    reasons = " ".join(_details(error, "reason"))
    if status == 413 or (status in (0, 400) and isinstance(message, str) and _OVERFLOW.search(message)):
        return "upstream-overflow", False
    if status in (401, 403) or word in ("UNAUTHENTICATED", "PERMISSION_DENIED") or _BAD_KEY.search(reasons):
        return "upstream-auth", False
    if status == 429 or word == "RESOURCE_EXHAUSTED":
        return "upstream-rate-limited", not _is_spent(error)
    return "upstream-error", status in (408, 409, 425, 499) or (status >= 500 and status != 501)


def _details(error: Mapping[str, Any], key: str) -> list[str]:
    """What the details say under a key, texts alone."""
    listed = error.get("details")
    found = [detail.get(key) for detail in listed if isinstance(detail, dict)] if isinstance(listed, list) else []
    return [value for value in found if isinstance(value, str)]


def _is_spent(error: Mapping[str, Any]) -> bool:
    """Whether a quota of a day is used up, so that waiting a little is of no use."""
    listed = error.get("details")
    for detail in listed if isinstance(listed, list) else ():
        violations = detail.get("violations") if isinstance(detail, dict) else None
        for violation in violations if isinstance(violations, list) else ():
            quota = violation.get("quotaId") if isinstance(violation, dict) else None
            if isinstance(quota, str) and "PerDay" in quota:
                return True
    return False


def _said(error: Mapping[str, Any]) -> str:
    """Google's number, status and reasons in brackets, where they are plain."""
    given = [word for word in (error.get("status"), *_details(error, "reason")) if isinstance(word, str) and _WORD.fullmatch(word)]
    number = error.get("code")
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 100_000:
        given.insert(0, str(number))
    return f" ({', '.join(dict.fromkeys(given))})" if given else ""


def _retry_info_ms(error: Mapping[str, Any]) -> int | None:
    """`retryDelay` of a `RetryInfo`, spelled like `14s` or `14.5s`."""
    for delay in _details(error, "retryDelay"):
        if found := _SECONDS.fullmatch(delay):
            return bounded_ms(float(found[1]) * 1000)
    return None
