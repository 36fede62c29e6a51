"""Checks of JSON shapes, put together from small ones. Each yields what is wrong, with the place and the words that providers use."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Breach:
    """One reason for a 400: the place in the body (`messages.1.content.0`, or empty) and what is wrong there."""

    at: str
    gist: str

    @property
    def message(self) -> str:
        return f"{self.at}: {self.gist}" if self.at else self.gist


Check = Callable[[Any, str], Iterator[Breach]]


def anything(value: Any, at: str) -> Iterator[Breach]:
    """Whatever it is."""
    yield from ()


def flag(value: Any, at: str) -> Iterator[Breach]:
    if not isinstance(value, bool):
        yield Breach(at, "Input should be a valid boolean")


def an_object(value: Any, at: str) -> Iterator[Breach]:
    if not isinstance(value, dict):
        yield Breach(at, "Input should be a valid dictionary")


def text(least: int = 0, most: int | None = None, pattern: str | None = None) -> Check:
    """A string; `least` and `most` in characters."""

    def check(value: Any, at: str) -> Iterator[Breach]:
        if not isinstance(value, str):
            yield Breach(at, "Input should be a valid string")
        elif len(value) < least:
            yield Breach(at, f"String should have at least {least} character{'s' * (least > 1)}")
        elif most is not None and len(value) > most:
            yield Breach(at, f"String should have at most {most} characters")
        elif pattern is not None and not re.fullmatch(pattern, value):
            yield Breach(at, f"String should match pattern '^{pattern}$'")

    return check


def number(least: float, most: float | None = None, whole: bool = True) -> Check:
    def check(value: Any, at: str) -> Iterator[Breach]:
        if type(value) is not int and (whole or type(value) is not float):
            yield Breach(at, f"Input should be a valid {'integer' if whole else 'number'}")
        elif value < least:
            yield Breach(at, f"Input should be greater than or equal to {least:g}")
        elif most is not None and value > most:
            yield Breach(at, f"Input should be less than or equal to {most:g}")

    return check


def one_of(*values: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Breach]:
        if not isinstance(value, str) or value not in values:
            yield Breach(at, f"Input should be {' or '.join(repr(each) for each in values)}")

    return check


def maybe(inner: Check) -> Check:
    """Null, or what `inner` takes."""

    def check(value: Any, at: str) -> Iterator[Breach]:
        if value is not None:
            yield from inner(value, at)

    return check


def either(string: Check, other: Check) -> Check:
    """`string` for a string, `other` for anything else."""

    def check(value: Any, at: str) -> Iterator[Breach]:
        yield from (string if isinstance(value, str) else other)(value, at)

    return check


def listing(inner: Check, least: int = 0, most: int | None = None) -> Check:
    def check(value: Any, at: str) -> Iterator[Breach]:
        if not isinstance(value, list):
            yield Breach(at, "Input should be a valid list")
            return
        if len(value) < least:
            yield Breach(at, f"List should have at least {least} item{'s' * (least > 1)}")
        if most is not None and len(value) > most:
            yield Breach(at, f"List should have at most {most} items")
        for index, each in enumerate(value):
            yield from inner(each, f"{at}.{index}")

    return check


def record(needed: Mapping[str, Check], more: Mapping[str, Check]) -> Check:
    """An object with all keys of `needed`, perhaps some of `more`, and no other."""

    def check(value: Any, at: str) -> Iterator[Breach]:
        if not isinstance(value, dict):
            yield Breach(at, "Input should be a valid dictionary")
            return
        dot = f"{at}." if at else ""
        for key in needed.keys() - value.keys():
            yield Breach(f"{dot}{key}", "Field required")
        for key, inner in value.items():
            known = needed.get(key) or more.get(key)
            if known is None:
                yield Breach(f"{dot}{key}", "Extra inputs are not permitted")
            else:
                yield from known(inner, f"{dot}{key}")

    return check


def tagged(shapes: Mapping[str, Check], key: str = "type") -> Check:
    """An object whose `key` says which of the shapes it has."""

    def check(value: Any, at: str) -> Iterator[Breach]:
        tag = value.get(key) if isinstance(value, dict) else None
        if not isinstance(tag, str) or tag not in shapes:
            expected = ", ".join(repr(each) for each in shapes)
            yield Breach(at, f"Input tag {tag!r} found using '{key}' does not match any of the expected tags: {expected}")
        else:
            yield from shapes[tag](value, f"{at}.{tag}")

    return check
