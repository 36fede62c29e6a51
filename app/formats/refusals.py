"""What the headers of a refusal say in every vendor's words: how long to wait, whether to try again, and the request's id."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

_REQUEST_ID = re.compile(r"[!-~]{1,200}")
_WAIT_MS_MAX = 24 * 3600 * 1000


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers by names in lower case, values without blanks around them."""
    return {name.lower(): value.strip() for name, value in headers.items()}


def request_id(values: Iterable[str | None]) -> str | None:
    """The first that is an id: visible ASCII of bounded length."""
    return next((value for value in values if value and _REQUEST_ID.fullmatch(value)), None)


def wished(headers: Mapping[str, str], code: str, retryable: bool) -> bool:
    """Whether to try again, `x-should-retry` winning over what the status says; a wrong key stays wrong."""
    wish = headers.get("x-should-retry", "").lower()
    return wish == "true" if wish in ("true", "false") and code != "upstream-auth" else retryable


def bounded_ms(wait_ms: float) -> int | None:
    """A wait as it may be kept: from 0 to a day; None for one that is no number."""
    return round(min(max(wait_ms, 0.0), _WAIT_MS_MAX)) if isfinite(wait_ms) else None


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """The wait of `retry-after-ms`, or of `retry-after` in seconds or as a date (against the response's own `date`, since no clock is
    read here); None where none is told. `headers` as `lowered` gives them."""
    for name, factor in (("retry-after-ms", 1.0), ("retry-after", 1000.0)):
        try:
            wait_ms = bounded_ms(float(headers.get(name, "")) * factor)
        except ValueError:
            continue
        if wait_ms is not None:
            return wait_ms
    until, now = _date(headers.get("retry-after")), _date(headers.get("date"))
    return None if until is None or now is None else bounded_ms((until - now).total_seconds() * 1000)


def _date(value: str | None) -> datetime | None:
    if not value:
        return None
    try:
        found = parsedate_to_datetime(value)
    except (ValueError, IndexError, TypeError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
