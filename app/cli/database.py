"""The database a command works on: the configured one, else the embedded one, which is started, or joined where a service runs it.

A command never needs the service: the ledger itself keeps two writers apart. Where a service owns the data folder, its note in
that folder says where the socket is.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from app.cli.console import IN_USE, UNREACHABLE, Console, Failure
from app.config.settings import Settings
from app.entries.errors import LedgerError

if TYPE_CHECKING:
    from app.storage.embedded import Urls
    from app.storage.store import Store

NOTE = "running.json"
COMMAND_POOL_SIZE = 4
APP_ROLE = "ledger_app"


class FolderHeld(Failure):
    """Another live process owns the data folder."""


@contextmanager
def owned_postgres(settings: Settings, console: Console) -> Iterator["Urls"]:
    """The embedded Postgres, started and migrated, for as long as the block lasts. Raises `FolderHeld`, and `Failure` where it cannot run."""
    from app.storage.embedded import EmbeddedPostgres, EmbeddedPostgresError, FolderInUse

    postgres = EmbeddedPostgres(Path(settings.data_dir))
    try:
        urls = postgres.start_blocking(console.say)
    except FolderInUse as error:
        raise FolderHeld(str(error), IN_USE) from None
    except EmbeddedPostgresError as error:
        raise Failure(str(error), UNREACHABLE) from None
    note = Path(settings.data_dir) / NOTE
    try:
        if not asyncio.run(_is_migrated(urls.app_url)):
            migrated(urls.migrate_url, console)
        note.write_text(json.dumps({"pid": os.getpid(), "database_url": urls.app_url}), "utf-8")
        yield urls
    finally:
        note.unlink(missing_ok=True)
        postgres.stop_blocking()


def checked(app_url: str) -> None:
    """Raises `Failure` where a database cannot be served from: out of reach, refused, or without this build's schema."""
    from app.storage.faults import StorageFault

    try:
        current = asyncio.run(_is_current(plain_url(app_url)))
    except StorageFault:  # nothing of ours is in that database yet
        current = False
    except LedgerError as error:
        raise Failure(error.detail, UNREACHABLE) from None
    if not current:
        raise Failure("The database's schema is not this release's; run `context-ledger migrate` first.", UNREACHABLE)


async def _is_current(app_url: str) -> bool:
    """Whether the schema is this build's already. Raises what `open_store` raises."""
    from app.storage.store import HEAD_REVISION, open_store

    store = await open_store(app_url, pool_size=1, application_name="context-ledger-cli")
    try:
        return await store.revision() == HEAD_REVISION
    finally:
        await store.close()


async def _is_migrated(app_url: str) -> bool:
    """The same of a database of ours, which may hold nothing yet. A current one loads no tools that migrate."""
    try:
        return await _is_current(app_url)
    except LedgerError:
        return False


def migrated(migrate_url: str, console: Console, app_url: str | None = None) -> str:
    """Brings the schema up to date and returns its revision. The app role gets the password that `app_url` logs in with, if it names one.

    Raises `Failure` where it cannot.
    """
    from app.storage.migrate import migrate

    login = urlsplit(app_url or "")
    password = unquote(login.password) if login.password and login.username == APP_ROLE else None
    try:
        return asyncio.run(migrate(plain_url(migrate_url), app_password=password, report=console.detail))
    except LedgerError as error:
        raise Failure(error.detail, UNREACHABLE) from None


def plain_url(url: str) -> str:
    """The URL as libpq and asyncpg read it, without the driver that SQLAlchemy's form names."""
    return url.replace("postgresql+asyncpg://", "postgresql://", 1)


@contextmanager
def database_url(settings: Settings, console: Console) -> Iterator[str]:
    """The URL of the app role's login, usable for as long as the block lasts."""
    if settings.database_url is not None:
        yield settings.database_url.reveal()
        return
    try:
        with owned_postgres(settings, console) as urls:
            yield urls.app_url
    except FolderHeld:
        yield _joined(Path(settings.data_dir))


def _joined(folder: Path) -> str:
    """The running service's database, by its note in the data folder."""
    try:
        return str(json.loads((folder / NOTE).read_text("utf-8"))["database_url"])
    except (OSError, ValueError, KeyError):
        raise Failure(f"The data folder {folder} is in use by a process that is still starting or stopping; try again.", IN_USE) from None


@asynccontextmanager
async def open_database(url: str) -> AsyncIterator["Store"]:
    """A store with a small pool. Raises `Failure` where the server cannot be reached or is refused."""
    from app.storage.store import open_store

    try:
        store = await open_store(url, pool_size=COMMAND_POOL_SIZE, application_name="context-ledger-cli")
    except LedgerError as error:
        raise Failure(error.detail, UNREACHABLE) from None
    try:
        yield store
    finally:
        await store.close()
