"""Changes of a state: the merge of a patch, and which places of it a change touched."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.config.limits import CHANGED_POINTERS_CHARS_MAX, JSON_DEPTH_MAX
from app.context.schemas import escaped
from app.entries import lossless


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396: objects merge, null removes, anything else replaces. Keys that stay keep their place."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def same(one: Any, other: Any) -> bool:
    """Whether two values are spelled alike: 1 and 1.0 differ, and so do two orders of keys."""
    return lossless.dumps(one) == lossless.dumps(other)


def changed_pointers(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """RFC 6901 pointers to what is new, gone or another value; names alone, no values. A list that differs counts as one.

    Where they would be longer than `CHANGED_POINTERS_CHARS_MAX` characters together, they name whole objects higher up.
    """
    for depth in (JSON_DEPTH_MAX, 2, 1):
        found: list[str] = []
        left = CHANGED_POINTERS_CHARS_MAX
        for pointer in _changed(before, after, "", depth):
            left -= len(pointer)
            if left < 0:
                break
            found.append(pointer)
        else:
            return tuple(found)
    return ("",)


def _changed(before: Any, after: Any, at: str, depth: int) -> Iterator[str]:
    if depth and len(at) <= CHANGED_POINTERS_CHARS_MAX and isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            place = f"{at}/{escaped(key)}"
            if key not in before or key not in after:
                yield place
            elif not same(before[key], after[key]):
                inside = False
                for pointer in _changed(before[key], after[key], place, depth - 1):
                    inside = True
                    yield pointer
                if not inside:  # the same keys in another order: no place below says so
                    yield place
    else:
        yield at
