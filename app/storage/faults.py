"""From what the driver raises to the service's own errors. Nothing of a statement's parameters gets through: those are prompts."""

from collections.abc import Callable
from uuid import UUID

import asyncpg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.entries.errors import (
    ClaimExpired,
    Conflict,
    Fault,
    FenceLost,
    HeadMismatch,
    Invalid,
    KeyReused,
    LedgerError,
    NotFound,
    PendingAction,
    SessionBusy,
    SessionErased,
    Unavailable,
)
from app.entries.ids import SESSION, TURN, format_id


class RefusedServer(LedgerError):
    """The database is one that the service does not run on; `detail` says why and names no secret."""

    code = "refused-server"


class StorageFault(LedgerError):
    """Something that should not happen. `detail` is an SQLSTATE and at most the names of a table and a constraint."""


def _turn_id(detail: str | None) -> str | None:
    return format_id(TURN, UUID(detail)) if detail else None


def _session_id(detail: str | None) -> str:
    return format_id(SESSION, UUID(detail or ""))


_OURS: dict[str, Callable[[str | None], LedgerError]] = {
    "LG002": lambda detail: HeadMismatch(int(detail or 0)),
    "LG003": lambda _: KeyReused(),
    "LG004": lambda _: NotFound("There is no such session."),
    "LG006": lambda detail: SessionBusy(_turn_id(detail)),
    "LG007": lambda _: FenceLost(),
    "LG009": lambda _: NotFound("There is no such session."),
    "LG010": lambda _: ClaimExpired(),
    "LG011": lambda _: Conflict("A session with this id or external id exists.", "exists"),
    "LG012": lambda detail: PendingAction(_turn_id(detail)),
    "LG013": lambda _: Invalid([Fault("/at_seq", "inside-turn", "A fork begins between two turns; name the last entry of one, or one before it.")]),
    "LG014": lambda detail: Conflict(f"A fork of it is not erased: erase {_session_id(detail)} first.", "has-forks"),
    "LG015": lambda detail: Conflict(f"The user has more than {detail} sessions: erase some of them by their ids first, then the user."),
    "LG016": lambda _: SessionErased(),
}
"""The SQLSTATEs that our functions raise with a meaning; LG001 and LG005 (our own mistakes) stay `StorageFault`."""

_UNTEXT = {"22000", "22021", "22P05"}
"""Text that UTF-8 or Postgres cannot hold, such as NUL; 22000 is the driver's own, for a lone surrogate or a number out of range."""

_NOT_NOW = {"53", "57", "58", "08", "40", "55"}
"""Classes: out of resources, shut down or cancelled, system, connection, rolled back, lock not available."""

_NO_LOGIN = {"28", "3D"}
"""Classes: password or access rules, no such database."""


def translated(error: BaseException) -> LedgerError | None:
    """The error to raise instead, to be raised outside of the `except` block so that it carries no context; None: let it pass."""
    if isinstance(error, asyncpg.PostgresError):
        return from_server(error)
    if isinstance(error, PoolTimeout):
        return Unavailable("Every database connection is in use; try again shortly.")
    if isinstance(error, UnicodeEncodeError):
        return Invalid([Fault("", "invalid-text", "a text or a number cannot be stored")])
    if isinstance(error, OSError | TimeoutError | asyncpg.InterfaceError | asyncpg.InternalClientError | SQLAlchemyError):
        return Unavailable("The database does not answer; try again shortly.")
    return None


def from_server(error: asyncpg.PostgresError) -> LedgerError:
    """The error that an SQLSTATE stands for."""
    state = error.sqlstate or ""
    if state in _OURS:
        return _OURS[state](error.detail)
    if state in _UNTEXT:
        return Invalid([Fault("", "invalid-text", "a text cannot be stored")])
    if state[:2] in _NO_LOGIN:
        return Unavailable(f"The database refuses the service's login ({state}).")
    if state[:2] in _NOT_NOW:
        return Unavailable("The database cannot take it now; try again shortly.")
    names = " ".join(name for name in (error.table_name, error.constraint_name) if name)
    return StorageFault(f"The database refused a statement: {state} {names}".rstrip())
