"""What a process does for all of its turns at once: renew claims, hear requests to stop, settle what others left behind, tidy, drain."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from app.config.limits import PURGE_ROWS_MAX, RECOVERIES_PER_SWEEP_MAX
from app.entries.errors import LedgerError
from app.services.running import Running
from app.services.turns.desk import Desk
from app.services.turns.endings import Endings
from app.storage.rows import Renewal

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
PURGE_SECONDS = 60.0
RENEWALS_PER_LEASE = 3
DRAIN_COMMIT_SECONDS = 5.0


class Keeper:
    """Runs beside the turns for as long as the process serves; every task ends by cancellation alone."""

    def __init__(self, desk: Desk, endings: Endings, *, delta_retention_seconds: float, idempotency_seconds: float) -> None:
        self._desk = desk
        self._endings = endings
        self._delta_retention_seconds = delta_retention_seconds
        self._idempotency_seconds = idempotency_seconds

    def start(self) -> list[asyncio.Task[None]]:
        """The background tasks of the process."""
        period = self._desk.lease_seconds / RENEWALS_PER_LEASE
        rounds: list[tuple[str, float, Callable[[], Awaitable[None]]]] = [
            ("renew", period, self.renew),
            ("watch", WATCH_SECONDS, self.watch),
            ("recover", min(period, 5.0), self.recover),
            ("purge", PURGE_SECONDS, self.purge),
        ]
        tasks = [asyncio.create_task(_forever(name, seconds, work), name=name) for name, seconds, work in rounds]
        tasks.append(asyncio.create_task(self._desk.streams.flush_forever(), name="flush"))
        tasks.append(asyncio.create_task(self._desk.streams.poll_forever(), name="poll"))
        return tasks

    async def renew(self) -> None:
        """Renews all claims of the process in one statement; hears at the same time which are lost and which are asked to stop."""
        held = self._held()
        if held:
            self._hear(held, await self._desk.store.claims.renew(self._desk.holder, list(held), self._desk.lease_seconds))

    async def watch(self) -> None:
        """Hears requests to stop that came in on another replica."""
        held = self._held()
        if held:
            self._hear(held, await self._desk.store.claims.watch(self._desk.holder, list(held)))

    def _held(self) -> dict[tuple[UUID, int], Running]:
        return {(running.facts.key.session, running.fence): running for running in self._desk.running.values() if not running.lost}

    def _hear(self, held: dict[tuple[UUID, int], Running], heard: Renewal) -> None:
        for claim, running in held.items():
            if claim in heard.stopped:
                running.stop.set()
            elif claim in heard.lost and not running.done.is_set() and not running.releasing:
                running.lose()

    async def recover(self) -> None:
        """Settles turns whose holder is gone."""
        for claim in await self._desk.store.claims.expired(RECOVERIES_PER_SWEEP_MAX):
            if await self._endings.recover(claim.tenant, claim.session, claim.turn, claim.fence):
                log.info("settled turn %s of a session whose holder was gone", claim.turn)

    async def purge(self) -> None:
        """Deletes events and idempotency rows that are older than they have to be, a bounded number a round."""
        await self._desk.store.deltas.purge(self._delta_retention_seconds, PURGE_ROWS_MAX)
        await self._desk.store.idempotency.purge(self._idempotency_seconds, PURGE_ROWS_MAX)

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
        left = set(self._desk.tasks)
        if left:
            await asyncio.wait(left, timeout=DRAIN_COMMIT_SECONDS)
        for task in self._desk.tasks:
            task.cancel()


async def _forever(name: str, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except LedgerError as error:
            log.warning("%s: %s; tried again in %s s", name, error.code, seconds)
        except Exception:
            log.exception("%s failed; tried again in %s s", name, seconds)


async def stop_all(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels background tasks and waits for their end."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
