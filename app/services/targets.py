"""Which model a call is for: the operator's upstreams, a frozen choice of the ledger, and what one turn overrides."""

import hashlib
from collections.abc import Mapping
from typing import Any

from app.config.faults import ConfigError
from app.config.upstreams import SCRIPTED, Upstream
from app.context.model_params import params_faults
from app.context.sources import AgentRevision
from app.entries.errors import Fault, Invalid
from app.entries.messages import Entry
from app.entries.settings import AgentAdopted, ModelSwitched
from app.formats.protocols import Format
from app.formats.registry import FORMATS
from app.models.resolve import Limits, ModelChoice, Target, UnknownCapacity, resolve
from app.models.tokens import Counter
from app.models.wire_rules import UnknownQuirk, with_quirks


def check_upstreams(upstreams: Mapping[str, Upstream]) -> None:
    """Whether every upstream speaks a dialect of the registry, under quirks that exist. Raises `ConfigError`."""
    for name, upstream in upstreams.items():
        form = FORMATS.get(upstream.dialect)
        if form is None:
            raise ConfigError(f"upstreams.{name}.dialect: one of {', '.join(FORMATS)}")
        try:
            with_quirks(form.rules_for(""), upstream.quirks)
        except UnknownQuirk as error:
            raise ConfigError(f"upstreams.{name}.quirks: {error}") from None


class Targets:
    """Resolves choices against the configured upstreams, and keeps one token counter an estimator."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        check_upstreams(upstreams)
        self._upstreams = upstreams
        self._counters: dict[str, Counter] = {}
        named = [(name, one.dialect, sorted(one.quirks.items()), sorted(one.models.items())) for name, one in sorted(upstreams.items())]
        self.digest = hashlib.sha256(repr(named).encode()).hexdigest()
        """Of all that a target takes from the operator's configuration: another one may resolve the same model otherwise."""

    def upstream(self, name: str, pointer: str = "/model/upstream") -> Upstream:
        """The configured upstream. Raises `Invalid` for a name that the operator does not know."""
        found = self._upstreams.get(name)
        if found is None:
            fault = Fault(pointer, "unknown-upstream", "No upstream of this name is configured; see GET /upstreams.")
            raise Invalid([fault], code="unknown-upstream")
        return found

    def resolve(self, model: ModelChoice, explicit: Limits | None, pointer: str = "/model", limits_pointer: str | None = None) -> Target:
        """The frozen target. Raises `Invalid` for an unknown upstream, dialect, quirk or capacity: nothing is guessed.

        `pointer`: where the request names the model; `limits_pointer`: where it would state the limits, if it can.
        """
        upstream = self.upstream(model.upstream, f"{pointer}/upstream")
        operator = upstream.models.get(model.name)
        limits = None if operator is None else Limits(operator.context_window, operator.max_output_tokens, "operator")
        dialect = upstream.dialect
        if model.upstream == SCRIPTED:
            dialect = str(model.params.get("dialect", dialect))
        rules = with_quirks(form_of(dialect, f"{pointer}/params/dialect").rules_for(model.name), upstream.quirks)
        try:
            return resolve(model, explicit, dialect, rules, limits, operator.tokenizer if operator else None, upstream.account)
        except UnknownCapacity as error:
            raise Invalid([Fault(limits_pointer or pointer, "unknown-capacity", str(error))], code="unknown-capacity") from None

    def other_dialect(self, target: Target, dialect: str) -> Target:
        """The same model in another wire format. Raises `Invalid` for one that is not built."""
        upstream = self.upstream(target.model.upstream)
        operator = upstream.models.get(target.model.name)
        rules = form_of(dialect, "/dialect").rules_for(target.model.name)  # the quirks are a server's, and it speaks another dialect
        return resolve(target.model, target.limits, dialect, rules, None, operator.tokenizer if operator else None, upstream.account)

    def counter(self, estimator: str) -> Counter:
        """The counter of an estimator, made once."""
        found = self._counters.get(estimator)
        if found is None:
            found = self._counters[estimator] = Counter(estimator)
        return found


def form_of(dialect: str, pointer: str) -> Format:
    """The format of a dialect. Raises `Invalid`."""
    found = FORMATS.get(dialect)
    if found is None:
        raise Invalid([Fault(pointer, "unknown-dialect", f"No wire format has this name; known are {', '.join(FORMATS)}.")])
    return found


def model_in_force(agent: AgentRevision, settings: Mapping[str, Entry]) -> tuple[ModelChoice, Limits]:
    """The model that holds at the head that `settings` (latest entry of each kind) was read at."""
    switched, adopted = settings.get("model_switched"), settings.get("agent_adopted")
    if switched is not None and switched.payload is not None and (adopted is None or adopted.seq < switched.seq or _keeps(adopted)):
        body = ModelSwitched.decode(switched.payload)
        if body.context_window is not None and body.max_output_tokens is not None:
            return ModelChoice(body.upstream, body.name, body.params), Limits(body.context_window, body.max_output_tokens, "explicit")
    return agent.model, agent.limits


def _keeps(adopted: Entry) -> bool:
    return adopted.payload is not None and AgentAdopted.decode(adopted.payload).keeps_model


def overridden(model: ModelChoice, limits: Limits, override: Mapping[str, Any] | None) -> tuple[ModelChoice, Limits | None]:
    """The choice with a turn's `overrides.model` (`{upstream?, name?, params?}`) laid over it; limits stay with the model they are of.

    Raises `Invalid` for parameters that no call could follow.
    """
    if not override:
        return model, limits
    upstream, name = override.get("upstream", model.upstream), override.get("name", model.name)
    same = (upstream, name) == (model.upstream, model.name)
    given = override.get("params", {})
    if faults := params_faults(given, "/overrides/model/params", upstream):
        raise Invalid(faults)
    params = {**(model.params if same else {}), **given}
    return ModelChoice(upstream, name, params), limits if same else None
