"""Token figures of Messages, both ways. The provider counts what comes from or goes to the cache beside the input; here input includes it
(wire-format notes 0.4)."""

from collections.abc import Mapping
from typing import Any

from app.entries.deltas import Usage, token_count

_READ, _WRITTEN = "cache_read_input_tokens", "cache_creation_input_tokens"


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The figures of a `usage` object; one that is absent or no count stays unknown, which is not zero."""
    plain, cached, written = token_count(usage.get("input_tokens")), token_count(usage.get(_READ)), token_count(usage.get(_WRITTEN))
    details = usage.get("output_tokens_details")
    return Usage(
        None if plain is None else plain + (cached or 0) + (written or 0),
        cached,
        written,
        token_count(usage.get("output_tokens")),
        token_count(details.get("thinking_tokens")) if isinstance(details, Mapping) else None,
    )


def write_usage(usage: Usage) -> dict[str, Any]:
    """The `usage` object of figures; those that are unknown are left out."""
    plain = None if usage.input is None else max(0, usage.input - (usage.cached or 0) - (usage.cache_write or 0))
    figures = (("input_tokens", plain), (_WRITTEN, usage.cache_write), (_READ, usage.cached), ("output_tokens", usage.output))
    found: dict[str, Any] = {key: value for key, value in figures if value is not None}
    if usage.reasoning is not None:
        found["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return found
