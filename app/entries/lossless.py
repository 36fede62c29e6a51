"""JSON that comes back as it came: numbers keep their spelling, objects their order, strings every code point.

`orjson` and pydantic refuse lone surrogates and integers beyond 64 bits, and respell `1e2`; the standard library
reads all of them, and a number that would be respelled is kept as the text it was (`Number`).
"""

import json
import re
from typing import Any, Self

import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")
_DEPTH = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


class InvalidJson(ValueError):
    """The text is no JSON that we take: `code` is `invalid-json`, `duplicate-key`, `not-finite` or `too-deep`."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Number(float):
    """A number whose spelling would not survive `int` or `float`: the nearest float, and the text as it was."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["Number"], tuple[str]]:
        return Number, (self.text,)


def _integer(text: str) -> int | Number:
    return Number(text) if len(text) > 19 or text == "-0" else int(text)


def _fraction(text: str) -> float | Number:
    value = float(text)
    # The fast writer spells exponents in its own way.
    return value if repr(value) == text and "e" not in text else Number(text)


def _constant(text: str) -> Any:
    raise InvalidJson("not-finite", f"{text} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidJson("duplicate-key", "an object names the same key twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant)
_KEEPING = json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_constant)


def check_depth(text: str, depth_max: int) -> None:
    """Raises `InvalidJson("too-deep")` where arrays and objects nest deeper than `depth_max`."""
    if text.count("[") + text.count("{") <= depth_max:
        return
    depth = 0
    for match in _DEPTH.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
            if depth > depth_max:
                raise InvalidJson("too-deep", f"arrays and objects may nest {depth_max} deep")
        elif mark in "]}":
            depth -= 1


def loads(data: bytes | str, depth_max: int = 64) -> Any:
    """Reads a document strictly: no duplicate key, no NaN, no deeper nesting than `depth_max`. Raises `InvalidJson`."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidJson("invalid-json", "the body is not UTF-8") from None
    check_depth(text, depth_max)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidJson("invalid-json", f"not JSON at character {error.pos}: {error.msg}") from None


def read(text: str) -> Any:
    """Reads what we stored ourselves: the fast reader where it is exact, the keeping one for lone surrogates.

    Only for documents whose fields that we read hold strings, booleans and small integers (message bodies); documents
    with a user's own numbers go through `loads`.
    """
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return _KEEPING.decode(text)


def dumps(value: Any) -> str:
    """One line of compact JSON text that is valid UTF-8; lone surrogates and NUL are escaped, numbers keep their spelling."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, UnicodeEncodeError):
        return _escaped("".join(_pieces(value)))


def _escaped(text: str) -> str:
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _pieces(value: Any) -> Any:
    if isinstance(value, Number):
        yield value.text
    elif isinstance(value, dict):
        mark = "{"
        for key, item in value.items():
            yield mark + json.dumps(key, ensure_ascii=False) + ":"
            yield from _pieces(item)
            mark = ","
        yield "{}" if mark == "{" else "}"
    elif isinstance(value, (list, tuple)):
        mark = "["
        for item in value:
            yield mark
            yield from _pieces(item)
            mark = ","
        yield "[]" if mark == "[" else "]"
    else:
        yield json.dumps(value, ensure_ascii=False, allow_nan=False)
