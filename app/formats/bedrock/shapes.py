"""What JSON of which shape is, as data, and a walk that holds a value against it. Nothing of Converse itself is known here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.formats.protocols import Violation

Found = list[Violation]


@dataclass(frozen=True, slots=True)
class Struct:
    """An object of these keys and no others. `one`: exactly one of them stands in it, as in a union; `open`: others are let through."""

    keys: Mapping[str, "Shape"]
    needed: tuple[str, ...] = ()
    one: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `most` 0: no limit is known."""

    of: "Shape"
    least: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """An object of any keys."""

    of: "Shape"
    most: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A string, in characters. `words`: it is one of these."""

    least: int = 0
    most: int = 0
    pattern: re.Pattern[str] | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    least: float = field(default=float("-inf"))
    most: float = field(default=float("inf"))
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes as base64 text. Its alphabet is not judged: it may be megabytes long."""


@dataclass(frozen=True, slots=True)
class Free:
    """Any JSON value; `object_only`: any object."""

    object_only: bool = False


Shape = Struct | Items | Table | Text | Number | Flag | Blob | Free


def check(value: Any, shape: Shape, at: str, found: Found) -> None:
    """Appends what of a value is not of the shape. `at` is its pointer. Details name rules and limits, never content."""
    match shape:
        case Struct():
            _struct(value, shape, at, found)
        case Items():
            _items(value, shape, at, found)
        case Table():
            _table(value, shape, at, found)
        case Text():
            _text(value, shape, at, found)
        case Number():
            _number(value, shape, at, found)
        case Flag():
            if not isinstance(value, bool):
                found.append(Violation(at, "not-a-flag", "This is true or false."))
        case Blob():
            if not isinstance(value, str) or not value.isascii():
                found.append(Violation(at, "not-base64", "Bytes are sent as base64 text."))
        case Free(object_only):
            if object_only and not isinstance(value, Mapping):
                found.append(Violation(at, "not-an-object", "This is an object."))


def pointed(at: str, key: str) -> str:
    """The pointer of a key below another pointer (RFC 6901)."""
    return f"{at}/{key.replace('~', '~0').replace('/', '~1')}" if "~" in key or "/" in key else f"{at}/{key}"


def _struct(value: Any, shape: Struct, at: str, found: Found) -> None:
    if not isinstance(value, Mapping):
        found.append(Violation(at, "not-an-object", "This is an object."))
        return
    if shape.one and len(value) != 1:
        found.append(Violation(at, "not-one-member", f"Exactly one of {', '.join(shape.keys)} stands here."))
    for key, item in value.items():
        inner = shape.keys.get(key)
        if inner is not None:
            check(item, inner, f"{at}/{key}", found)
        elif not shape.open:
            found.append(Violation(pointed(at, key), "key-unknown", f"Known here are {', '.join(shape.keys)}."))
    found.extend(Violation(f"{at}/{key}", "key-missing", f"`{key}` has to be there.") for key in shape.needed if key not in value)


def _items(value: Any, shape: Items, at: str, found: Found) -> None:
    if not isinstance(value, list | tuple):
        found.append(Violation(at, "not-a-list", "This is a list."))
        return
    if len(value) < shape.least or (shape.most and len(value) > shape.most):
        most = f" and at most {shape.most}" if shape.most else ""
        found.append(Violation(at, "list-length", f"This list takes at least {shape.least}{most} items."))
    for index, item in enumerate(value):
        check(item, shape.of, f"{at}/{index}", found)


def _table(value: Any, shape: Table, at: str, found: Found) -> None:
    if not isinstance(value, Mapping):
        found.append(Violation(at, "not-an-object", "This is an object."))
        return
    if shape.most and len(value) > shape.most:
        found.append(Violation(at, "object-length", f"This object takes at most {shape.most} keys."))
    for key, item in value.items():
        check(item, shape.of, pointed(at, key), found)


def _text(value: Any, shape: Text, at: str, found: Found) -> None:
    if not isinstance(value, str):
        found.append(Violation(at, "not-a-text", "This is a string."))
    elif shape.words and value not in shape.words:
        found.append(Violation(at, "value-unknown", f"This is one of {', '.join(shape.words)}."))
    elif len(value) < shape.least or (shape.most and len(value) > shape.most):
        most = f" and at most {shape.most}" if shape.most else ""
        found.append(Violation(at, "text-length", f"This text takes at least {shape.least}{most} characters."))
    elif shape.pattern is not None and not shape.pattern.fullmatch(value):
        found.append(Violation(at, "text-form", f"This text matches {shape.pattern.pattern}."))


def _number(value: Any, shape: Number, at: str, found: Found) -> None:
    if isinstance(value, bool) or not isinstance(value, int if shape.whole else int | float):
        found.append(Violation(at, "not-a-number", "This is a whole number." if shape.whole else "This is a number."))
    elif not shape.least <= value <= shape.most:
        found.append(Violation(at, "out-of-range", f"This number lies between {shape.least:g} and {shape.most:g}."))
