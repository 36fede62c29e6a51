"""Where a pointer of a written request leads."""

from typing import Any


def at(body: Any, pointer: str) -> Any:
    """What a JSON pointer names."""
    for step in pointer.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list | tuple) else body[step.replace("~1", "/").replace("~0", "~")]
    return body
