"""Which model a call is for: the operator's upstreams, a frozen choice of the ledger, and what one turn overrides."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from app.config.faults import ConfigError
from app.config.upstreams import SCRIPTED, Upstream, base_url
from app.context.model_params import params_faults
from app.context.sources import AgentRevision
from app.entries.errors import Fault, Invalid
from app.entries.messages import Entry
from app.entries.settings import AgentAdopted, ModelSwitched
from app.formats.protocols import Format
from app.formats.registry import FORMATS
from app.models.presets import PRESETS, Preset
from app.models.resolve import LIMITS_SOURCES, Known, Limits, ModelChoice, Target, UnknownCapacity, resolve
from app.models.tokens import ESTIMATORS, Counter
from app.models.traits import with_traits
from app.models.wire_rules import UnknownQuirk, WireRules, with_quirks

_NO_PRESET = Preset("")

RULES_REMEMBERED_MAX = 1_024
"""Models whose wire rules a process keeps ready; they are the same for every call."""


def completed(upstreams: Mapping[str, Upstream]) -> Mapping[str, Upstream]:
    """The upstreams with what their presets say, checked against the dialects, quirks and estimators that there are.

    Raises `ConfigError` with the field, never with its value.
    """
    return MappingProxyType({name: _completed(f"upstreams.{name}", upstream) for name, upstream in upstreams.items()})


def _completed(where: str, upstream: Upstream) -> Upstream:
    preset = _preset(upstream)
    if preset is None:
        raise ConfigError(f"{where}.preset: one of {', '.join(PRESETS)}")
    dialect = upstream.dialect or preset.dialect
    form = FORMATS.get(dialect)
    if form is None:
        raise ConfigError(f"{where}.dialect: one of {', '.join(FORMATS)}")
    if upstream.exact_counting and form.counting is None:
        raise ConfigError(f"{where}.exact_counting: no endpoint of this dialect counts")
    try:
        with_quirks(form.rules_for(""), upstream.quirks)
    except UnknownQuirk as error:
        raise ConfigError(f"{where}.quirks: {error}") from None
    for name, model in upstream.models.items():
        if model.tokenizer is not None and model.tokenizer not in ESTIMATORS:
            raise ConfigError(f'{where}.models."{name}".tokenizer: one of {", ".join(ESTIMATORS)}')
    url = upstream.base_url
    if upstream.preset is not None and url is None:
        url = base_url(f"{where}.base_url", preset.base_url)
    return replace(upstream, dialect=dialect, base_url=url)


def _preset(upstream: Upstream) -> Preset | None:
    return _NO_PRESET if upstream.preset is None else PRESETS.get(upstream.preset)


class Targets:
    """Resolves choices against the configured upstreams, and keeps one token counter an estimator."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        """Raises `ConfigError` as `completed` does."""
        self.upstreams = completed(upstreams)
        self.provider_limits: dict[str, Mapping[str, Limits]] = {}
        """What providers said of their own models, by upstream and model name."""
        self._counters: dict[str, Counter] = {}
        self._rules = lru_cache(maxsize=RULES_REMEMBERED_MAX)(self._rules_of)
        self.digest = self._digest()
        """Of all that a target takes from the operator's configuration and from providers: another one may resolve the same model otherwise."""

    def learn(self, upstream: str, limits: Mapping[str, Limits]) -> None:
        """Takes what a provider says of its models; it holds for what is resolved from now on."""
        self.provider_limits[upstream] = MappingProxyType(dict(limits))
        self.digest = self._digest()

    def _digest(self) -> str:
        named = [
            (
                name,
                one.dialect,
                one.preset,
                sorted(one.quirks.items()),
                sorted(one.models.items()),
                sorted(self.provider_limits.get(name, {}).items()),
            )
            for name, one in sorted(self.upstreams.items())
        ]
        return hashlib.sha256(repr(named).encode()).hexdigest()

    def upstream(self, name: str, pointer: str = "/model/upstream") -> Upstream:
        """The configured upstream. Raises `Invalid` for a name that the operator does not know."""
        found = self.upstreams.get(name)
        if found is None:
            fault = Fault(pointer, "unknown-upstream", "No upstream of this name is configured; see GET /upstreams.")
            raise Invalid([fault], code="unknown-upstream")
        return found

    def resolve(self, model: ModelChoice, explicit: Limits | None, pointer: str = "/model", limits_pointer: str | None = None) -> Target:
        """The frozen target. Raises `Invalid` for an unknown upstream, dialect, quirk or capacity: nothing is guessed.

        `pointer`: where the request names the model; `limits_pointer`: where it would state the limits, if it can.
        """
        upstream = self.upstream(model.upstream, f"{pointer}/upstream")
        dialect = upstream.dialect
        if model.upstream == SCRIPTED:
            dialect = str(model.params.get("dialect", dialect))
        form = form_of(dialect, f"{pointer}/params/dialect")
        known, tokenizer = self.known(upstream, model.name)
        try:
            return resolve(model, explicit, dialect, self._rules(upstream.name, form.dialect, model.name), known, tokenizer, upstream.account)
        except UnknownCapacity as error:
            raise Invalid([Fault(limits_pointer or pointer, "unknown-capacity", str(error))], code="unknown-capacity") from None

    def _rules_of(self, upstream: str, dialect: str, model: str) -> WireRules:
        return rules_of(self.upstreams[upstream], FORMATS[dialect], model)

    def known(self, upstream: Upstream, name: str) -> tuple[Known, str | None]:
        """What is known of a model of an upstream besides its agent's document, and the operator's word on its tokenizer."""
        operator = upstream.models.get(name)
        preset = _preset(upstream) or _NO_PRESET
        stated = None if operator is None else Limits(operator.context_window, operator.max_output_tokens, "operator", operator.max_input_tokens)
        provider = self.provider_limits.get(upstream.name, {}).get(name)
        return Known(stated, provider, preset.catalogued), None if operator is None else operator.tokenizer

    def other_dialect(self, target: Target, dialect: str) -> Target:
        """The same model in another wire format. Raises `Invalid` for one that is not built."""
        upstream = self.upstream(target.model.upstream)
        rules = with_traits(form_of(dialect, "/dialect").rules_for(target.model.name), target.model.name)  # quirks are a server's: it speaks another
        return resolve(target.model, target.limits, dialect, rules, None, self.known(upstream, target.model.name)[1], upstream.account)

    def counter(self, estimator: str) -> Counter:
        """The counter of an estimator, made once."""
        found = self._counters.get(estimator)
        if found is None:
            found = self._counters[estimator] = Counter(estimator)
        return found


