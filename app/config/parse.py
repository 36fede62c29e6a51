"""Readers of single values. Each takes what TOML or a variable holds and raises `ValueError` with what it takes, never with what it got."""

import difflib
import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Any

from app.config.secret import Secret

Parser = Callable[[object], Any]

_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,9})?")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s\[\]:/@?#]*)(?::\d{1,5})?(?:\?[^#]*)?")
_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[A-Za-z0-9.-]+)(?::\d{1,5})?")


def text(value: object) -> str:
    """A text of one line, blanks at the ends taken off."""
    if not isinstance(value, str) or not value.strip() or any(letter in value for letter in "\r\n\0"):
        raise ValueError("a text of one line")
    return value.strip()


def secret(value: object) -> Secret:
    """A text that must not be seen."""
    return Secret(text(value))


def postgres(value: object) -> Secret:
    """A `postgresql://` URL as libpq reads it, also where SQLAlchemy's form names a driver. Read here, so that no driver trips over it later:
    its words would quote a piece of the password."""
    scheme, mark, rest = text(value).partition("://")
    authority, _, tail = rest.partition("/")
    hosts = authority.rpartition("@")[2].split(",")
    if (
        scheme not in ("postgresql", "postgres", "postgresql+asyncpg")
        or not mark
        or "@" in tail.partition("?")[0]
        or not all(map(_HOST.fullmatch, hosts))
    ):
        raise ValueError("a URL such as postgresql://user:password@host:5432/database; in a password, write @ : / ? # as %40 %3A %2F %3F %23")
    return Secret(f"postgresql://{rest}")


def flag(value: object) -> bool:
    """true or false."""
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(value, str) and value.strip().lower() in known:
        return known[value.strip().lower()]
    raise ValueError("true or false")


def number(low: float, high: float) -> Parser:
    """A reader of numbers from `low` to `high`, both included."""

    def read(value: object) -> float:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(value)

    return read


def integer(low: int, high: int) -> Parser:
    """A reader of whole numbers from `low` to `high`, both included."""

    def read(value: object) -> int:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) and "." not in value:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return read


def choice(*options: str) -> Parser:
    """A reader of one of the given words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value.strip().lower() not in options:
            raise ValueError(f"one of {', '.join(options)}")
        return value.strip().lower()

    return read


def origins(value: object) -> tuple[str, ...]:
    """Origins of browsers (`https://host[:port]`): a list, or a text with commas. `*` is not one: it would open a key to every page."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a list of origins")
    found = tuple(part.strip().rstrip("/") for part in parts if part.strip())
    if not all(_ORIGIN.fullmatch(part) for part in found):
        raise ValueError("origins such as https://app.example, without path")
    return found


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""
