"""Where models are: operator configuration, never stored, never shown beyond name, dialect and whether a key is present."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.config import limits
from app.config.faults import ConfigError
from app.config.parse import Parser, flag, integer, number, text
from app.config.prices import Prices, read_prices
from app.config.secret import Secret
from app.config.tables import check_name, header_value, http_url, known, plain_name, read_headers, read_table, take_value

SCRIPTED = "scripted"
SCRIPTED_DIALECT = "openai-chat"
"""What the built-in upstream speaks unless `params.dialect` says otherwise."""

IMPORT_ACCOUNT = "import"
"""Stands in what was imported for an account that nobody knows; an upstream of that name would be sent the blocks of strangers."""

_REGION = re.compile(r"[a-z]{2,8}(?:-[a-z0-9]{1,16}){1,4}")


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What the operator says of a model. Lengths in tokens; `max_input_tokens` where input has a smaller limit than the window.

    `tokenizer` is the name of a tiktoken encoding or of a family (`heuristic:…`); None: as the model's name tells.
    """

    context_window: int
    max_output_tokens: int
    tokenizer: str | None = None
    max_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Waits for one upstream: until connected, and between two pieces of an answer (the first one included)."""

    connect_seconds: float = 10.0
    idle_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """What requests to an AWS service are signed with (SigV4), and the region that they are signed for."""

    region: str
    access_key_id: Secret
    secret_access_key: Secret
    session_token: Secret | None = None


@dataclass(frozen=True, slots=True)
class Upstream:
    """One place that serves models. `base_url` has its version segment and no trailing slash; the built-in `scripted` has none.

    `dialect` and `preset` are judged against what formats and presets there are by whoever resolves targets; with a preset, `dialect` and
    `base_url` may be left to it, and are empty and None until then. `metadata`: the models' limits are asked of the provider once, at the
    start. `exact_counting`: its own endpoint counts a request before it is sent, where it has one. `account` is whose models answer there, the
    upstream's own name unless two upstreams share one: a provider's opaque blocks go back to the account that they came from.
    `aws` signs what a dialect of AWS sends, where there is no `api_key`. `prices` hold for the models that `model_prices` do not name.
    """

    name: str
    dialect: str
    base_url: str | None = None
    api_key: Secret | None = None
    headers: Mapping[str, Secret] = field(default_factory=lambda: MappingProxyType({}))
    allow_private_network: bool = False
    timeouts: Timeouts = Timeouts()
    retries_max: int = 2
    quirks: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    models: Mapping[str, ModelLimits] = field(default_factory=lambda: MappingProxyType({}))
    account: str = ""
    preset: str | None = None
    metadata: bool = False
    exact_counting: bool = False
    aws: AwsKeys | None = None
    prices: Prices | None = None
    model_prices: Mapping[str, Prices] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def has_key(self) -> bool:
        """Whether requests are sent with a key of any kind."""
        return self.api_key is not None or self.aws is not None

    def prices_of(self, model: str) -> Prices | None:
        """What the operator says that a model's tokens cost; None: nothing."""
        return self.model_prices.get(model, self.prices)

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Everything of it that must not be seen."""
        keys = () if self.aws is None else (self.aws.access_key_id, self.aws.secret_access_key, self.aws.session_token)
        return tuple(value for value in (self.api_key, *self.headers.values(), *keys) if value is not None)


def read_upstreams(tables: Mapping[str, Any], environ: Mapping[str, str], timeouts: Timeouts, retries_max: int) -> Mapping[str, Upstream]:
    """All upstreams of the file's `[upstreams.NAME]` tables, and `scripted`, by name.

    `timeouts` and `retries_max` hold where a table does not say. Raises `ConfigError` with the dotted name of the field, never its value.
    """
    if len(tables) > limits.UPSTREAMS_MAX:
        raise ConfigError(f"upstreams: at most {limits.UPSTREAMS_MAX}")
    found = {SCRIPTED: Upstream(SCRIPTED, SCRIPTED_DIALECT, timeouts=timeouts, retries_max=retries_max)}
    for name, table in tables.items():
        where = f"upstreams.{name}"
        check_name(where, name)
        if name == SCRIPTED:
            raise ConfigError(f"{where}: this upstream is built in and cannot be configured")
        found[name] = _read_upstream(where, name, read_table(where, table), environ, timeouts, retries_max)
        if found[name].account == IMPORT_ACCOUNT:
            raise ConfigError(f"{where}.account: `{IMPORT_ACCOUNT}` stands for the unknown accounts of imported files; name another")
    return MappingProxyType(found)


_KEYS = (
    "dialect",
    "preset",
    "account",
    "base_url",
    "api_key_env",
    "aws_region",
    "aws_access_key_id_env",
    "aws_secret_access_key_env",
    "aws_session_token_env",
    "headers",
    "headers_env",
    "allow_private_network",
    "connect_timeout_seconds",
    "idle_timeout_seconds",
    "retries_max",
    "metadata",
    "exact_counting",
    "quirks",
    "models",
    "prices",
)


def _read_upstream(where: str, name: str, table: Mapping[str, Any], environ: Mapping[str, str], timeouts: Timeouts, retries_max: int) -> Upstream:
    known(where, table, _KEYS)

    def take(key: str, parse: Parser, default: Any) -> Any:
        return take_value(where, table, key, parse, default)

    preset = take("preset", text, None)
    tables = _model_tables(where, read_table(f"{where}.models", table.get("models", {})))
    return Upstream(
        name=name,
        dialect=take("dialect", text, ... if preset is None else ""),
        preset=preset,
        account=take("account", plain_name, name),
        base_url=None if preset is not None and "base_url" not in table else base_url(f"{where}.base_url", take("base_url", text, None)),
        api_key=_key(f"{where}.api_key_env", take("api_key_env", text, None), environ),
        aws=_aws(where, table, environ),
        headers=read_headers(where, table, environ),
        allow_private_network=take("allow_private_network", flag, False),
        timeouts=Timeouts(
            connect_seconds=take("connect_timeout_seconds", number(0.1, 600), timeouts.connect_seconds),
            idle_seconds=take("idle_timeout_seconds", number(0.1, 3600), timeouts.idle_seconds),
        ),
        retries_max=take("retries_max", integer(0, 10), retries_max),
        metadata=take("metadata", flag, False),
        exact_counting=take("exact_counting", flag, False),
        quirks=MappingProxyType(dict(read_table(f"{where}.quirks", table.get("quirks", {})))),
        models=_models(tables),
        prices=_prices(where, table),
        model_prices=MappingProxyType({model: prices for model, (at, one) in tables.items() if (prices := _prices(at, one)) is not None}),
    )


def base_url(where: str, value: str | None) -> str:
    """The URL without its trailing slash. Raises `ConfigError` for none, and for one that is more or less than a base."""
    if value is None:
        raise ConfigError(f"{where}: missing; it includes the version segment, for example https://host/v1")
    return http_url(where, value, "api_key_env or headers_env").rstrip("/")


def _key(where: str, variable: str | None, environ: Mapping[str, str]) -> Secret | None:
    value = environ.get(variable, "") if variable is not None else ""
    # An upstream whose key is not set yet is listed as such; the service still starts.
    return header_value(where, value) if value else None


def _aws(where: str, table: Mapping[str, Any], environ: Mapping[str, str]) -> AwsKeys | None:
    """The keys that the named variables hold; nothing else of the environment, and no file of AWS's own tools, is looked at."""
    if not any(key.startswith("aws_") for key in table):
        return None
    region = take_value(where, table, "aws_region", _region, ...)
    variables = {key: take_value(where, table, key, text, ...) for key in ("aws_access_key_id_env", "aws_secret_access_key_env")}
    access_key_id, secret_access_key = (_key(f"{where}.{key}", variable, environ) for key, variable in variables.items())
    token = _key(f"{where}.aws_session_token_env", take_value(where, table, "aws_session_token_env", text, None), environ)
    return None if access_key_id is None or secret_access_key is None else AwsKeys(region, access_key_id, secret_access_key, token)