def rules_of(upstream: Upstream, form: Format, model: str) -> WireRules:
    """The wire rules of a model there: its dialect's for the model, what the model itself takes, the preset's, the operator's quirks.

    A preset knows its server by its own dialect; of one that is spoken to in another nothing is taken.
    """
    preset = _preset(upstream) or _NO_PRESET
    served = preset.quirks if preset.dialect == form.dialect else {}
    return with_quirks(with_traits(form.rules_for(model), model), {**served, **upstream.quirks})


def form_of(dialect: str, pointer: str) -> Format:
    """The format of a dialect. Raises `Invalid`."""
    found = FORMATS.get(dialect)
    if found is None:
        raise Invalid([Fault(pointer, "unknown-dialect", f"No wire format has this name; known are {', '.join(FORMATS)}.")])
    return found


def model_in_force(agent: AgentRevision, settings: Mapping[str, Entry]) -> tuple[ModelChoice, Limits]:
    """The model that holds at the head that `settings` (latest entry of each kind) was read at."""
    body = switched_model(settings)
    if body is not None and body.context_window is not None and body.max_output_tokens is not None:
        source = next((one for one in LIMITS_SOURCES if one == body.limits_source), LIMITS_SOURCES[0])
        limits = Limits(body.context_window, body.max_output_tokens, source, body.max_input_tokens)
        return ModelChoice(body.upstream, body.name, body.params), limits
    return agent.model, agent.limits


def switched_model(settings: Mapping[str, Entry]) -> ModelSwitched | None:
    """The switch of the model that holds at the head that `settings` was read at; None where the agent's own model does."""
    switched, adopted = settings.get("model_switched"), settings.get("agent_adopted")
    if switched is None or switched.payload is None or not (adopted is None or adopted.seq < switched.seq or _keeps(adopted)):
        return None
    return ModelSwitched.decode(switched.payload)


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
