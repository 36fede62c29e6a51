"""Keeps one embedded PostgreSQL running for one service."""

import asyncio
import contextlib
import logging
import os
import shutil
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import asyncpg

from app.storage.embedded.binaries import find_binaries
from app.storage.embedded.cluster import ADMIN, command, prepare
from app.storage.embedded.errors import EmbeddedPostgresError, StartFailed
from app.storage.embedded.folder import Folder
from app.storage.embedded.identity import Identity, choose_identity
from app.storage.embedded.postmaster import Postmaster, Progress, Stopped, clear_leftovers

APP = "ledger_app"  # the service's login: no superuser, so that row level security binds it
DATABASE = "ledger"
WATCH_SECONDS = 0.1
RESTART_DELAY_SECONDS_MAX = 5.0
HEALTHY_SECONDS = 30.0
TIDY_SECONDS = 10.0
LOG_BYTES_MAX = 8 * 2**20
CONNECT_SECONDS = 30.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Urls:
    """Where the server listens: libpq URLs, which asyncpg and psql read. `migrate_url` is the superuser's."""

    app_url: str
    migrate_url: str
    socket_folder: Path


class EmbeddedPostgres:
    """The server of one data folder, for as long as this object is started.

    A thread of its own holds the lock, starts the postmaster, starts it again when it dies, and bounds its log. The postmaster is tied to
    that thread by the kernel: when the process ends in any way, the server gets a fast shutdown. The URLs stay the same over restarts.
    """

    def __init__(self, data_dir: Path, *, binaries: Path | None = None, identity: Identity | None = None) -> None:
        self._folder = Folder(data_dir)
        self._binaries = binaries
        self._identity = identity
        self._stop = threading.Event()
        self._ready: Future[Urls] = Future()
        self._thread: threading.Thread | None = None
        self._progress: Progress = _log.info
        self._postmaster: Postmaster | None = None
        self.restarts = 0

    @property
    def postmaster_pid(self) -> int | None:
        """The present postmaster's pid; None before the start and after the stop."""
        return self._postmaster.pid if self._postmaster else None

    async def start(self, on_progress: Progress | None = None) -> Urls:
        """Makes the cluster if needed, starts the server and waits until it takes connections, however long its recovery takes.

        `on_progress` gets lines for the operator, on the caller's loop. Raises EmbeddedPostgresError. Once per object.
        """
        loop = asyncio.get_running_loop()
        progress = on_progress or _log.info
        self._launch(lambda line: _from_thread(loop, progress, line))
        try:
            return await asyncio.shield(asyncio.wrap_future(self._ready))
        except asyncio.CancelledError:
            self._stop.set()
            raise

    async def stop(self) -> None:
        """Fast shutdown, and the folder is free again. Harmless when not started or stopped before. Close the pools first."""
        self._stop.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def start_blocking(self, on_progress: Progress | None = None) -> Urls:
        """`start` for code without an event loop; `on_progress` is called on the server's thread."""
        self._launch(on_progress or _log.info)
        try:
            return self._ready.result()
        except KeyboardInterrupt:
            self._stop.set()
            raise

    def stop_blocking(self) -> None:
        """`stop` for code without an event loop."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _launch(self, progress: Progress) -> None:
        if self._thread is not None:
            raise RuntimeError("an EmbeddedPostgres starts once")
        self._progress = progress
        self._thread = threading.Thread(target=self._run, name="embedded-postgres", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            binaries = self._binaries or find_binaries()
            identity = self._identity or choose_identity()
            self._folder.open()
            self._first_start(binaries, identity)
            self._watch(binaries, identity)
        except Stopped:
            self._fail(StartFailed(self._folder.log, "it was told to stop"))
        except Exception as error:
            self._fail(error)
        finally:
            if self._postmaster is not None:
                self._postmaster.stop()
                self._postmaster = None
            self._folder.close()

    def _fail(self, error: Exception) -> None:
        if self._ready.done():
            _log.error("the embedded PostgreSQL is no longer watched: %s", error)
        else:
            self._ready.set_exception(error)

    def _first_start(self, binaries: Path, identity: Identity) -> None:
        clear_leftovers(self._folder, self._progress)
        if not self._folder.cluster.exists():
            self._progress(f"making the embedded PostgreSQL's files in {self._folder.path}")
        prepare(self._folder, binaries, identity)
        self._bound_log()
        runtime = self._start_postmaster(binaries, identity)
        try:
            asyncio.run(_make_login_and_database(runtime))
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            raise StartFailed(self._folder.log, f"its first connection failed: {type(error).__name__}: {error}") from error
        host = quote(str(runtime), safe="")
        self._ready.set_result(
            Urls(
                app_url=f"postgresql://{APP}@/{DATABASE}?host={host}",
                migrate_url=f"postgresql://{ADMIN}@/{DATABASE}?host={host}",
                socket_folder=runtime,
            )
        )

    def _start_postmaster(self, binaries: Path, identity: Identity) -> Path:
        runtime = self._folder.runtime(identity)
        self._postmaster = Postmaster(self._folder, command(self._folder, binaries, identity, runtime), self._stop.is_set)
        self._postmaster.wait_ready(self._progress)
        return runtime

    def _watch(self, binaries: Path, identity: Identity) -> None:
        """Until told to stop: a postmaster that is gone is started again, at once at first, then ever later up to a limit."""
        delay, healthy_from, tidied = 0.0, time.monotonic(), time.monotonic()
        while not self._stop.wait(WATCH_SECONDS):
            if time.monotonic() - tidied > TIDY_SECONDS:
                tidied = time.monotonic()
                self._bound_log()
                self._check_socket()
            if self._postmaster is not None and not self._postmaster.ended():
                continue
            if time.monotonic() - healthy_from > HEALTHY_SECONDS:
                delay = 0.0
            _log.warning("the embedded PostgreSQL is gone; starting it again in %.1f s (its log: %s)", delay, self._folder.log)
            if self._stop.wait(delay):
                return
            delay = min(RESTART_DELAY_SECONDS_MAX, 2 * delay or WATCH_SECONDS)
            try:
                clear_leftovers(self._folder, self._progress)
                self._start_postmaster(binaries, identity)
            except EmbeddedPostgresError as error:
                _log.error("the embedded PostgreSQL did not come back: %s", error)
                continue
            self.restarts += 1
            healthy_from = time.monotonic()
            _log.warning("the embedded PostgreSQL is back (pid %s)", self.postmaster_pid)

    def _check_socket(self) -> None:
        """A server whose socket was deleted (a sweep of temporary folders) cannot be reached any more: it is stopped, to be started again."""
        if self._postmaster is not None and not self._folder.socket_exists():
            self._postmaster.stop()

    def _bound_log(self) -> None:
        """The server appends, so its file can be copied and cut under it; a few lines between the two steps may be lost."""
        with contextlib.suppress(OSError):
            if self._folder.log.stat().st_size > LOG_BYTES_MAX:
                shutil.copyfile(self._folder.log, self._folder.log.with_suffix(".log.1"))
                os.truncate(self._folder.log, 0)


def _from_thread(loop: asyncio.AbstractEventLoop, progress: Progress, line: str) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed: nobody listens any more
        loop.call_soon_threadsafe(progress, line)


async def _make_login_and_database(runtime: Path) -> None:
    """What migrations cannot do in the database they run in. Each step is done only if missing: a start may have been cut short."""
    connection = await asyncpg.connect(host=str(runtime), port=5432, user=ADMIN, database="postgres", password="", ssl=False, timeout=CONNECT_SECONDS)
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", APP):
            await connection.execute(f"CREATE ROLE {APP} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE")
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
            await connection.execute(f"CREATE DATABASE {DATABASE}")
    finally:
        await connection.close()
