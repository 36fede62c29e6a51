"""From a model choice to a frozen target: limits, wire rules, estimator, and the digest that names them all."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from app.entries import lossless
from app.models.catalogue import lookup
from app.models.tokens import COUNTED_ALIKE, HEURISTIC_BAND, estimator_for
from app.models.wire_rules import RULES_OF, UnknownQuirk, WireRules, rules_for

UPSTREAM_PLAYS = frozenset({"script", "compaction_script"})
"""Parameters that the scripted upstream plays and that no body ever holds."""


class UnknownCapacity(ValueError):
    """Neither the document nor the operator nor the catalogue knows the model's limits: no guess is made."""


class UnknownDialect(ValueError):
    """The upstream speaks a dialect that this build does not write."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens. `source`: the agent's document, the operator's configuration, or the dated catalogue."""

    context_window: int
    max_output_tokens: int
    source: Literal["explicit", "operator", "catalogue"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What a document names: an upstream, a model of it, and neutral parameters."""

    upstream: str
    name: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """What a body is compiled for.

    `error_band` is the fraction by which a count may be too low, 0 where the model's own tokenizer is the one that entries are
    counted with when they are appended (decision 3). `digest` is
    `sha256:<hex>` of everything else but the scripts that the built-in upstream plays; no secret ever enters it.
    """

    model: ModelChoice
    limits: Limits
    dialect: str
    rules: WireRules
    estimator: str
    error_band: float
    digest: str


def resolve(
    model: ModelChoice,
    explicit: Limits | None,
    upstream_dialect: str,
    operator_limits: Limits | None = None,
    quirks: Mapping[str, Any] | None = None,
    tokenizer: str | None = None,
) -> Target:
    """The target of a choice. Limits come from the document, else the operator, else the catalogue.

    `tokenizer` is the operator's word on a model's encoding. The scripted upstream speaks whatever `params.dialect` says.
    Raises `UnknownCapacity`, `UnknownDialect`, `UnknownQuirk`.
    """
    dialect = str(model.params.get("dialect", upstream_dialect)) if model.upstream == "scripted" else upstream_dialect
    if dialect not in RULES_OF:
        raise UnknownDialect(f"the dialect {dialect[:64]!r} is not built; built are {', '.join(sorted(RULES_OF))}")
    rules = rules_for(dialect, model.name, quirks)
    limits = resolve_limits(model.name, explicit, operator_limits)
    estimator, band = (tokenizer, 0.0) if tokenizer else estimator_for(model.name)
    if estimator not in COUNTED_ALIKE:
        band = HEURISTIC_BAND
    return Target(model, limits, dialect, rules, estimator, band, _digest(model, limits, dialect, rules, estimator, band))


def resolve_limits(name: str, explicit: Limits | None = None, operator: Limits | None = None) -> Limits:
    """The limits of a model: the document's, else the operator's, else the catalogue's. Raises `UnknownCapacity`."""
    found = explicit or operator
    if found is None:
        row = lookup(name)
        if row is None:
            raise UnknownCapacity(
                f"The capacity of {name[:128]!r} is unknown; state `limits.context_window` and `limits.max_output_tokens`, "
                "or configure the model under its upstream."
            )
        found = Limits(row.context_window, row.max_output_tokens, "catalogue")
    if found.context_window < 1 or found.max_output_tokens < 1:
        raise UnknownCapacity("`context_window` and `max_output_tokens` have to be positive.")
    return found


def _digest(model: ModelChoice, limits: Limits, dialect: str, rules: WireRules, estimator: str, band: float) -> str:
    facts = {
        "upstream": model.upstream,
        "model": model.name,
        "params": {key: value for key, value in model.params.items() if key not in UPSTREAM_PLAYS},
        "limits": asdict(limits),
        "dialect": dialect,
        "rules": asdict(rules),
        "estimator": [estimator, band],
    }
    return "sha256:" + hashlib.sha256(lossless.dumps(_ordered(facts)).encode()).hexdigest()


def _ordered(value: Any) -> Any:
    """Objects with their keys sorted, so that the order in a document does not tell two equal targets apart."""
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, (list, tuple)) else value


__all__ = ["Limits", "ModelChoice", "Target", "UnknownCapacity", "UnknownDialect", "UnknownQuirk", "WireRules", "resolve", "resolve_limits"]
