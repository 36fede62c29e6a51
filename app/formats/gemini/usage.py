"""Token figures of Gemini, both ways (wire-format notes 0.4).

`promptTokenCount` includes what was cached but not the results of server tools; `candidatesTokenCount` excludes thoughts.
"""

from collections.abc import Mapping
from typing import Any

from app.entries.deltas import Usage, token_count


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The figures of a `usageMetadata` object; one that is absent or no count stays unknown, which is not zero.

    Gemini leaves zeros out, so that of the two halves of a sum one may be absent; where both are, the sum is unknown.
    """
    return Usage(
        _sum(token_count(usage.get("promptTokenCount")), token_count(usage.get("toolUsePromptTokenCount"))),
        token_count(usage.get("cachedContentTokenCount")),
        None,
        _sum(token_count(usage.get("candidatesTokenCount")), token_count(usage.get("thoughtsTokenCount"))),
        token_count(usage.get("thoughtsTokenCount")),
    )


def write_usage(usage: Usage) -> dict[str, int]:
    """The `usageMetadata` object of a last chunk; unknown figures are left out."""
    found: dict[str, int] = {}
    if usage.input is not None:
        found["promptTokenCount"] = usage.input
    if usage.cached is not None:
        found["cachedContentTokenCount"] = usage.cached
    if usage.output is not None:
        found["candidatesTokenCount"] = max(0, usage.output - (usage.reasoning or 0))
    if usage.reasoning is not None:
        found["thoughtsTokenCount"] = usage.reasoning
    found["totalTokenCount"] = (usage.input or 0) + (usage.output or 0)
    return found


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)
