"""Recorded server-sent events, read back."""

import json
from typing import Any


def documents(stream: bytes) -> list[Any]:
    """What the data lines of a stream hold, as far as it is whole JSON: a recording may be cut, or end with a mark."""
    found = []
    for line in stream.decode("utf-8", "replace").split("\n"):
        try:
            found.append(json.loads(line.removeprefix("data:")))
        except ValueError:
            continue
    return found
