"""Places for cases: one service that most of them share, and services of their own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest_asyncio

from tests.cases.place import Place, Places, opened
from tests.database.shared import Server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(database_server: Server) -> AsyncIterator[Place]:
    async with opened(database_server) as place:
        yield place


@pytest_asyncio.fixture(loop_scope="module")
async def places(database_server: Server, shared_place: Place) -> AsyncIterator[Places]:
    async with AsyncExitStack() as stack:
        yield Places(database_server, shared_place, stack)
