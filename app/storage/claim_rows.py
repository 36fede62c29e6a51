"""What the work across sessions takes and gives, as frozen values: claims, and the delta log."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Renewal:
    """Of the claims asked for, as (session, fence): those that are no longer held, and those whose holder is asked to stop."""

    lost: frozenset[tuple[UUID, int]] = frozenset()
    stopped: frozenset[tuple[UUID, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class ExpiredClaim:
    """A claim that ran out, or whose holder ignores a stop request."""

    tenant: UUID
    session: UUID
    turn: int
    fence: int


@dataclass(frozen=True, slots=True)
class DeltaWrite:
    """One row for the delta log, written by the holder of `fence`."""

    tenant: UUID
    session: UUID
    turn: int
    fence: int
    n: int
    body: str


@dataclass(frozen=True, slots=True)
class DeltaCursor:
    """Asks for the events of a turn with ids above `after`."""

    tenant: UUID
    session: UUID
    turn: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class DeltaRow:
    """One logged event."""

    session: UUID
    turn: int
    n: int
    body: str
