"""Whether a request fits: the hard limit and the marks below it, exactly as the contract (http-api 6) computes them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any, Literal

from app.context.passes.measure import Measured
from app.context.sources import AgentRevision
from app.models.resolve import Target

SAFETY_TOKENS_MAX = 4096
"""The safety margin is 5 % of the window, and never more than this."""

LOW_MARK = Fraction(4, 5)
"""Pruning that begins at its mark goes on to this share of it, so that the calls between the two marks share a prefix."""

RAW_TAIL_TOKENS_MIN, RAW_TAIL_TOKENS_MAX = 256, 20_000

Verdict = Literal["fits", "prune", "compact", "over"]
Method = Literal["exact", "tokenizer", "heuristic"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens. `input_limit` is what input may take: the window without reserve and safety, or the model's own limit for input without the
    safety, whichever is less. `remaining` is `input_limit` − `total` and negative where the request is over; `error_band` is a fraction.

    `verdict` compares the upper edge, `total` × (1 + `error_band`), with the marks: beyond `input_limit` it is `over`, from `trigger` on `compact`,
    from the mark of pruning on `prune`, below them `fits`. Exactly at the limit may be sent.
    """

    context_window: int
    output_reserve: int
    safety: int
    input_limit: int
    system: int
    tools: int
    messages: int
    overhead: int
    total: int
    remaining: int
    trigger: int
    verdict: Verdict
    method: Method
    error_band: float
    prune_from: int
    """The mark of pruning, never above `trigger`; inside alone."""

    @property
    def fits(self) -> bool:
        """Whether the request may be sent."""
        return self.verdict != "over"

    @property
    def presses(self) -> bool:
        """Whether compaction is due."""
        return self.verdict in ("compact", "over")

    def would_fit(self, total: int) -> bool:
        """Whether a request of so many estimated tokens may be sent."""
        return total * (1 + _exact(self.error_band)) <= self.input_limit

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "prune_from"}


def budget(target: Target, agent: AgentRevision, measured: Measured) -> Budget:
    """The budget of a measured request.

    Input and output share the window, so what the answer may take is kept free: `window − reserve − safety` (http-api 6). A model whose
    input has a smaller limit of its own (272,000 of 400,000) is held to that one too, less the safety, since there a bad estimate is
    refused as well; the answer takes nothing of it.
    """
    window = target.limits.context_window
    reserve = output_reserve(target.model.params, window, target.limits.max_output_tokens)
    safety = min(SAFETY_TOKENS_MAX, -(-window // 20))
    limit = window - reserve - safety
    if target.limits.max_input_tokens is not None:
        limit = min(limit, target.limits.max_input_tokens - safety)
    limit = max(0, limit)
    trigger = ceil(_exact(agent.compaction.trigger_fraction) * limit)
    if agent.compaction.max_tokens is not None:
        trigger = min(agent.compaction.max_tokens, trigger)
    total, prune_from = measured.total, min(trigger, ceil(_exact(agent.pruning.trigger_fraction) * limit))
    return Budget(
        context_window=window,
        output_reserve=reserve,
        safety=safety,
        input_limit=limit,
        system=measured.system,
        tools=measured.tools,
        messages=measured.messages,
        overhead=measured.overhead,
        total=total,
        remaining=limit - total,
        trigger=trigger,
        verdict=_verdict(total * (1 + _exact(target.error_band)), limit, trigger, prune_from),
        method="heuristic" if target.error_band else "tokenizer",
        error_band=target.error_band,
        prune_from=prune_from,
    )


def counted(estimated: Budget, total: int) -> Budget:
    """The budget with the provider's own count of the whole request in place of the estimate; its parts stay estimates."""
    limit = estimated.input_limit
    verdict = _verdict(Fraction(total), limit, estimated.trigger, estimated.prune_from)
    return replace(estimated, total=total, remaining=limit - total, verdict=verdict, method="exact", error_band=0.0)


def on_scale(found: Budget, measured: Measured, tokens: int) -> int:
    """Estimated tokens of the measured request, or of another form of it, as the budget has them: beside a provider's count in proportion to it."""
    return ceil(Fraction(tokens * found.total, measured.total)) if found.method == "exact" and measured.total else tokens


def _verdict(edge: Fraction, limit: int, trigger: int, prune_from: int) -> Verdict:
    if edge > limit:
        return "over"
    if edge >= trigger:
        return "compact"
    return "prune" if edge >= prune_from else "fits"


def prune_to(found: Budget) -> int:
    """The total to which pruning brings a request: the largest whose upper edge is not above the low mark."""
    return floor(LOW_MARK * found.prune_from / (1 + _exact(found.error_band)))


def output_reserve(params: Mapping[str, Any], context_window: int, max_output_tokens: int) -> int:
    """Tokens kept free for the answer: what the call asks for, else the model's maximum, at most a quarter of the window."""
    asked = params.get("max_output_tokens")
    return int(asked) if asked is not None else min(max_output_tokens, context_window // 4)


def raw_tail(target: Target, agent: AgentRevision) -> int:
    """Tokens of the newest messages that stay verbatim behind a summary: what the agent asks for, else a fifth of the window, clamped."""
    asked = agent.compaction.keep_recent_tokens
    return asked if asked is not None else min(RAW_TAIL_TOKENS_MAX, max(RAW_TAIL_TOKENS_MIN, target.limits.context_window // 5))


@lru_cache(maxsize=64)
def _exact(fraction: float) -> Fraction:
    """The fraction as it was written: 0.55 of 100 is 55, not 55.000…01 rounded up."""
    return Fraction(repr(float(fraction)))
