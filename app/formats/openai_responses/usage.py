"""Token figures of Responses, both ways. Input includes cached and cache-written, output includes reasoning (wire-format notes 0.4)."""

from collections.abc import Mapping
from typing import Any

from app.entries.deltas import Usage, token_count


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The figures of a `usage` object; one that is absent or no count stays unknown, which is not zero."""
    given = _inner(usage.get("input_tokens_details"))
    made = _inner(usage.get("output_tokens_details"))
    return Usage(
        token_count(usage.get("input_tokens")),
        token_count(given.get("cached_tokens")),
        token_count(given.get("cache_write_tokens")),
        token_count(usage.get("output_tokens")),
        token_count(made.get("reasoning_tokens")),
    )


def write_usage(usage: Usage) -> dict[str, Any]:
    """The `usage` object of a terminal event; unknown figures are left out of the details and are 0 where the type demands one."""
    input_tokens, output_tokens = usage.input or 0, usage.output or 0
    given = {key: value for key, value in (("cached_tokens", usage.cached), ("cache_write_tokens", usage.cache_write)) if value is not None}
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": given,
        "output_tokens": output_tokens,
        "output_tokens_details": {} if usage.reasoning is None else {"reasoning_tokens": usage.reasoning},
        "total_tokens": input_tokens + output_tokens,
    }


def _inner(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
