"""Clients that are closed when a test is over."""

import pytest

from app.outbound.client import Clients


@pytest.fixture
async def clients():
    found = Clients(connections_max=500)
    yield found
    await found.aclose()
