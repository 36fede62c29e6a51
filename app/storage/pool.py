"""Connections: SQLAlchemy's pool, with statements sent to the asyncpg connection beneath it.

Works behind PgBouncer in transaction mode: AUTOCOMMIT, statement caches off, nothing but `application_name` at start-up. A
statement is prepared once a connection, and from then on goes with its arguments in one round trip. On a direct connection it
has a name and is not parsed again; behind a pooler it has none and is parsed wherever the pooler sends it. Which of the two it
is shows at once: a pooler that multiplexes makes up the process id that it tells its clients.
"""

import asyncio
import contextlib
from functools import partial
from typing import Any

import asyncpg
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import PoolProxiedConnection

from app.config.limits import POOL_WAIT_SECONDS_MAX, STATEMENT_SECONDS_MAX
from app.entries.errors import LedgerError
from app.storage.faults import RefusedServer, from_server, translated

VERSION_MIN = 150_000

_SERVER = """
SELECT r.rolname, r.rolsuper, r.rolbypassrls, current_setting('server_encoding'), current_setting('server_version_num')::int
  FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"""

_CHECKOUTS_MAX = 3
"""Dead connections that one call may find before it gives up."""

_STATEMENTS, _NAMED = "context_ledger_statements", "context_ledger_named"


async def connected(url: str, application_name: str, **settings: Any) -> Any:
    """An asyncpg connection as any pooler allows it. A failure comes as an error of `entries.errors`, whatever SQLAlchemy stands around it."""
    try:
        return await asyncpg.connect(
            url, statement_cache_size=0, server_settings={"application_name": application_name}, timeout=POOL_WAIT_SECONDS_MAX, **settings
        )
    except Exception as error:
        fault = translated(error)
        if fault is None:
            raise
    raise fault


class Pool:
    """Sends single statements. `url` is `postgresql://…`, as libpq reads it; it never shows in an error."""

    def __init__(self, url: str, *, size: int, application_name: str) -> None:
        self._engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=partial(connected, url, application_name, command_timeout=STATEMENT_SECONDS_MAX),
            pool_size=size,
            max_overflow=0,
            pool_timeout=POOL_WAIT_SECONDS_MAX,
            pool_use_lifo=True,
            pool_reset_on_return=None,
            skip_autocommit_rollback=True,
            isolation_level="AUTOCOMMIT",
        )
        self._pool: Any = self._engine.sync_engine.pool
        self._hollow = 0
        self._waiting = 0

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        """The rows of one statement, as asyncpg records.

        A failure comes back as an error of `entries.errors`, free of the arguments. A connection whose statement neither ended
        nor was refused by the server (a cancelled task, a lost socket) is closed and not used again.
        """
        fault: LedgerError | None
        try:
            held = await self._checkout()
        except Exception as error:
            fault = translated(error)
            if fault is None:
                raise
        else:
            try:
                rows: list[Any] = await (await self._prepared(held, statement)).fetch(*arguments)
            except asyncpg.PostgresError as error:
                fault = from_server(error)
            except BaseException as error:
                fault = translated(error)
                self._forget(held)
                if fault is None:
                    raise
            else:
                return rows
            finally:
                held.close()
        raise fault  # outside of the handlers, so that it carries no context

    async def _checkout(self) -> PoolProxiedConnection:
        """A connection that is not known to be dead: a server that went away is noticed here, not by a request."""
        for _ in range(_CHECKOUTS_MAX):
            if self._waiting:  # they were woken when a connection came back, and take it in the loop's next round
                await asyncio.sleep(0)
            held = self._idle()
            if held is None:
                self._waiting += 1
                try:
                    held = await self._engine.raw_connection()
                finally:
                    self._waiting -= 1
                self._hollow -= bool(self._hollow and not held.info)
            driver = held.driver_connection
            if driver is not None and not driver.is_closed():
                return held
            self._forget(held)
            held.close()
        return await self._engine.raw_connection()

    def _forget(self, held: PoolProxiedConnection) -> None:
        """Closes a connection. Its place in the pool stays, hollow, until somebody who may wait opens another in it."""
        held.invalidate()
        self._hollow += 1

    def _idle(self) -> PoolProxiedConnection | None:
        """A connection that is open and idle, without the detour over a greenlet, which costs 40 µs. None: one has to be opened."""
        return self._engine.sync_engine.raw_connection() if self._pool.checkedin() and not self._hollow else None

    async def _prepared(self, held: PoolProxiedConnection, statement: str) -> Any:
        statements = held.info.setdefault(_STATEMENTS, {})
        prepared = statements.get(statement)
        if prepared is None:
            driver: Any = held.driver_connection
            if _NAMED not in held.info:
                held.info[_NAMED] = driver.get_server_pid() == await driver.fetchval("SELECT pg_catalog.pg_backend_pid()")
            prepared = await driver.prepare(statement, name=f"context_ledger_{len(statements)}" if held.info[_NAMED] else "")
            statements[statement] = prepared
        return prepared

    async def check_server(self) -> None:
        """Raises `RefusedServer` unless rows are walled off by tenant for this role and the server can hold our text."""
        name, superuser, bypasses, encoding, version = (await self.fetch(_SERVER))[0]
        if superuser or bypasses:
            raise RefusedServer(f"the database role {name} is a superuser or bypasses row level security; log in as ledger_app")
        if encoding != "UTF8":
            raise RefusedServer(f"the database's encoding is {encoding}; create it with UTF8")
        if version < VERSION_MIN:
            raise RefusedServer(f"PostgreSQL {version // 10_000} is too old; 15 is the oldest that works")

    async def close(self) -> None:
        """Closes every connection."""
        with contextlib.suppress(OSError):
            await self._engine.dispose()
