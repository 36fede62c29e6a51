"""The state of sessions, and what the sessions of one user share of it."""

from dataclasses import dataclass
from uuid import UUID

from app.storage.pool import Pool


@dataclass(frozen=True, slots=True)
class SharedState:
    """What the sessions of a user share, as JSON text, and its version: None and 0 where nobody wrote any."""

    version: int = 0
    state: str | None = None


@dataclass(frozen=True, slots=True)
class StateRow:
    """A session's user, its newest entry that records the state (`seq` and JSON text; None where there is none), and what its user shares now."""

    user: str | None
    seq: int | None
    payload: str | None
    shared: SharedState


class States:
    """Reads only: state is changed by an append."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self, tenant: UUID, session: UUID, kind: str, at_seq: int | None = None) -> StateRow | None:
        """The newest entry of `kind` up to `at_seq` (None: the head) and the shared state as it is now; None for an unknown session."""
        rows = await self._pool.fetch("SELECT * FROM ledger.state_v1($1, $2, $3, $4)", tenant, session, kind, at_seq)
        if not rows:
            return None
        user, seq, payload, version, state = rows[0]
        return StateRow(user, seq, payload, SharedState(version or 0, state))

    async def shared(self, tenant: UUID, user: str) -> SharedState:
        """What the sessions of a user share."""
        rows = await self._pool.fetch("SELECT * FROM ledger.user_state_v1($1, $2)", tenant, user)
        return SharedState(rows[0][0], rows[0][1]) if rows else SharedState()
