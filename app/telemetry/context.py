"""The request at hand, for every log line written while it is answered: its id, and the trace that it belongs to."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_request: ContextVar[tuple[str | None, str | None]] = ContextVar("context_ledger_request", default=(None, None))


def request_id() -> str | None:
    """The id of the request that the current task serves; None outside of one."""
    return _request.get()[0]


def trace_id() -> str | None:
    """The trace (W3C, 32 hex digits) of that request; None where its caller named none."""
    return _request.get()[1]


@contextmanager
def bound_request(request: str | None, trace: str | None = None) -> Iterator[None]:
    """Binds both for the block. Tasks that the block starts inherit them."""
    token = _request.set((request, trace))
    try:
        yield
    finally:
        _request.reset(token)
