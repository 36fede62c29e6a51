"""Token figures of Chat Completions, both ways. Input includes cached and cache-written, output includes reasoning (wire-format notes 0.4)."""

from collections.abc import Mapping
from typing import Any

from app.entries.deltas import Usage, token_count


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The figures of a `usage` object; one that is absent or no count stays unknown, which is not zero."""
    prompt = _inner(usage.get("prompt_tokens_details"))
    completion = _inner(usage.get("completion_tokens_details"))
    cached = token_count(prompt.get("cached_tokens"))
    if cached is None:
        cached = token_count(usage.get("prompt_cache_hit_tokens"))  # DeepSeek's older spelling
    return Usage(
        token_count(usage.get("prompt_tokens")),
        cached,
        token_count(prompt.get("cache_write_tokens")),
        token_count(usage.get("completion_tokens")),
        token_count(completion.get("reasoning_tokens")),
    )


def write_usage(usage: Usage) -> dict[str, Any]:
    """The `usage` object of a final chunk; unknown figures are left out of the details and are 0 where the type demands one."""
    input_tokens, output_tokens = usage.input or 0, usage.output or 0
    found: dict[str, Any] = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens, "total_tokens": input_tokens + output_tokens}
    prompt = {key: value for key, value in (("cached_tokens", usage.cached), ("cache_write_tokens", usage.cache_write)) if value is not None}
    if prompt:
        found["prompt_tokens_details"] = prompt
    if usage.reasoning is not None:
        found["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return found


def _inner(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
