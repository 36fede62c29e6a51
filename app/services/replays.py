"""First answers again: for POSTs that append nothing, and the common form of what an append remembers of its request."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from app.entries.errors import SessionErased
from app.entries.ids import SESSION, parse_id
from app.services.erasures import FIGURES
from app.services.turns.inputs import IdempotencyKey
from app.storage.store import Store
from app.storage.types import IdempotencyWrite


def remembered(key: IdempotencyKey | None, status: int, body: str | None = None, session: UUID | None = None) -> IdempotencyWrite | None:
    """The row that consumes a key together with an append; None where no key was sent."""
    return None if key is None else IdempotencyWrite(key.route, key.key, key.digest, status, body, session=session)


class Replays:
    """Keeps answers that no append stands behind."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def once(self, tenant: UUID, key: IdempotencyKey | None, make: Callable[[], Awaitable[str]]) -> tuple[str, bool]:
        """The answer's JSON text, made now or kept from the first time, and whether it was kept. Raises `KeyReused`.

        A failure of `make` consumes no key. Raises `SessionErased` where the first answer was erased with the sessions that it tells of.
        Two first requests at once may both make it; the one kept first answers both. Words that a redaction took away meanwhile are not kept.
        """
        if key is None:
            return await make(), False
        found = await self._store.idempotency.find(tenant, key.route, key.key, key.digest)
        if found is not None:
            if found.body is not None:
                return found.body, True
            if found.session is None:  # what it made, sessions that no route names, was erased; it is not made again
                raise SessionErased
        session = _session_of(key.route)
        row = None if session is None or key.route.endswith(FIGURES) else await self._store.sessions.get(tenant, session)
        made = await make()
        write = IdempotencyWrite(key.route, key.key, key.digest, 200, made, session=session)
        kept = await self._store.idempotency.remember(tenant, write, None if row is None else row.prefix_key)
        return (made, False) if kept is None or kept.body is None else (kept.body, True)


def _session_of(route: str) -> UUID | None:
    """The session that a route names: what is kept of it goes when the session is erased."""
    named = [parse_id(SESSION, step) for step in route.split("/")]
    return next((one for one in named if one is not None), None)
