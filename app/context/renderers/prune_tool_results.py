"""`prune_tool_results`: words that name the tool and the size stand for the content of old results (S0-32, T-08).

Old is what is neither among the newest `keep` results nor within the newest `protect_recent_tokens` of the messages placed before it; of
the two the one that is given counts, and with both a result has to be old by both. Ids, names and the pairing of calls and results stay.
A result that is no longer than the words stays as it is. `placeholder` may name `{tool}` and `{tokens}`.
"""

from collections.abc import Mapping
from typing import Any

from app.context.draft import Count, Draft, Reason
from app.context.fields import TEXT_CHARS_MAX, Check
from app.context.renderers.kinds import DocumentFacts, RendererKind
from app.context.sources import RendererSpec
from app.entries.parts import Text

PLACEHOLDER = "[The result of {tool} was left out: {tokens} tokens.]"
COUNT_MAX = 10**9


def render(draft: Draft, spec: RendererSpec, count: Count) -> None:
    keep, protect = spec.options.get("keep"), spec.options.get("protect_recent_tokens")
    placeholder = str(spec.options.get("placeholder", PLACEHOLDER))
    results = tokens = 0
    for item in reversed(draft.placed):
        message = item.message
        if message is None:
            continue
        before, tokens = tokens, tokens + item.tokens
        if message.role != "tool":
            continue
        results += 1
        if (keep is not None and results <= keep) or (protect is not None and before < protect):
            continue
        words = placeholder.replace("{tokens}", str(item.tokens)).replace("{tool}", message.name or "the tool")
        weight = count(words)
        media = any(not isinstance(part, Text) for part in message.parts)
        if media or item.tokens > weight:
            draft.replace(item, (Reason.RESULT_SHORTENED,), spec.renderer, message._replace(parts=(Text(words),)), weight, (None,))


def check(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    if "keep" not in spec and "protect_recent_tokens" not in spec:
        check.fault(f"{pointer}/keep", "missing", "This key is required, or `protect_recent_tokens` in its place.")
    for key in ("keep", "protect_recent_tokens"):
        if key in spec:
            check.integer(spec[key], f"{pointer}/{key}", 0, COUNT_MAX)
    if "placeholder" in spec:
        check.text(spec["placeholder"], f"{pointer}/placeholder", TEXT_CHARS_MAX)


KIND = RendererKind(render, ("keep", "protect_recent_tokens", "placeholder"), check)
