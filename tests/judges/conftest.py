"""A service on a database of its own, with the five strict fakes on sockets as its upstreams."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from app.config.secret import Secret
from app.config.settings import Settings
from tests.api.conftest import on_socket
from tests.fakes.anthropic_messages import FakeAnthropic
from tests.fakes.bedrock_converse import FakeBedrock
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai_chat import FakeOpenAI
from tests.fakes.openai_responses import FakeOpenAIResponses
from tests.fakes.serving import FakeServer, serving
from tests.services.world import World, client_of

FAKES: dict[str, type[FakeServer]] = {kind.dialect: kind for kind in (FakeOpenAI, FakeOpenAIResponses, FakeAnthropic, FakeGemini, FakeBedrock)}


@dataclass(frozen=True, slots=True)
class Providers:
    """A client of the service, and the fakes by dialect; each is an upstream under its dialect's name."""

    world: World
    fakes: dict[str, Any]


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5, heartbeat_seconds=0.5)


@pytest_asyncio.fixture
async def providers(settings: Settings) -> AsyncIterator[Providers]:
    async with AsyncExitStack() as stack:
        fakes = {dialect: await stack.enter_async_context(serving(kind())) for dialect, kind in FAKES.items()}
        upstreams = {**settings.upstreams, **{dialect: fake.upstream(dialect) for dialect, fake in fakes.items()}}
        url = await stack.enter_async_context(on_socket(replace(settings, upstreams=upstreams)))
        client = await stack.enter_async_context(client_of(url))
        yield Providers(World(client), fakes)
