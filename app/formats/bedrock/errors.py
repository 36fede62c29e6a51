"""What a refusal or a failure of Bedrock means (wire-format notes 2.7 and 6.3; botocore's list of exceptions).

A vendor's message may quote the prompt, so it is matched and never repeated: `detail` is our own sentence with the status and
the exception's name.
"""

import re
from collections.abc import Mapping
from typing import Any

from app.entries import lossless
from app.entries.deltas import StreamFailed
from app.formats.protocols import UpstreamFault
from app.formats.refusals import lowered, request_id, retry_after_ms

_OVERFLOW = re.compile(
    r"(input|prompt) is too long|maximum context length|reduce the length of|exceeds the maximum number of tokens|context window"
    r"|input length and .max_tokens. exceed",
    re.IGNORECASE,
)
_TODAY = re.compile(r"per day|daily", re.IGNORECASE)
_AUTH = frozenset(
    {
        "accessdenied",
        "expiredtoken",
        "incompletesignature",
        "invalidclienttokenid",
        "invalidsignature",
        "missingauthenticationtoken",
        "notauthorized",
        "signaturedoesnotmatch",
        "unrecognizedclient",
    }
)
_RATE = frozenset({"throttling", "throttled", "toomanyrequests", "modelnotready", "servicequotaexceeded"})
_ONCE_MORE = frozenset({"internalserver", "internalfailure", "serviceunavailable", "modeltimeout", "modelerror", "modelstreamerror"})
_NAME = re.compile(r"[A-Za-z]{1,64}")

EXCEPTIONS: Mapping[str, str] = {
    "upstream-rate-limited": "throttlingException",
    "upstream-overflow": "validationException",
    "upstream-error": "modelStreamErrorException",
}
"""Our code → the exception that a stream of ours ends with."""


def read_error(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFault:
    """The fault of a response that is no answer. `headers` by any case; `body` as received, JSON or not.

    The exception's name stands in `x-amzn-errortype`, before a colon, or in the body's `__type`, behind a `#`.
    """
    told = lowered(headers)
    error = _error_of(body)
    name = _name(told.get("x-amzn-errortype") or error.get("__type") or "")
    code, retryable = _classify(status, name, error)
    return UpstreamFault(
        code,
        f"The upstream answered {status}{f' ({name})' if name else ''}.",
        retryable=retryable,
        retry_after_ms=retry_after_ms(told),
        http_status=status,
        provider_request_id=request_id([told.get("x-amzn-requestid")]),
    )


def write_error(status: int, code: str | None) -> bytes:
    """The body of a refusal; the exception's name is named in it, since a header cannot be."""
    return lossless.dumps({"message": "scripted failure"} | ({} if code is None else {"__type": code})).encode()


def stream_error(name: Any, payload: bytes) -> StreamFailed:
    """The failure that an exception inside a stream, or an error in place of one, reports."""
    error = _error_of(payload)
    said = _name(name if isinstance(name, str) and name else error.get("__type") or "")
    code, retryable = _classify(0, said, error)
    return StreamFailed(code, f"The stream ended with an error{f' ({said})' if said else ''}.", retryable)


def _error_of(body: bytes) -> dict[str, Any]:
    try:
        found = lossless.loads(body)
    except lossless.InvalidJson:
        return {}
    if not isinstance(found, dict):
        return {}
    inner = found.get("Output")  # how the front door answers what it does not know
    return {**found, "__type": inner["__type"]} if isinstance(inner, dict) and "__type" in inner else found


def _name(value: Any) -> str:
    """The bare name, where it is a plain word: `ThrottlingException` of `com.amazon.x#ThrottlingException:http://…`."""
    bare = value.split(":")[0].rpartition("#")[2] if isinstance(value, str) else ""
    return bare if _NAME.fullmatch(bare) else ""


def _classify(status: int, name: str, error: Mapping[str, Any]) -> tuple[str, bool]:
    """Our code, and whether the same bytes may be sent again. `status` 0: none was given."""
    word = name.lower().removesuffix("exception")
    message = error.get("message") or error.get("Message")
    text = message if isinstance(message, str) else ""
    if status == 413 or (word in ("", "validation", "modelstreamerror") and status in (0, 400, 424) and _OVERFLOW.search(text)):
        return "upstream-overflow", False
    if word in _AUTH or status in (401, 403):
        return "upstream-auth", False
    if word in _RATE or status == 429:
        return "upstream-rate-limited", word != "servicequotaexceeded" and not _TODAY.search(text)
    return "upstream-error", word in _ONCE_MORE or status in (408, 424) or status >= 500
