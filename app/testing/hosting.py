"""The service in a thread of this process: a database, the application on a free port of this machine, and an end that leaves nothing.

The thread has an event loop of its own, so that one service serves tests with loops of theirs, and tests with none.
"""

import asyncio
import logging
import os
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import uvicorn

from app.api.services import Services
from app.config.secret import Secret
from app.config.settings import PREFIX, Settings, load_settings
from app.entries.errors import LedgerError
from app.main import create_app
from app.storage.embedded import EmbeddedPostgres, EmbeddedPostgresError
from app.storage.migrate import migrate
from app.storage.store import HEAD_REVISION, open_store
from app.testing.faults import NotStarted

LOG_LEVEL = "warning"
DRAIN_SECONDS = 0.5
CLOSE_SECONDS = 2

Done = TypeVar("Done")


class Hosted:
    """One service from `start` to `stop`; both block. Raises `NotStarted` with what to do."""

    def __init__(self, database_url: str | None, config: Path | None) -> None:
        self._database_url = database_url
        self._config = config
        self._ready: Future[str] = Future()
        self._thread = threading.Thread(target=self._run, name="context-ledger-testing", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._server: uvicorn.Server | None = None
        self._services: Callable[[], Services] | None = None
        self.settings = Settings()

    def start(self) -> str:
        """The base URL, once requests are served."""
        self._thread.start()
        return self._ready.result()

    def stop(self) -> None:
        """Ends the service and, where it was ours, the database with its folder. Harmless when it never started."""
        self._stopping = True
        if self._server is not None:
            self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join()

    async def within(self, work: Callable[[Services], Awaitable[Done]]) -> Done:
        """What `work` gives, done on the service's own loop; to be awaited on any other."""
        services, loop = self._services, self._loop
        if services is None or loop is None or not loop.is_running():
            raise NotStarted("The service does not run; use it inside its `with` block.")

        async def done() -> Done:
            return await work(services())

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(done(), loop))

    def _run(self) -> None:
        try:
            with _logs_restored():
                asyncio.run(self._live())
        except BaseException as error:  # of a thread that nobody waits for: whoever starts it has to hear
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with _database(self._database_url) as url:
            self.settings = _settings(url, self._config)
            app = create_app(self.settings)
            self._services = lambda: app.state.services
            with _listening() as listener:
                config = uvicorn.Config(app, lifespan="on", log_config=None, access_log=False, timeout_graceful_shutdown=CLOSE_SECONDS)
                base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
                self._server = _Announced(config, lambda: self._ready.set_result(base_url))
                if not self._stopping:  # whoever waited for the start was interrupted
                    await self._server.serve([listener])
        if not self._ready.done():
            raise NotStarted("The service did not start; the lines that it logged say why.")


class _Announced(uvicorn.Server):
    """Says when requests are served."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._ready()


@asynccontextmanager
async def _database(url: str | None) -> AsyncIterator[str]:
    """The named database, whose schema has to be this release's; else an embedded Postgres in a temporary folder."""
    try:
        if url is not None:
            await _check(url)
            yield url
            return
        with tempfile.TemporaryDirectory(prefix="context-ledger-testing-") as folder:
            postgres = EmbeddedPostgres(Path(folder))
            try:
                urls = await postgres.start()
                await migrate(urls.migrate_url)
                yield urls.app_url
            finally:
                await postgres.stop()
    except EmbeddedPostgresError as error:
        raise NotStarted(str(error)) from None
    except LedgerError as error:
        raise NotStarted(error.detail) from None


async def _check(url: str) -> None:
    store = await open_store(url, pool_size=1, application_name="context-ledger-testing")
    try:
        if await store.revision() != HEAD_REVISION:
            raise NotStarted("The database's schema is not this release's; run `context-ledger migrate` first.")
    finally:
        await store.close()


def _settings(database_url: str, config: Path | None) -> Settings:
    """The file's settings (tool servers, upstreams whose dialects count), but for what a test must not share with an operator.

    Variables are read for the keys that the file names, never as settings.
    """
    plain = Settings()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return replace(
        plain if config is None else load_settings(environ, config),
        host=plain.host,
        workers=plain.workers,
        auth="keys",
        bootstrap_key=None,
        database_url=Secret(database_url),
        migrate_database_url=None,
        drain_seconds=DRAIN_SECONDS,
        log_level=LOG_LEVEL,
    )


@contextmanager
def _listening() -> Iterator[socket.socket]:
    # The protocol is named so that the event loop switches Nagle's algorithm off; without it each answer waits 40 ms for an ACK.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener


@contextmanager
def _logs_restored() -> Iterator[None]:
    """The service sets up the process's logs as if it were alone; a test runner had them before and gets them back."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler in [each for each in root.handlers if each not in handlers and each.get_name() == "context-ledger"]:
            root.removeHandler(handler)
