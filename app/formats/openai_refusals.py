"""What a refusal or a failure means where OpenAI's words for it are spoken: Chat, Responses, and the servers that speak them
(wire-format notes 1.4, 2.1, 2.3, 2.6, 2.7).

A vendor's message may quote the prompt or the key, so it is matched and never repeated: `detail` is our own sentence with
the status and the vendor's code, where that is a plain word.
"""

import re
from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.deltas import StreamFailed
from app.formats.protocols import UpstreamFault
from app.formats.refusals import lowered, request_id, retry_after_ms, wished

_OVERFLOW_CODES = frozenset({"context_length_exceeded", "string_above_max_length", "request_too_large"})
_OVERFLOW = re.compile(
    r"maximum context length|context_length_exceeded|reduce the length of the (messages|prompt)|prompt is too long|input is too long"
    r"|exceeds the maximum number of tokens|context window",
    re.IGNORECASE,
)
_QUOTA = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
    }
)
_RATE = frozenset({"rate_limit_exceeded", "slow_down", "rate_limit", "rate_limit_error", "too_many_requests", "requests", "tokens"})
_AUTH = frozenset({"invalid_api_key", "authentication_error", "invalid_authentication", "permission_error", "unauthorized"})
_ONCE_MORE = frozenset(
    {"server_error", "server_is_overloaded", "service_unavailable_error", "overloaded_error", "tool_use_failed", "vector_store_timeout"}
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,63}")
_SECRETISH = re.compile(r"(sk|key|gsk|xai)[-_]|\d{6}", re.IGNORECASE)
_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "cf-ray")


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFault:
    """The fault of a response that is no answer. `headers` by any case; `body` as received, JSON or not."""
    found = lowered(headers)
    error = _error_of(body)
    code, retryable = _classify(status, error)
    return UpstreamFault(
        code,
        f"The upstream answered {status}{_said(error)}.",
        retryable=wished(found, code, retryable),
        retry_after_ms=retry_after_ms(found),
        http_status=status,
        provider_request_id=request_id(found.get(name) for name in _REQUEST_ID_HEADERS),
    )


def write_error(status: int, code: str | None) -> bytes:
    """The body of a refusal in OpenAI's shape (1.4)."""
    return lossless.dumps({"error": {"message": "scripted failure", "type": None, "param": None, "code": code}}).encode()


def stream_error(error: Any) -> StreamFailed:
    """The failure that an error object inside a stream reports; gateways put a status into its `code`.

    An error event of Responses has code and message beside its type, or nested under `error` (12.5).
    """
    found = error if isinstance(error, dict) else {}
    if isinstance(found.get("error"), dict):
        found = found["error"]
    elif found.get("type") == "error":
        found = {key: value for key, value in found.items() if key != "type"}
    status = next((value for value in (_number(found.get("code")), _number(found.get("status"))) if value is not None and 400 <= value < 600), 0)
    code, retryable = _classify(status, found)
    return StreamFailed(code, f"The stream ended with an error{_said(found)}.", retryable)


def _error_of(body: bytes) -> dict[str, Any]:
    """The error object: nested under `error`, or flat as vLLM and Mistral send it."""
    try:
        document = lossless.loads(body)
    except lossless.InvalidJson:
        return {}
    if isinstance(document, list):
        document = document[0] if document else {}
    if not isinstance(document, dict):
        return {}
    nested = document.get("error")
    if isinstance(nested, dict):
        return nested
    return {"message": nested} if isinstance(nested, str) else document


def _classify(status: int, error: Mapping[str, Any]) -> tuple[str, bool]:
    """Our code, and whether the same bytes may be sent again. `status` 0: none was given."""
    words = {value.lower() for key in ("code", "type") if isinstance(value := error.get(key), str)}
    message = error.get("message")
    if words & _OVERFLOW_CODES or status == 413 or (status in (0, 400, 422) and isinstance(message, str) and _OVERFLOW.search(message)):
        return "upstream-overflow", False
    if words & _QUOTA or status == 402:
        return "upstream-rate-limited", False
    if status in (401, 403) or words & _AUTH:
        return "upstream-auth", False
    if status == 429 or (not status and words & _RATE):
        return "upstream-rate-limited", True
    if words & _ONCE_MORE:
        return "upstream-error", True
    return "upstream-error", status in (408, 409, 425) or status >= 500


def _said(error: Mapping[str, Any]) -> str:
    """The vendor's code and type in brackets, where they are plain words that cannot be a key."""
    given = [value for key in ("code", "type") if isinstance(value := error.get(key), str)]
    words = [word for word in given if _WORD.fullmatch(word) and not _SECRETISH.search(word)]
    number = _number(error.get("code"))
    if number is not None and 0 <= number < 100_000:
        words.insert(0, str(number))
    return f" ({', '.join(dict.fromkeys(words))})" if words else ""


def _number(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\d{3}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
