"""The statements that requests make the service send."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from app.storage.pool import Pool

_OF_THE_BACKGROUND = ("renew", "watch", "expired", "purge", "deltas", "erasures_begun")
"""Words of the statements that a process sends by itself, whatever is asked of it."""


@contextmanager
def statements() -> Iterator[list[str]]:
    """What is sent while the block runs, by any service in this process; its background aside."""
    sent: list[str] = []
    fetch: Callable[..., Any] = Pool.fetch

    async def counted(pool: Pool, statement: str, *arguments: Any) -> list[Any]:
        if not any(word in statement for word in _OF_THE_BACKGROUND):
            sent.append(statement)
        return list(await fetch(pool, statement, *arguments))

    with patch.object(Pool, "fetch", counted):
        yield sent
