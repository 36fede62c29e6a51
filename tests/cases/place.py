"""Where a case runs: a service on a socket with the upstream of `tests.cases.upstream` beside it, and what it logged."""

import contextlib
import io
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from app.config.secret import Secret
from app.config.settings import Settings
from app.config.upstreams import Timeouts, read_upstreams
from app.formats.registry import FORMATS
from app.storage.store import Store, open_store
from tests.api.conftest import on_socket
from tests.cases.upstream import Play, Upstream
from tests.database.copies import copy_of_template, with_database
from tests.database.shared import Server
from tests.services.world import World, client_of

KEY = "sk-made-up-for-cases-0123456789"
KEY_VARIABLE = "CASES_KEY"

UPSTREAMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "mock": ("openai-chat", {}),
    "nine": ("openai-chat", {"call_id_pattern": "[A-Za-z0-9]{9}"}),
    "blind": ("openai-chat", {"images": False}),
    "reasoned": ("openai-chat", {"reasoning_key": "reasoning_content", "reasoning_always": True}),
    "responses": ("openai-responses", {}),
    "anthropic": ("anthropic-messages", {}),
    "declaring": ("anthropic-messages", {"history_needs_tools": True}),
    "gemini": ("gemini", {}),
    "bedrock": ("bedrock-converse", {}),
}
"""Names of the upstreams that a place has, all at one address: dialect and quirks of each. Quirks are how a case's `capabilities` are told."""

MODELS: Mapping[str, str] = {
    "mock": "gpt-4o",
    "responses": "gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
}
"""A model of each dialect, to which sessions switch: its limits are the operator's, as an agent states those of its own model alone."""

SUMMARIZER, SUMMARIZER_SMALL = "summarizer", "small-summarizer"
"""Models of every upstream that write a case's summaries: one of the usual size, and one whose window is 1,000 tokens."""

_numbers = itertools.count(1)


@dataclass(slots=True)
class Place:
    """A running service: its client, its upstream, its database, and what it logged (of the last place that was opened)."""

    world: World
    upstream: Upstream
    settings: Settings
    database_url: str
    migrate_url: str
    log: io.StringIO
    stores: list[Store]

    def connections_out(self) -> int:
        """How many connections of the service's pool are in use now."""
        pool: Any = self.stores[0]._pool._pool
        return int(pool.checkedout())

    async def session(self, model: str = "gpt-4o", upstream: str = "mock", params: Mapping[str, Any] | None = None, **document: Any) -> str:
        """A new session under an agent of its own, for a model of one of the upstreams, with its parameters."""
        agent = await self.world.agent(model={"upstream": upstream, "name": model, "params": dict(params or {})}, **document)
        return await self.world.session(agent)

    async def playing(self, play: Play, upstream: str = "mock", model: str | None = None, **document: Any) -> str:
        """A new session whose model plays this. A named `model` is one whose rules the case is about."""
        model = model or f"play-{next(_numbers)}"
        self.upstream.plays[model] = play
        return await self.session(model, upstream, **document)


class Places:
    """The place that most cases share, and places of a case's own."""

    def __init__(self, server: Server, shared: Place, stack: AsyncExitStack) -> None:
        self._server = server
        self._stack = stack
        self.shared = shared

    async def own(self, **changes: Any) -> Place:
        """A service with settings of its own on a database of its own; closed when the case is over."""
        return await self._stack.enter_async_context(opened(self._server, **changes))

    async def database(self) -> tuple[str, str]:
        """A migrated database of the case's own: its URLs for the app role and for the role that migrates."""
        name = await self._stack.enter_async_context(copy_of_template(self._server))
        return with_database(self._server.app_url, name), with_database(self._server.admin_url, name)

    @property
    def server(self) -> Server:
        return self._server


def upstream_of(dialect: str) -> str:
    """The upstream without quirks that speaks a dialect."""
    return next(name for name, (spoken, quirks) in UPSTREAMS.items() if spoken == dialect and not quirks)


def tables(url: str) -> dict[str, Any]:
    """The upstreams as the operator's file would say them."""
    models = {name: {"context_window": 200_000, "max_output_tokens": 4_096} for name in (*MODELS.values(), SUMMARIZER)}
    models[SUMMARIZER_SMALL] = {"context_window": 1_000, "max_output_tokens": 250}
    plain = {"base_url": url, "allow_private_network": True, "api_key_env": KEY_VARIABLE, "models": models}
    return {name: {**plain, "dialect": dialect, "quirks": dict(quirks)} for name, (dialect, quirks) in UPSTREAMS.items() if dialect in FORMATS}


@contextmanager
def _kept_stores() -> Iterator[list[Store]]:
    """The stores that services open within the block."""
    found: list[Store] = []

    async def kept(*given: Any, **more: Any) -> Store:
        found.append(await open_store(*given, **more))
        return found[-1]

    with patch("app.main.open_store", kept):
        yield found


@asynccontextmanager
async def opened(server: Server, *, key: str = KEY, **changes: Any) -> AsyncIterator[Place]:
    """A place. `key` is its upstreams' key; `changes` are settings."""
    async with copy_of_template(server) as name, Upstream().serving() as upstream:
        urls = with_database(server.app_url, name), with_database(server.admin_url, name)
        upstreams = read_upstreams(tables(upstream.url), {KEY_VARIABLE: key}, Timeouts(5, 20), 2)
        settings = Settings(
            database_url=Secret(urls[0]), log_level="warning", pool_size=5, drain_seconds=0.5, heartbeat_seconds=0.3, upstreams=upstreams
        )
        settings = replace(settings, **changes)
        log = io.StringIO()
        async with AsyncExitStack() as stack:
            with contextlib.redirect_stderr(log), _kept_stores() as stores:  # the service's handler, set up now, keeps writing there
                url = await stack.enter_async_context(on_socket(settings))
            client = await stack.enter_async_context(client_of(url))
            yield Place(World(client), upstream, settings, urls[0], urls[1], log, stores)
