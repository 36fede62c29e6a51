"""Readers of a named table of the file. Each raises `ConfigError` with the dotted name of the field, never its value."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from app.config import limits
from app.config.faults import ConfigError
from app.config.parse import Parser, nearest, text
from app.config.secret import Secret

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_PLAIN = f"lower-case letters, digits, '-' and '_', at most {limits.AGENT_NAME_CHARS_MAX}"
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


def take_value(where: str, table: Mapping[str, Any], key: str, parse: Parser, default: Any) -> Any:
    """The parsed value of a key; `...` as the default means that it has to be there."""
    if key not in table:
        if default is ...:
            raise ConfigError(f"{where}.{key}: missing")
        return default
    try:
        return parse(table[key])
    except ValueError as error:
        raise ConfigError(f"{where}.{key}: {error}") from None


def read_table(where: str, value: object) -> Mapping[str, Any]:
    """The value, which has to be a table."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: a table")
    return value


def plain_name(value: object) -> str:
    """A name as agents spell it, blanks at the ends taken off. Raises `ValueError`."""
    found = text(value)
    if not _is_plain(found):
        raise ValueError(_PLAIN)
    return found


def check_name(where: str, name: str) -> None:
    """Refuses a table's name that is no plain one."""
    if not _is_plain(name):
        raise ConfigError(f"{where}: a name is {_PLAIN}")


def _is_plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and len(name) <= limits.AGENT_NAME_CHARS_MAX


def known(where: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Refuses a key that is none of `keys`."""
    for key in table:
        if key not in keys:
            raise ConfigError(f"{where}.{key}: unknown{nearest(key, keys)}")


def http_url(where: str, value: str, instead: str) -> str:
    """The URL as it is given. Refused with credentials, which belong into the keys that `instead` names, with a query, and with a fragment."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{where}: an http or https URL with a host")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"{where}: no user or password in the URL; use {instead}")
    if parts.query or parts.fragment or not _VISIBLE.fullmatch(value) or " " in value:
        raise ConfigError(f"{where}: visible ASCII, without query and fragment")
    return value


def read_headers(where: str, table: Mapping[str, Any], environ: Mapping[str, str]) -> Mapping[str, Secret]:
    """What `headers` says itself and `headers_env` by variables, by name."""
    found: dict[str, Secret] = {}
    for key in ("headers", "headers_env"):
        for name, value in read_table(f"{where}.{key}", table.get(key, {})).items():
            field_name = f"{where}.{key}.{name}" if _HEADER.fullmatch(name) else f"{where}.{key}"
            if not _HEADER.fullmatch(name):
                raise ConfigError(f"{field_name}: a header's name is made of the letters that RFC 9110 calls token")
            if not isinstance(value, str):
                raise ConfigError(f"{field_name}: a text")
            if key == "headers_env" and value not in environ:
                raise ConfigError(f"{field_name}: the variable it names is not set")
            if any(name.lower() == other.lower() for other in found):
                raise ConfigError(f"{field_name}: given twice")
            found[name] = header_value(field_name, environ[value] if key == "headers_env" else value)
    if len(found) > limits.HEADERS_PER_UPSTREAM_MAX:
        raise ConfigError(f"{where}.headers: at most {limits.HEADERS_PER_UPSTREAM_MAX}")
    return MappingProxyType(found)


def header_value(where: str, value: str) -> Secret:
    """A value that can stand in a header. A line break in it would let a key write headers of its own."""
    if not _VISIBLE.fullmatch(value):
        raise ConfigError(f"{where}: visible ASCII without line breaks and without blanks at the ends")
    return Secret(value)
