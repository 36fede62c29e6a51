"""From a model choice to a frozen target: limits, wire rules, estimator, and the digest that names them all."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from app.entries import lossless
from app.entries.ids import text_digest
from app.entries.producers import Producer
from app.models.catalogue import lookup
from app.models.tokens import Estimate, estimate_by, estimate_for
from app.models.wire_rules import WireRules

UPSTREAM_PLAYS = frozenset({"script", "compaction_script"})
"""Parameters that the scripted upstream plays and that no body ever holds."""


class UnknownCapacity(ValueError):
    """Neither the document nor the operator, the provider or the catalogue knows the model's limits: no guess is made."""


LimitsSource = Literal["explicit", "operator", "provider", "catalogue"]
LIMITS_SOURCES: tuple[LimitsSource, ...] = get_args(LimitsSource)


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens. `source`: the agent's document, the operator's configuration, what the provider itself said, or the dated catalogue.

    Input and output share the window. `max_input_tokens`: a smaller limit for the input alone, where one is known.
    """

    context_window: int
    max_output_tokens: int
    source: LimitsSource
    max_input_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The object under which limits are stored and shown; a limit that is not known is left out."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model without its agent's document.

    `catalogued`: whether the upstream serves models under their vendor's limits, so that the catalogue speaks of them; of a server that
    is one's own, a model's name says nothing (S3-05, X-44).
    """

    operator: Limits | None = None
    provider: Limits | None = None
    catalogued: bool = True


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What a document names: an upstream, a model of it, and neutral parameters."""

    upstream: str
    name: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """What a body is compiled for.

    `estimate` is how its tokens are counted: by a public encoding, or for a family by scaling what entries were counted with when they
    were appended (decisions 3 and 16). `account` names the operator's account there: who gets a block back depends
    on it. `digest` is
    `sha256:<hex>` of everything else but the scripts that the built-in upstream plays; no secret ever enters it.
    """

    model: ModelChoice
    limits: Limits
    dialect: str
    rules: WireRules
    estimate: Estimate
    account: str
    digest: str

    @property
    def estimator(self) -> str:
        """The name of what counts, as manifests give it."""
        return self.estimate.estimator

    @property
    def error_band(self) -> float:
        """The fraction by which a count may be too low; 0 where the model's own tokenizer is the one that entries are counted with."""
        return self.estimate.error_band

    @property
    def producer(self) -> Producer:
        """Who makes the opaque blocks of its answers, but for the prefix."""
        return Producer(self.dialect, self.account, self.model.name)


def resolve(
    model: ModelChoice,
    explicit: Limits | None,
    dialect: str,
    rules: WireRules,
    known: Known | None = None,
    tokenizer: str | None = None,
    account: str = "",
) -> Target:
    """The target of a choice. Limits come from the document, else from what is known without it.

    `rules` are the dialect's for this model with every quirk laid over them; `tokenizer` is the operator's word on the model's
    estimator; `account` is the upstream's name where the operator did not say another. Raises `UnknownCapacity`, and `ValueError` for
    a tokenizer that does not exist.
    """
    limits = resolve_limits(model.name, explicit, known or Known())
    estimate = estimate_by(tokenizer) if tokenizer else estimate_for(model.name)
    account = account or model.upstream
    return Target(model, limits, dialect, rules, estimate, account, _digest(model, limits, dialect, rules, estimate, account))


def resolve_limits(name: str, explicit: Limits | None = None, known: Known | None = None) -> Limits:
    """The limits of a model: the document's, else the operator's, else the provider's, else the catalogue's (X-44).

    Each source counts as a whole: a window of one and an output limit of another would be nobody's word. Raises `UnknownCapacity` where
    none knows both, and for limits that contradict each other.
    """
    known = known or Known()
    found = explicit or known.operator or known.provider or (catalogue_limits(name) if known.catalogued else None)
    if found is None:
        raise UnknownCapacity(
            f"The capacity of {name[:128]!r} is unknown; state `limits.context_window` and `limits.max_output_tokens`, "
            "or configure the model under its upstream."
        )
    if min(found.context_window, found.max_output_tokens, 1 if found.max_input_tokens is None else found.max_input_tokens) < 1:
        raise UnknownCapacity("`context_window` and `max_output_tokens` have to be positive.")
    if found.max_output_tokens > found.context_window:
        raise UnknownCapacity("`max_output_tokens` may not exceed `context_window`.")
    return found


def catalogue_limits(name: str) -> Limits | None:
    """What the catalogue says of a model, if it knows window and output limit. An input limit that the window implies is left out."""
    row = lookup(name)
    if row is None or row.context_window is None or row.max_output_tokens is None:
        return None
    most = row.max_input_tokens
    return Limits(row.context_window, row.max_output_tokens, "catalogue", most if most is not None and most < row.context_window else None)


def _digest(model: ModelChoice, limits: Limits, dialect: str, rules: WireRules, estimate: Estimate, account: str) -> str:
    facts = {
        "upstream": model.upstream,
        "model": model.name,
        "params": {key: value for key, value in model.params.items() if key not in UPSTREAM_PLAYS},
        "limits": limits.to_json(),
        "dialect": dialect,
        "rules": _facts_of(rules),
        "estimator": [estimate.estimator, estimate.error_band, str(estimate.factor)],
        "account": account,
    }
    return text_digest(lossless.dumps(_ordered(facts)))


@lru_cache(256)
def _facts_of(rules: WireRules) -> Mapping[str, Any]:
    """The rules as JSON can say them. A service has few of them and resolves one for every call."""
    return MappingProxyType(asdict(rules))


def _ordered(value: Any) -> Any:
    """Objects with their keys sorted, so that the order in a document does not tell two equal targets apart."""
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, (list, tuple)) else value
