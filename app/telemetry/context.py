"""The id of the request at hand, for every log line written while it is answered."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_request_id: ContextVar[str | None] = ContextVar("context_ledger_request_id", default=None)


def request_id() -> str | None:
    """The id of the request that the current task serves; None outside of one."""
    return _request_id.get()


@contextmanager
def bound_request_id(value: str | None) -> Iterator[None]:
    """Binds an id for the block. Tasks that the block starts inherit it."""
    token = _request_id.set(value)
    try:
        yield
    finally:
        _request_id.reset(token)