def _region(value: object) -> str:
    found = text(value)
    if not _REGION.fullmatch(found):
        raise ValueError("a region such as us-east-1")
    return found


def _prices(where: str, table: Mapping[str, Any]) -> Prices | None:
    return read_prices(f"{where}.prices", read_table(f"{where}.prices", table["prices"])) if "prices" in table else None


def _model_tables(where: str, tables: Mapping[str, Any]) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """The tables of models, by name, each with its place."""
    if len(tables) > limits.MODELS_PER_UPSTREAM_MAX:
        raise ConfigError(f"{where}.models: at most {limits.MODELS_PER_UPSTREAM_MAX}")
    found = {}
    for name, value in tables.items():
        at = f'{where}.models."{name}"'
        found[name] = at, read_table(at, value)
        known(at, found[name][1], ("context_window", "max_input_tokens", "max_output_tokens", "tokenizer", "prices"))
    return found


def _models(tables: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Mapping[str, ModelLimits]:
    """What the tables say of models' limits; one that tells prices alone says nothing of them."""
    found = {}
    for name, (at, table) in tables.items():
        if set(table) == {"prices"}:
            continue
        window = take_value(at, table, "context_window", integer(1, 2**31 - 1), ...)
        found[name] = ModelLimits(
            context_window=window,
            max_output_tokens=take_value(at, table, "max_output_tokens", integer(1, window), ...),
            tokenizer=take_value(at, table, "tokenizer", text, None),
            max_input_tokens=take_value(at, table, "max_input_tokens", integer(1, window), None),
        )
    return MappingProxyType(found)
