"""A whole service on a database of its own: in process by default, on a socket where a client has to leave in mid-stream."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
import pytest_asyncio
import uvicorn
from fastapi import FastAPI

from app.config.secret import Secret
from app.config.settings import Settings
from app.main import create_app

AGENT: dict[str, Any] = {
    "model": {"upstream": "scripted", "name": "scripted", "params": {"script": [{"text": "Bonjour."}]}},
    "limits": {"context_window": 128000, "max_output_tokens": 4096},
}

Serve = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5, heartbeat_seconds=0.3)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[FastAPI]:
    """The application with its services open."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        yield app


@asynccontextmanager
async def talking(app: FastAPI, **more: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application in this process."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30, **more) as client:
        yield client


@pytest_asyncio.fixture
async def app(settings: Settings) -> AsyncIterator[FastAPI]:
    async with running(settings) as found:
        yield found


@pytest_asyncio.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with talking(app) as found:
        yield found


@asynccontextmanager
async def on_socket(settings: Settings) -> AsyncIterator[str]:
    """Serves on a free port of this machine; gives the base URL."""
    # The protocol is named so that the event loop switches Nagle's algorithm off; without it each answer waits 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None, lifespan="on", timeout_graceful_shutdown=2))
    task = asyncio.create_task(server.serve([listener]))
    try:
        async with asyncio.timeout(20):
            while not server.started:
                if task.done():
                    await task
                await asyncio.sleep(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


@pytest_asyncio.fixture
async def url(settings: Settings) -> AsyncIterator[str]:
    async with on_socket(settings) as found:
        yield found


async def open_session(client: httpx.AsyncClient, name: str = "triage", session: dict[str, Any] | None = None, **document: Any) -> str:
    """The id of a new session under an agent that is put with these changes to `AGENT`."""
    put = await client.put(f"/agents/{name}", json={**AGENT, **document})
    assert put.status_code in (200, 201), put.text
    made = await client.post("/sessions", json={"agent": name, **(session or {})})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def with_keys(settings: Settings, bootstrap: str = "boot-" + "k" * 40) -> Settings:
    """The same service with keys instead of loopback."""
    return replace(settings, auth="keys", bootstrap_key=Secret(bootstrap))


def message(text: str, kind: str = "user_message", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "parts": [{"type": "text", "text": text}], **more}
