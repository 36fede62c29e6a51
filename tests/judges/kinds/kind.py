"""What a kind of difference is, and how one is put together.

A kind has a reason, and a change that makes two bodies alike in it and in nothing else; it is applied to both.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Change = Callable[[dict[str, Any]], dict[str, Any]]


class Kind(NamedTuple):
    name: str
    reason: str
    change: Change


def everywhere(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    """A change of every object of a body, innermost first."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return change({key: walk(item) for key, item in value.items()})
        return [walk(item) for item in value] if isinstance(value, list) else value

    return lambda body: dict(walk(body))


def without(*keys: str, where: Callable[[dict[str, Any]], bool] = lambda _: True) -> Change:
    """Leaves out keys, of the objects that fit."""
    return everywhere(lambda value: {key: item for key, item in value.items() if key not in keys} if where(value) else value)


def without_saying(key: str, *values: Any) -> Change:
    """Leaves out a key whose value says what its absence says."""
    return everywhere(lambda value: {name: item for name, item in value.items() if name != key or item not in values})


def top(*keys: str) -> Change:
    return lambda body: {key: value for key, value in body.items() if key not in keys}


def listed(key: str, change: Callable[[Any], Any | None]) -> Change:
    """Changes or (None) leaves out each item of a list of the body; an empty list goes too."""

    def apply(body: dict[str, Any]) -> dict[str, Any]:
        items = body.get(key)
        if not isinstance(items, list):
            return body
        kept = [found for item in items if (found := change(item)) is not None]
        return {**body, key: kept} if kept or not items else {name: value for name, value in body.items() if name != key}

    return apply


def less(value: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


DESCRIPTIONS = Kind(
    "no description",
    "A tool without a description has none on our wire, where clients send an empty one or null.",
    without_saying("description", "", None),
)
