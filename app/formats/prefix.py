"""The blocks of a body in the order in which a provider builds its prompt from them: what a cache can reuse is a run from the first.

Marks that tell a provider where to cache change nothing of the prompt and are left out (X-33).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.entries import lossless

MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Keys that are marks, and never a block's content."""

MARK_BLOCKS = frozenset({"cachePoint"})
"""Blocks that are nothing but a mark."""

_INNER = ("content", "parts")


def blocks(document: Mapping[str, Any], order: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pointer and JSON text of each block under the keys of `order`: an element of a list, and of its content where that is one.

    What stands beside a content list (a role, an id) is a block before it, under the pointer of its first key.
    """
    for key in order:
        value = document.get(key)
        if isinstance(value, Mapping) and not any(isinstance(item, (list, tuple)) for item in value.values()):
            yield f"/{key}", _spelled(value)
        elif isinstance(value, Mapping):
            for name, item in value.items():
                yield from _of_list(f"/{key}/{name}", item)
        elif value is not None:
            yield from _of_list(f"/{key}", value)


def _of_list(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, (list, tuple)):
        yield pointer, _spelled(value)
        return
    for number, element in enumerate(value):
        inner = next((key for key in _INNER if isinstance(element, Mapping) and isinstance(element.get(key), (list, tuple))), None)
        if isinstance(element, Mapping) and MARK_BLOCKS & element.keys():
            continue
        if inner is None:
            yield f"{pointer}/{number}", _spelled(element)
            continue
        rest = {name: item for name, item in element.items() if name != inner}
        if rest:
            yield f"{pointer}/{number}/{next(iter(rest))}", _spelled(rest)
        yield from _of_list(f"{pointer}/{number}/{inner}", element[inner])


def _spelled(value: Any) -> str:
    return lossless.dumps(_bare(value))


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items() if key not in MARKS}
    return [_bare(item) for item in value] if isinstance(value, (list, tuple)) else value
