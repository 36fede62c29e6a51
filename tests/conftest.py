"""Fixtures that tests of several packages share: a database of their own, a store on it, a tenant, the shared material."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from hypothesis import settings

from tests.database.copies import copy_of_template, with_database
from tests.database.shared import Server, shared_server

if TYPE_CHECKING:
    from app.storage.store import Store

# A change is judged by the same examples wherever it is judged; `make laws` looks for new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False)
settings.load_profile("new" if os.environ.get("CONTEXT_LEDGER_TEST_NEW_EXAMPLES") else "same")


@pytest.fixture(scope="session")
def database_server() -> Iterator[Server]:
    """The run's Postgres server, shared by all workers; ended by the last of them."""
    with shared_server() as server:
        yield server


@pytest_asyncio.fixture
async def database(database_server: Server) -> AsyncIterator[str]:
    """The name of a migrated database that this test has for itself."""
    async with copy_of_template(database_server) as name:
        yield name


@pytest.fixture
def database_url(database_server: Server, database: str) -> str:
    """That database, as the app role: `postgresql://…`, as libpq reads it."""
    return with_database(database_server.app_url, database)


@pytest.fixture
def migrate_url(database_server: Server, database: str) -> str:
    """That database, as the role that migrates."""
    return with_database(database_server.admin_url, database)


@pytest_asyncio.fixture
async def store(database_url: str) -> "AsyncIterator[Store]":
    """An open store on the test's database, with a pool of 5."""
    from app.storage.store import open_store  # here, so that tests of the pure floors load no driver

    opened = await open_store(database_url, pool_size=5, application_name="context-ledger-test")
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
def tenant() -> UUID:
    """A tenant that nobody else uses."""
    return uuid4()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material (corpus, cases, specs): real input that is no part of the project."""
    folder = Path(os.environ.get("CONTEXT_LEDGER_SHARED") or Path(__file__).parents[2] / "shared")
    if not (folder / "corpus").is_dir():
        pytest.skip(
            f"it reads real transcripts that are no part of the project, and {folder} is absent (CONTEXT_LEDGER_SHARED names another place); "
            "every rule is tested on data of the project's own too"
        )
    return folder
