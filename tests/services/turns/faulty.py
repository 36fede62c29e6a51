"""A service in this process whose inside a test can reach, and a database that goes away when a test says so."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID

from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.main import House
from app.services.turns.desk import Desk
from app.services.turns.keeper import Keeper
from app.storage.ledger import Ledger
from app.storage.store import Store
from app.storage.types import Append, Appended
from tests.api.conftest import running, talking
from tests.services.world import World

LONG_LEASE_SECONDS = 300.0


class Inside:
    """What a test needs of the inside of one process."""

    def __init__(self, world: World, desk: Desk, keeper: Keeper) -> None:
        self.world, self.desk, self.keeper = world, desk, keeper
        self.store: Store = desk.store

    async def expire(self) -> None:
        """Ends the lease of every claim of the process, as if it had stood still for that long."""
        held = [(running.facts.key.session, running.fence) for running in self.desk.running.values()]
        await self.store.claims.renew(self.desk.holder, held, 0)


@asynccontextmanager
async def inside(settings: Settings) -> AsyncIterator[Inside]:
    """A service in this process."""
    houses: list[House] = []
    opened, wiring = House.open, cast(Any, House)

    async def noted(house: House) -> None:
        houses.append(house)
        await opened(house)

    wiring.open = noted  # the one place where the wiring can be seen
    try:
        async with running(settings) as app, talking(app) as client:
            house = cast(Any, houses[0])
            yield Inside(World(client), house.services.turns._desk, house._keeper)
    finally:
        wiring.open = opened


Real = Callable[[], Awaitable[Appended]]
Doing = Callable[[Append, Real], Awaitable[Appended]]


def around_appends(ledger: Ledger, doing: Doing) -> None:
    """Lets `doing` stand around every append: it decides whether and when the real one runs, and what is heard of it."""
    real = ledger.append

    async def append(tenant: UUID, session: UUID, wanted: Append) -> Appended:
        return await doing(wanted, lambda: real(tenant, session, wanted))

    cast(Any, ledger).append = append


def kinds(append: Append) -> set[str]:
    return {entry.kind for entry in append.entries}


class Outage:
    """A database that answers nothing while `away`."""

    def __init__(self, store: Store) -> None:
        self.away = False
        pool = cast(Any, store)._pool
        fetch = pool.fetch

        async def gone(statement: str, *arguments: Any) -> Any:
            if self.away:
                raise Unavailable("The database does not answer; try again shortly.")
            return await fetch(statement, *arguments)

        pool.fetch = gone
