"""Sessions erased whole: one by its id, or all of a user with the state that they share."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX, ERASED_PAGE_ENTRIES, ERASED_SESSIONS_MAX, ERASURE_SECONDS, ERASURES_PER_SWEEP_MAX
from app.entries.compactions import Checkpoint
from app.entries.errors import Conflict, HeadMismatch, LedgerError
from app.services.erasures.receipts import KEPT_OF_SESSION, KEPT_OF_USER, receipt, remaining
from app.services.session_ids import session_uuid
from app.storage.erasures import Emptied, Erased
from app.storage.store import Store


class Deletions:
    """The first statement takes everything out of sight, or nothing; what it held is emptied behind it, page by page. One that is cut off
    there is ended by the same request again, or by `sweep`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def session(self, tenant: UUID, session_id: str, expected_head: int | None = None) -> dict[str, Any]:
        """The receipt. `expected_head` is of a session whose erasure has not begun; where it has, what is left is ended.

        Raises `NotFound`, `SessionErased`, `HeadMismatch`, `SessionBusy`, `ClaimExpired`, `Conflict("has-forks")`.
        """
        begun = await self._store.erasures.begin(tenant, session_uuid(session_id), None, ERASED_SESSIONS_MAX, expected_head)
        return await self._ended(tenant, begun, KEPT_OF_SESSION)

    async def user(self, tenant: UUID, user: str) -> dict[str, Any]:
        """The receipt for all sessions of a user, none of them where there are none. Raises what `session` raises, but for the first three."""
        for _ in range(APPEND_TRIES_MAX):
            with suppress(HeadMismatch):  # the user has a new session, which is erased as well
                return await self._ended(tenant, await self._store.erasures.begin(tenant, None, user, ERASED_SESSIONS_MAX), KEPT_OF_USER)
        raise Conflict("Sessions of the user are opened all the time: let that end first.")

    async def _ended(self, tenant: UUID, begun: Erased, kept: Sequence[str]) -> dict[str, Any]:
        counts = Counter({"entries": 0, "summaries": 0, "blobs": 0, **begun.counts})
        for one in begun.sessions:
            counts.update(await self._emptied(tenant, one))
        return receipt(begun.sessions, begun.erased_at, counts, kept, remaining(await self._store.erasures.remains()))

    async def _emptied(self, tenant: UUID, session: UUID) -> Counter[str]:
        counts, step = Counter[str](), Emptied(0, {})
        while step.last_seq is not None:
            step = await self._store.erasures.empty(tenant, session, step.last_seq, ERASED_PAGE_ENTRIES, Checkpoint.kind)
            counts.update(step.counts)
        return counts

    async def sweep(self, older_than_seconds: float = ERASURE_SECONDS) -> None:
        """Ends erasures whose request was cut off that long ago, of all tenants, a bounded number at a time.

        One that cannot be ended does not keep the others waiting, and is raised behind them.
        """
        failed: LedgerError | None = None
        for tenant, session in await self._store.erasures.begun(older_than_seconds, ERASURES_PER_SWEEP_MAX):
            try:
                await self._emptied(tenant, session)
            except LedgerError as error:
                failed = error
        if failed is not None:
            raise failed
