"""The exact JSON text of pieces of an answer, cut out of the event that they came in.

What a parser gives can only be spelled anew; arguments of calls and blocks that we do not model are kept as they were written.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from app.entries import lossless

_scan: Callable[[str, int], tuple[object, int]] = json.JSONDecoder(parse_int=len, parse_float=len).raw_decode
_BLANK = re.compile(r"[ \t\n\r]*")
_ARGUMENTS = re.compile(r'"args"[ \t\n\r]*:[ \t\n\r]*')

_DEPTH_MAX = 1_000
"""Far above what a part of an answer may be nested, and below what the interpreter's stack bears."""

Visit = Callable[[str | int, int], int | None]
"""Is told a member's key or an element's number and where its value begins, and tells where it ends; None: it did not look."""


def argument_texts(event: str, calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """The arguments of each of these calls, which were read from the event; `{}` for a call that has no object of them.

    A quoted `"args"` cannot stand inside a string, whose quotes are escaped; other blocks may have one, so what follows is compared.
    """
    found: list[str] = []
    at = 0
    for call in calls:
        arguments = call.get("args")
        written: str | None = None if isinstance(arguments, dict) else "{}"
        while written is None:
            match = _ARGUMENTS.search(event, at)
            if match is None:
                written = lossless.dumps(arguments)  # a key that is spelled with escapes
                break
            at = _scan(event, match.end())[1]
            if _read(event[match.end() : at]) == arguments:
                written = event[match.end() : at]
        found.append(written or "{}")
    return found


def _read(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:  # lone surrogates
        return lossless.read(text)


def part_texts(event: str, candidate: int) -> list[str]:
    """The parts of one candidate of an event, in order; of a key that stands twice, the earlier ones' too. `event` is known to be JSON."""
    found: list[str] = []

    def into(*keys: str | int, then: Visit) -> Visit:
        """Descends along the keys."""
        inner = into(*keys[1:], then=then) if len(keys) > 1 else then
        return lambda key, at: _walk(event, at, inner) if key == keys[0] else None

    _walk(event, _after(event, 0), into("candidates", candidate, "content", "parts", then=_cut(event, found)))
    return found


def exact_part(part: dict[str, Any], event: str, candidate: int, position: int) -> dict[str, Any]:
    """A part that was read from the event, with its numbers as they were written but for arguments, which are kept by their own text.

    Nearly no part has any.
    """
    call = part.get("functionCall")
    members = [*part.values(), *(value for key, value in call.items() if key != "args")] if isinstance(call, dict) else list(part.values())
    if all(isinstance(value, str | bool) or value is call for value in members):
        return part
    try:
        found = lossless.loads(part_texts(event, candidate)[position], _DEPTH_MAX)
    except lossless.InvalidJson:  # a repeated key, of which the last one was read
        return part
    return found if isinstance(found, dict) else part


def element_texts(array: str) -> list[str]:
    """The elements of a list as they were written. `array` is known to be JSON."""
    found: list[str] = []
    _walk(array, _after(array, 0), _cut(array, found))
    return found


def _cut(text: str, found: list[str]) -> Visit:
    def element(_: str | int, at: int) -> int:
        end = _scan(text, at)[1]
        found.append(text[at:end])
        return end

    return element


def _walk(text: str, at: int, visit: Visit) -> int | None:
    """The end of the object or list that begins at `at`, each member visited; None for a value that is neither."""
    if text[at] not in "{[":
        return None
    keyed = text[at] == "{"
    key: str | int = -1
    at = _after(text, at + 1)
    while text[at] not in "}]":
        if keyed:
            name, at = _scan(text, at)
            key, at = str(name), _after(text, _after(text, at) + 1)
        else:
            key = int(key) + 1
        end = visit(key, at)
        at = _after(text, _scan(text, at)[1] if end is None else end)
        if text[at] == ",":
            at = _after(text, at + 1)
    return at + 1


def _after(text: str, at: int) -> int:
    """The next place that is not blank."""
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
