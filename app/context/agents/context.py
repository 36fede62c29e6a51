"""The key `context`: the renderers, in order."""

import re
from collections.abc import Mapping
from typing import Any

from app.config.limits import RENDERERS_MAX
from app.context.fields import Check
from app.context.renderers import RENDERERS, checked
from app.context.renderers.kinds import DocumentFacts
from app.context.renderers.texts import check_condition

_RENDERER_ID = re.compile("[a-zA-Z0-9_.-]{1,64}")
_EVERY = ("renderer", "id", "when")
"""Keys that every renderer has."""


def check_context(check: Check, value: Any, facts: DocumentFacts) -> None:
    """Each renderer by its own row of the registry; ids are unique, and what stands in a request once is named once."""
    ids: set[str] = set()
    seen: set[str] = set()
    for position, spec in enumerate(check.list(value, "/context", RENDERERS_MAX) or ()):
        pointer = f"/context/{position}"
        if not isinstance(spec, Mapping):
            check.fault(pointer, "bad-type", "A renderer has to be an object.")
            continue
        name = spec.get("renderer")
        kind = RENDERERS.get(name) if isinstance(name, str) else None
        if kind is not None:
            if kind.once and name in seen:
                check.fault(pointer, "duplicate-renderer", f"The {name} stands in a request once.")
            seen.add(str(name))
            check.object(spec, pointer, (*_EVERY, *kind.keys))
            checked(check, spec, pointer, facts)
            if "when" in spec:
                check_condition(check, spec["when"], f"{pointer}/when", facts)
        elif name is None:
            check.fault(f"{pointer}/renderer", "missing", "This key is required.")
        else:
            check.fault(f"{pointer}/renderer", "unknown-renderer", f"Built renderers are {', '.join(RENDERERS)}.")
        if "id" in spec or kind is not None:
            _id(check, spec.get("id", f"{name}-{position}"), f"{pointer}/id", ids)


def _id(check: Check, value: Any, pointer: str, ids: set[str]) -> None:
    if not isinstance(value, str) or not _RENDERER_ID.fullmatch(value):
        check.fault(pointer, "bad-id", "An id has 1 to 64 letters, digits, `_`, `.` or `-`.")
    elif value in ids:
        check.fault(pointer, "duplicate-id", "Another renderer has this id.")
    else:
        ids.add(value)


def with_defaults(position: int, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A checked renderer with its id and the keys that it leaves out; of one whose package is gone these are not known."""
    name = spec["renderer"]
    kind = RENDERERS.get(name)
    return {"renderer": name, "id": spec.get("id", f"{name}-{position}"), **(kind.defaults if kind is not None else {}), **spec}
