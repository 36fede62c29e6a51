"""From a model choice to a frozen target: limits, wire rules, estimator, and the digest that names them all."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from app.entries import lossless
from app.entries.producers import Producer
from app.models.catalogue import lookup
from app.models.tokens import COUNTED_ALIKE, HEURISTIC_BAND, estimator_for
from app.models.wire_rules import WireRules

UPSTREAM_PLAYS = frozenset({"script", "compaction_script"})
"""Parameters that the scripted upstream plays and that no body ever holds."""


class UnknownCapacity(ValueError):
    """Neither the document nor the operator nor the catalogue knows the model's limits: no guess is made."""


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
    counted with when they are appended (decision 3). `account` names the operator's account there: who gets a block back depends
    on it. `digest` is
    `sha256:<hex>` of everything else but the scripts that the built-in upstream plays; no secret ever enters it.
    """

    model: ModelChoice
    limits: Limits
    dialect: str
    rules: WireRules
    estimator: str
    error_band: float
    account: str
    digest: str

    @property
    def producer(self) -> Producer:
        """Who makes the opaque blocks of its answers, but for the prefix."""
        return Producer(self.dialect, self.account, self.model.name)


def resolve(
    model: ModelChoice,
    explicit: Limits | None,
    dialect: str,
    rules: WireRules,
    operator_limits: Limits | None = None,
    tokenizer: str | None = None,
    account: str = "",
) -> Target:
    """The target of a choice. Limits come from the document, else the operator, else the catalogue.

    `rules` are the dialect's for this model with every quirk laid over them; `tokenizer` is the operator's word on the model's
    encoding; `account` is the upstream's name where the operator did not say another. Raises `UnknownCapacity`.
    """
    limits = resolve_limits(model.name, explicit, operator_limits)
    estimator, band = (tokenizer, 0.0) if tokenizer else estimator_for(model.name)
    if estimator not in COUNTED_ALIKE:
        band = HEURISTIC_BAND
    account = account or model.upstream
    return Target(model, limits, dialect, rules, estimator, band, account, _digest(model, limits, dialect, rules, estimator, band, account))


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


def _digest(model: ModelChoice, limits: Limits, dialect: str, rules: WireRules, estimator: str, band: float, account: str) -> str:
    facts = {
        "upstream": model.upstream,
        "model": model.name,
        "params": {key: value for key, value in model.params.items() if key not in UPSTREAM_PLAYS},
        "limits": asdict(limits),
        "dialect": dialect,
        "rules": asdict(rules),
        "estimator": [estimator, band],
        "account": account,
    }
    return "sha256:" + hashlib.sha256(lossless.dumps(_ordered(facts)).encode()).hexdigest()


def _ordered(value: Any) -> Any:
    """Objects with their keys sorted, so that the order in a document does not tell two equal targets apart."""
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, (list, tuple)) else value
