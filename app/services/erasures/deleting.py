"""Sessions erased whole: one by its id, or all of a user with the state that they share."""

from collections import Counter
from contextlib import suppress
from typing import Any
from uuid import UUID

from app.config.limits import ERASED_PAGE_ENTRIES, ERASED_SESSIONS_MAX, ERASURE_SECONDS, ERASURES_PER_SWEEP_MAX
from app.entries.compactions import Checkpoint
from app.entries.errors import HeadMismatch, SessionErased
from app.services.erasures.receipts import KEPT_OF_SESSION, KEPT_OF_USER, receipt, remaining
from app.services.session_ids import session_row, session_uuid
from app.storage.erasures import Emptied
from app.storage.store import Store


class Deletions:
    """The first statement takes everything out of sight, or nothing; the entries are emptied behind it, page by page. One that is cut off
    there is ended by the same request again, or by `sweep`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def session(self, tenant: UUID, session_id: str, expected_head: int | None = None) -> dict[str, Any]:
        """The receipt. Raises `NotFound`, `SessionErased`, `HeadMismatch`, `SessionBusy`, `ClaimExpired`, `Conflict("has-forks")`."""
        with suppress(SessionErased):  # where it has begun, what is left is ended
            if expected_head is not None and (head := (await session_row(self._store.sessions, tenant, session_id)).head_seq) != expected_head:
                raise HeadMismatch(head)
        return await self._erase(tenant, session_uuid(session_id), None)

    async def user(self, tenant: UUID, user: str) -> dict[str, Any]:
        """The receipt for all sessions of a user, none of them where there are none. Raises what `session` raises, but for the first three."""
        return await self._erase(tenant, None, user)

    async def _erase(self, tenant: UUID, session: UUID | None, user: str | None) -> dict[str, Any]:
        begun = await self._store.erasures.begin(tenant, session, user, ERASED_SESSIONS_MAX)
        counts = Counter({"entries": 0, "summaries": 0, "blobs": 0, **begun.counts})
        for one in begun.sessions:
            counts.update(await self._emptied(tenant, one))
        remains = remaining(await self._store.erasures.remains())
        return receipt(begun.sessions, begun.erased_at, counts, KEPT_OF_SESSION if user is None else KEPT_OF_USER, remains)

    async def _emptied(self, tenant: UUID, session: UUID) -> Counter[str]:
        counts, step = Counter[str](), Emptied(0, {})
        while step.last_seq is not None:
            step = await self._store.erasures.empty(tenant, session, step.last_seq, ERASED_PAGE_ENTRIES, Checkpoint.kind)
            counts.update(step.counts)
        return counts

    async def sweep(self, older_than_seconds: float = ERASURE_SECONDS) -> None:
        """Ends erasures whose request was cut off that long ago, of all tenants, a bounded number at a time."""
        for tenant, session in await self._store.erasures.begun(older_than_seconds, ERASURES_PER_SWEEP_MAX):
            await self._emptied(tenant, session)
