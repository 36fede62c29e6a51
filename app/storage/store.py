"""The one door to Postgres: a pool, and a small class for each kind of row."""

from app.storage.agents import Agents
from app.storage.blobs import Blobs
from app.storage.checkpoints import Checkpoints
from app.storage.claims import Claims
from app.storage.deltas import Deltas
from app.storage.erasures import Erasures
from app.storage.idempotency import Idempotency
from app.storage.keys import Keys
from app.storage.ledger import Ledger
from app.storage.pool import Pool
from app.storage.sessions import Sessions
from app.storage.states import States
from app.storage.turns import Calls, Turns
from app.storage.usage import UsageTotals

HEAD_REVISION = "0010"
"""The migration that this build needs; `Store.revision()` says which one the database has."""


class Store:
    """Open for as long as the service runs. Every method raises `Unavailable` when the database cannot take it now."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.ledger = Ledger(pool)
        self.sessions = Sessions(pool)
        self.states = States(pool)
        self.turns = Turns(pool)
        self.calls = Calls(pool)
        self.usage = UsageTotals(pool)
        self.checkpoints = Checkpoints(pool)
        self.agents = Agents(pool)
        self.keys = Keys(pool)
        self.blobs = Blobs(pool)
        self.deltas = Deltas(pool)
        self.claims = Claims(pool)
        self.idempotency = Idempotency(pool)
        self.erasures = Erasures(pool)

    async def revision(self) -> str | None:
        """The schema's migration, to be compared with `HEAD_REVISION`; also the cheapest question that shows that Postgres answers."""
        rows = await self._pool.fetch("SELECT ledger.revision_v1()")
        return None if rows[0][0] is None else str(rows[0][0])

    async def close(self) -> None:
        """Closes every connection; calls under way fail."""
        await self._pool.close()


async def open_store(url: str, *, pool_size: int = 10, application_name: str = "context-ledger") -> Store:
    """Opens a store on `postgresql://…` as the app role and checks the server.

    Raises `RefusedServer` for a role that is a superuser or bypasses row level security, a server that is not UTF-8 or older
    than 15; `Unavailable` when nothing answers.
    """
    pool = Pool(url, size=pool_size, application_name=application_name)
    try:
        await pool.check_server()
    except BaseException:
        await pool.close()
        raise
    return Store(pool)
