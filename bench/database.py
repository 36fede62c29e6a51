"""The server of a run: the embedded Postgres in a folder of its own, with the schema, a store, and bare connections beside it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import asyncpg

from app.services.scope import LOCAL_TENANT
from app.storage.embedded import EmbeddedPostgres
from app.storage.migrate import migrate
from app.storage.store import Store, open_store

POOL_SIZE = 16


@dataclass(slots=True)
class Database:
    """`store` speaks as the service does; `connect` opens a bare connection as the schema's owner."""

    store: Store
    app_url: str
    migrate_url: str
    tenant: UUID = LOCAL_TENANT
    _long: dict[int, UUID] = field(default_factory=dict)

    async def connect(self) -> asyncpg.Connection:
        return await asyncpg.connect(plain(self.migrate_url))

    async def long_session(self, entries: int) -> UUID:
        """A session of that many message entries, made once a run."""
        from bench.rows.storage import filled

        if entries not in self._long:
            self._long[entries] = await filled(self.store, self.tenant, entries)
        return self._long[entries]


@asynccontextmanager
async def open_bench_database(folder: Path) -> AsyncIterator[Database]:
    """Starts a server in `folder`, and ends it with the block."""
    postgres = EmbeddedPostgres(folder)
    urls = await postgres.start()
    try:
        await migrate(plain(urls.migrate_url))
        store = await open_store(urls.app_url, pool_size=POOL_SIZE, application_name="bench")
        try:
            yield Database(store, urls.app_url, urls.migrate_url)
        finally:
            await store.close()
    finally:
        await postgres.stop()


def plain(url: str) -> str:
    """The URL as asyncpg reads it."""
    return url.replace("postgresql+asyncpg://", "postgresql://", 1)
