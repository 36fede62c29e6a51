"""Where tools run that are not the client's: operator configuration, never stored, never shown; agents name a server, and nothing else of it."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from app.config import agent_limits
from app.config.faults import ConfigError
from app.config.parse import Parser, choice, flag, integer, number, text
from app.config.secret import Secret
from app.config.tables import check_name, http_url, known, read_headers, read_table, take_value

SIGNING_KEY_PREFIX = "whsec_"

_KEYS = (
    "kind",
    "url",
    "headers",
    "headers_env",
    "signing_key_env",
    "timeout_seconds",
    "result_bytes_max",
    "allow_private_network",
)
_OWN_HEADERS = re.compile(
    "accept(?:-encoding)?|connection|content-(?:encoding|length|type)|host|last-event-id|mcp-.*|te|trailer|transfer-encoding|upgrade|webhook-.*"
)
"""Headers that the service or a connection sets itself."""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """One server of tools. `timeout_seconds` is for one call, `result_bytes_max` for one answer as it comes from the network.

    `signing_key` signs what is posted to an `http` server: 24 to 64 bytes in base64 behind `whsec_`, as Standard Webhooks spells them.
    """

    name: str
    kind: Literal["http", "mcp"]
    url: str
    headers: Mapping[str, Secret] = field(default_factory=lambda: MappingProxyType({}))
    signing_key: Secret | None = None
    timeout_seconds: float = 60.0
    result_bytes_max: int = 2**20
    allow_private_network: bool = False

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Everything of it that must not be seen."""
        return tuple(value for value in (self.signing_key, *self.headers.values()) if value is not None)


def read_tool_servers(tables: Mapping[str, Any], environ: Mapping[str, str]) -> Mapping[str, ToolServer]:
    """All servers of the file's `[tool_servers.NAME]` tables, by name. Raises `ConfigError` with the dotted name of the field, never its value."""
    if len(tables) > agent_limits.TOOL_SERVERS_MAX:
        raise ConfigError(f"tool_servers: at most {agent_limits.TOOL_SERVERS_MAX}")
    found = {}
    for name, table in tables.items():
        where = f"tool_servers.{name}"
        check_name(where, name)
        found[name] = _read_server(where, name, read_table(where, table), environ)
    return MappingProxyType(found)


def _read_server(where: str, name: str, table: Mapping[str, Any], environ: Mapping[str, str]) -> ToolServer:
    known(where, table, _KEYS)

    def take(key: str, parse: Parser, default: Any) -> Any:
        return take_value(where, table, key, parse, default)

    kind = take("kind", choice("http", "mcp"), ...)
    if kind != "http" and "signing_key_env" in table:
        raise ConfigError(f"{where}.signing_key_env: only requests to a server of the kind http are signed")
    headers = read_headers(where, table, environ)
    for header in headers:
        if _OWN_HEADERS.fullmatch(header.lower()):
            raise ConfigError(f"{where}.headers: {header.lower()} is set by the service itself")
    return ToolServer(
        name=name,
        kind=kind,
        url=http_url(f"{where}.url", take("url", text, ...), "headers_env"),
        headers=headers,
        signing_key=_signing_key(f"{where}.signing_key_env", take("signing_key_env", text, None), environ),
        timeout_seconds=take("timeout_seconds", number(0.1, agent_limits.TOOL_SECONDS_MAX), 60.0),
        result_bytes_max=take("result_bytes_max", integer(2**10, agent_limits.TOOL_RESULT_BYTES_MAX), 2**20),
        allow_private_network=take("allow_private_network", flag, False),
    )


def _signing_key(where: str, variable: str | None, environ: Mapping[str, str]) -> Secret | None:
    """A server that asks for signatures gets no request without one: a variable that is not set is an error."""
    if variable is None:
        return None
    if not environ.get(variable):
        raise ConfigError(f"{where}: the variable it names is not set")
    try:
        key = base64.b64decode(environ[variable].removeprefix(SIGNING_KEY_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not environ[variable].startswith(SIGNING_KEY_PREFIX) or not 24 <= len(key) <= 64:
        raise ConfigError(f"{where}: `{SIGNING_KEY_PREFIX}` and the base64 of 24 to 64 bytes")
    return Secret(environ[variable])
