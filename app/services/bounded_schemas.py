"""JSON Schemas that agents bring, checked within a time: a schema may be made to take for ever, and a check is no place to wait.

Patterns run by `regex`, which can be stopped; references and sets of items look at the clock. `patternProperties` are refused when
an agent is put, since the checker would run them by `re`, which cannot.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import regex
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from app.config.limits import SCHEMA_CHECK_MS_MAX
from app.entries import lossless

_deadline: ContextVar[float] = ContextVar("schema_check_deadline", default=float("inf"))


class TooSlow(Exception):
    """The check of a document was given up: its schema takes too long on it."""


def begin() -> None:
    """Starts the time of a check, in this context."""
    _deadline.set(time.monotonic() + SCHEMA_CHECK_MS_MAX / 1000)


def _left() -> float:
    left = _deadline.get() - time.monotonic()
    if left <= 0:
        raise TooSlow
    return left


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """`pattern` as JSON Schema means it: a `$` at its end is the end of the text, where Python's would let a line break follow."""
    if not validator.is_type(instance, "string"):
        return
    ended = pattern[:-1] + r"\Z" if pattern.endswith("$") and not pattern.endswith("\\$") else pattern
    left = _left()
    try:
        found = regex.search(ended, instance, concurrent=True, timeout=None if left == float("inf") else left)
    except TimeoutError:
        raise TooSlow from None
    if found is None:
        yield ValidationError("pattern")


def _unique_items(validator: Any, wanted: bool, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """By their spelling with keys in order: the checker compares each item with each, which takes minutes for a long list."""
    if wanted and validator.is_type(instance, "array"):
        _left()
        if len({lossless.dumps(_canonical(item)) for item in instance}) < len(instance):
            yield ValidationError("uniqueItems")


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if type(value) is float and value.is_integer() else value


def _reference(keyword: str) -> Any:
    followed = Draft202012Validator.VALIDATORS[keyword]

    def follow(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _left()
        yield from followed(validator, reference, instance, schema) or ()

    return follow


_extended: Callable[..., type[Draft202012Validator]] = extend
_BOUNDED = {"pattern": _pattern, "uniqueItems": _unique_items, "$ref": _reference("$ref")}
SchemaChecker = _extended(Draft202012Validator, {**_BOUNDED, "$dynamicRef": _reference("$dynamicRef")})
"""The full checker, of the service's own schemas and of those that agents bring for their state."""

_OLDER = {kind.META_SCHEMA["$schema"].rstrip("#"): _extended(kind, _BOUNDED) for kind in (Draft201909Validator, Draft7Validator)}


def checker_of(schema: Mapping[str, Any]) -> Draft202012Validator:
    """The checker of a schema's own dialect, 2020-12 where it names none. Formats are not judged."""
    declared = schema.get("$schema")
    return _OLDER.get(declared.rstrip("#") if isinstance(declared, str) else "", SchemaChecker)(schema)
