"""THE table of settings: each field of `Settings` is a row. The README's table, the variables and the file's keys are all read off it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.config.faults import ConfigError
from app.config.parse import Parser, choice, flag, integer, is_loopback, nearest, number, origins, postgres, secret, text
from app.config.secret import Secret
from app.config.tool_servers import ToolServer, read_tool_servers
from app.config.upstreams import Timeouts, Upstream, read_upstreams

PREFIX = "CONTEXT_LEDGER_"
CONFIG_VARIABLE = PREFIX + "CONFIG"
CONFIG_FILE = "context-ledger.toml"

# Variables with our prefix that are not settings: the file's own name, and what tests and benchmarks read.
_OTHER_VARIABLES = re.compile(PREFIX + r"(?:CONFIG|SHARED|TEST_\w+|BENCH_\w+)")
_KUBERNETES = re.compile(PREFIX + r"(?:SERVICE_\w+|PORT_\w+)")


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: the key in the file, the variable, what it is when unset, its unit, how it is read, and what it means in a line."""

    name: str
    env: str
    default: Any
    unit: str
    meaning: str
    parse: Parser


def _setting(default: Any, parse: Parser, unit: str, meaning: str) -> Any:
    return field(default=default, metadata={"parse": parse, "unit": unit, "meaning": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decides. Made by `load_settings`, or directly in tests; never changed afterwards."""

    host: str = _setting("127.0.0.1", text, "address", "Address to listen on; with `auth = local` a loopback address.")
    port: int = _setting(8080, integer(0, 65535), "port", "Port to listen on; 0 takes a free one.")
    workers: int = _setting(1, integer(1, 64), "processes", "Processes that serve the port.")
    auth: str = _setting("local", choice("local", "keys"), "local, keys", "`local`: no key, this machine only; `keys`: a bearer key a request.")
    bootstrap_key: Secret | None = _setting(None, secret, "secret", "A first key with all scopes, for `auth = keys`.")
    cors_origins: tuple[str, ...] = _setting((), origins, "list", "Origins whose pages may call the API.")
    database_url: Secret | None = _setting(None, postgres, "secret URL", "Postgres ≥ 15, as the app role. Unset: an embedded Postgres in `data_dir`.")
    migrate_database_url: Secret | None = _setting(None, postgres, "secret URL", "The same database, as a role that may create roles; for `migrate`.")
    data_dir: str = _setting(".data", text, "folder", "Folder of the embedded Postgres.")
    pool_size: int = _setting(10, integer(1, 1000), "connections", "Database connections of one process.")
    lease_seconds: float = _setting(30.0, number(0.1, 3600), "seconds", "How long a running turn stays claimed after its last renewal.")
    drain_seconds: float = _setting(10.0, number(0, 3600), "seconds", "How long running turns may go on after SIGTERM.")
    flush_ms: int = _setting(200, integer(10, 5000), "milliseconds", "Between two writes of streamed text to the delta log.")
    heartbeat_seconds: float = _setting(15.0, number(0.1, 300), "seconds", "Silence on an event stream before a comment is sent.")
    delta_retention_seconds: int = _setting(3600, integer(1, 2592000), "seconds", "How long the events of a settled turn can be replayed.")
    idempotency_seconds: int = _setting(86400, integer(1, 2592000), "seconds", "How long an idempotency key is kept.")
    connect_timeout_seconds: float = _setting(10.0, number(0.1, 600), "seconds", "Wait for a connection to an upstream.")
    idle_timeout_seconds: float = _setting(120.0, number(0.1, 3600), "seconds", "Wait for the next piece of an upstream's answer.")
    retries_max: int = _setting(2, integer(0, 10), "times", "Repeats of a failed model call before its first piece.")
    upstream_connections: int = _setting(1000, integer(1, 100000), "connections", "Connections to upstreams of one process.")
    fetch_media: str = _setting(
        "off",
        choice("off", "public", "any"),
        "off, public, any",
        "Whether images by URL are fetched when a turn is accepted, for models that take no URLs; `any`: from private networks too.",
    )
    log_level: str = _setting("info", choice("debug", "info", "warning", "error"), "level", "The least important log lines that are written.")
    log_format: str = _setting("auto", choice("auto", "text", "json"), "auto, text, json", "`auto`: text on a terminal, else a JSON object a line.")
    metrics_enabled: bool = _setting(True, flag, "true, false", "Whether `/metrics` is served.")
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: read_upstreams({}, {}, Timeouts(), 2))
    tool_servers: Mapping[str, ToolServer] = field(default_factory=lambda: MappingProxyType({}))


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(row.name, PREFIX + row.name.upper(), row.default, row.metadata["unit"], row.metadata["meaning"], row.metadata["parse"])
    for row in fields(Settings)
    if row.default is not MISSING
)


def load_settings(environ: Mapping[str, str], config_path: Path | None = None) -> Settings:
    """Settings from the file and the variables, which win. An empty variable counts as unset.

    The file is `config_path`, else `$CONTEXT_LEDGER_CONFIG`, else `context-ledger.toml` in the current folder if there is one.
    Raises `ConfigError` for an unknown key or variable (naming the nearest known), a bad value, or settings that do not go together.
    """
    document = _read_file(environ, config_path)
    _refuse_unknown(document, environ)
    values: dict[str, Any] = {}
    for row in SETTINGS:
        if environ.get(row.env, "") != "":
            values[row.name] = _parse(row, row.env, environ[row.env])
        elif row.name in document:
            values[row.name] = _parse(row, row.name, document[row.name])
    plain = Settings(**values)
    timeouts = Timeouts(plain.connect_timeout_seconds, plain.idle_timeout_seconds)
    upstreams = read_upstreams(_tables(document, "upstreams"), environ, timeouts, plain.retries_max)
    settings = Settings(**values, upstreams=upstreams, tool_servers=read_tool_servers(_tables(document, "tool_servers"), environ))
    _check_together(settings)
    return settings


def _tables(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    tables = document.get(name, {})
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{name}: a table for each, [{name}.NAME]")
    return tables


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Every secret value that the settings hold, for the redaction of logs."""
    found = [value.reveal() for row in SETTINGS if isinstance(value := getattr(settings, row.name), Secret)]
    for secrets in [place.secrets for place in settings.upstreams.values()] + [place.secrets for place in settings.tool_servers.values()]:
        found += [value.reveal() for value in secrets]
    return tuple(found)


def _read_file(environ: Mapping[str, str], config_path: Path | None) -> Mapping[str, Any]:
    named = config_path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    path = named or Path(CONFIG_FILE)
    try:
        return MappingProxyType(tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        if named is None:
            return MappingProxyType({})
        raise ConfigError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        # The parser's text may quote a character of the file, never more; its place is what helps.
        place = re.search(r"\(at [^)]*\)", str(error))
        raise ConfigError(f"{path}: not TOML {place.group() if place else ''}".rstrip()) from None


def _refuse_unknown(document: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    names = [row.name for row in SETTINGS] + ["upstreams", "tool_servers"]
    for key in document:
        if key not in names:
            raise ConfigError(f"{key}: unknown setting{nearest(key, names)}")
    variables = [row.env for row in SETTINGS] + [CONFIG_VARIABLE]
    for variable in environ:
        if variable.startswith(PREFIX) and variable not in variables and not _OTHER_VARIABLES.fullmatch(variable):
            hint = nearest(variable, variables)
            if _KUBERNETES.fullmatch(variable):
                hint = "; Kubernetes sets such variables for a service named context-ledger: set enableServiceLinks: false"
            raise ConfigError(f"{variable}: unknown variable{hint}")


def _parse(row: Setting, shown: str, value: object) -> Any:
    try:
        return row.parse(value)
    except ValueError as error:
        raise ConfigError(f"{shown}: {error}") from None


def _check_together(settings: Settings) -> None:
    if settings.auth == "local" and not is_loopback(settings.host):
        raise ConfigError("host: with auth = local only a loopback address; set auth = keys to listen on another")
