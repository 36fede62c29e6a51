"""What a process does for all of its turns at once: renew claims, hear requests to stop, settle what others left behind, tidy, drain."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from app.config.limits import CLAIMS_PER_RENEWAL_MAX, PURGE_ROWS_MAX, RECOVERIES_PER_SWEEP_MAX
from app.entries.errors import LedgerError, Unavailable
from app.services.erasures import Deletions
from app.services.running import Running
from app.services.turns.desk import Desk
from app.services.turns.endings import Endings
from app.storage.claim_rows import Renewal

log = logging.getLogger(__name__)

Held = dict[tuple[UUID, int], Running]

WATCH_SECONDS = 0.5
PURGE_SECONDS = 60.0
RENEWALS_PER_LEASE = 3
AFTER_FAILURE_SECONDS = 1.0
TICKS_PER_HEARTBEAT = 10
DRAIN_COMMIT_SECONDS = 5.0


class Keeper:
    """Runs beside the turns for as long as the process serves; every task ends by cancellation alone."""

    def __init__(self, desk: Desk, endings: Endings, deletions: Deletions, *, delta_retention_seconds: float, idempotency_seconds: float) -> None:
        self._desk = desk
        self._endings = endings
        self._deletions = deletions
        self._delta_retention_seconds = delta_retention_seconds
        self._idempotency_seconds = idempotency_seconds

    def start(self) -> list[asyncio.Task[None]]:
        """The background tasks of the process."""
        period, streams = self._desk.lease_seconds / RENEWALS_PER_LEASE, self._desk.streams
        rounds: list[tuple[str, float, Callable[[], Awaitable[None]]]] = [
            ("renew", period, self.renew),
            ("watch", WATCH_SECONDS, self.watch),
            ("recover", min(period, 5.0), self.recover),
            ("purge", PURGE_SECONDS, self.purge),
            ("sweep", PURGE_SECONDS, self._deletions.sweep),
            ("flush", streams.flush_seconds, streams.flush),
            ("poll", streams.poll_seconds, streams.poll),
            ("tick", streams.heartbeat_seconds / TICKS_PER_HEARTBEAT, streams.tick),
        ]
        return [asyncio.create_task(_forever(name, seconds, work), name=name) for name, seconds, work in rounds]

    async def renew(self) -> None:
        """Renews all claims of the process at once; hears at the same time which are lost and which are asked to stop."""
        for held in self._held():
            self._hear(held, await self._desk.store.claims.renew(self._desk.holder, list(held), self._desk.lease_seconds))

    async def watch(self) -> None:
        """Hears requests to stop that came in on another replica."""
        for held in self._held():
            self._hear(held, await self._desk.store.claims.watch(self._desk.holder, list(held)))

    def _held(self) -> list[Held]:
        held = [((running.facts.key.session, running.fence), running) for running in self._desk.running.values() if not running.lost]
        return [dict(held[first : first + CLAIMS_PER_RENEWAL_MAX]) for first in range(0, len(held), CLAIMS_PER_RENEWAL_MAX)]

    def _hear(self, held: Held, heard: Renewal) -> None:
        for claim, running in held.items():
            if claim in heard.stopped:
                running.stop.set()
            elif claim in heard.lost:
                running.lose()

    async def recover(self) -> None:
        """Settles turns whose holder is gone. One that cannot be settled does not keep the others waiting."""
        for claim in await self._desk.store.claims.expired(RECOVERIES_PER_SWEEP_MAX):
            try:
                if await self._endings.recover(claim.tenant, claim.session, claim.turn, claim.fence):
                    log.info("settled turn %s of a session whose holder was gone", claim.turn)
            except Unavailable:
                raise
            except Exception:
                log.exception("turn %s of a session whose holder is gone could not be settled", claim.turn)

    async def purge(self) -> None:
        """Deletes all events and idempotency rows that are older than they have to be, a bounded number at a time."""
        store = self._desk.store
        for purge, seconds in ((store.deltas.purge, self._delta_retention_seconds), (store.idempotency.purge, self._idempotency_seconds)):
            while await purge(seconds, PURGE_ROWS_MAX) >= PURGE_ROWS_MAX:
                pass

    async def drain(self, seconds: float) -> None:
        """Lets running turns go on for that long, then ends each as interrupted with what it has."""
        self._desk.draining = True
        waiting = set(self._desk.tasks)
        if waiting and seconds > 0:
            await asyncio.wait(waiting, timeout=seconds)
        self._desk.closing = True
        for running in list(self._desk.running.values()):
            running.draining = True
            running.stop.set()
        if left := set(self._desk.tasks):
            await asyncio.wait(left, timeout=DRAIN_COMMIT_SECONDS)
        await stop_all(list(self._desk.tasks))


async def _forever(name: str, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Works round after round. After a failure the next round comes soon: a lease does not wait. A series of failures is logged once."""
    failing = False
    while True:
        await asyncio.sleep(min(seconds, AFTER_FAILURE_SECONDS) if failing else seconds)
        try:
            await work()
        except Exception as error:
            if not failing:
                code = error.code if isinstance(error, LedgerError) else None
                log.warning("%s failed (%s) and is tried again", name, code or "internal", exc_info=code is None)
            failing = True
        else:
            failing = False


async def stop_all(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels background tasks and waits for their end."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
