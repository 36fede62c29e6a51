"""One page of a list, as every list of the service is read."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Page:
    """The resources, and where the next page begins (None: there is none)."""

    data: list[dict[str, Any]]
    next: str | int | None
