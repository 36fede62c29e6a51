"""A service in process for tests of turns, and a second replica on the same database."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.config.secret import Secret
from app.config.settings import Settings
from tests.api.conftest import on_socket, running, talking
from tests.services.world import World, client_of


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5, heartbeat_seconds=0.3, lease_seconds=5)


@pytest_asyncio.fixture
async def app(settings: Settings) -> AsyncIterator[FastAPI]:
    """A service in this process."""
    async with running(settings) as found:
        yield found


@pytest_asyncio.fixture
async def world(app: FastAPI) -> AsyncIterator[World]:
    """A client of the service in this process."""
    async with talking(app) as client:
        yield World(client)


@pytest_asyncio.fixture
async def socket_world(settings: Settings) -> AsyncIterator[World]:
    """A client of a service on a socket: it can leave in mid-stream."""
    async with on_socket(settings) as url, client_of(url) as client:
        yield World(client)


@pytest_asyncio.fixture
async def other_world(settings: Settings) -> AsyncIterator[World]:
    """A client of a second replica on the same database."""
    async with on_socket(replace(settings)) as url, client_of(url) as client:
        yield World(client)
