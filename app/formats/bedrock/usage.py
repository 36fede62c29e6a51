"""Token figures of Converse, both ways. `inputTokens` excludes what was read from the cache and written to it (wire-format notes 0.4)."""

from collections.abc import Mapping
from typing import Any

from app.entries.deltas import Usage, token_count


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The figures of a `usage` object; one that is absent or no count stays unknown, which is not zero. Reasoning is not told apart."""
    fresh, output = token_count(usage.get("inputTokens")), token_count(usage.get("outputTokens"))
    cached, written = token_count(usage.get("cacheReadInputTokens")), token_count(usage.get("cacheWriteInputTokens"))
    return Usage(None if fresh is None else fresh + (cached or 0) + (written or 0), cached, written, output)


def write_usage(usage: Usage) -> dict[str, Any]:
    """The `usage` object of a stream's last event; unknown figures are left out, and are 0 where the model demands one."""
    cached, written, output = usage.cached or 0, usage.cache_write or 0, usage.output or 0
    fresh = max(0, (usage.input or 0) - cached - written)
    found = {"inputTokens": fresh, "outputTokens": output, "totalTokens": fresh + cached + written + output}
    known = (("cacheReadInputTokens", usage.cached), ("cacheWriteInputTokens", usage.cache_write))
    return found | {key: value for key, value in known if value is not None}
