"""One serving process: the application from the environment, and a server that lets running turns end before it stops."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from app.config.settings import CONFIG_VARIABLE, load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI

DRAIN_MARGIN_SECONDS = 10.0
"""Beyond `drain_seconds`: running turns are settled with what they have, and their streams end."""

_created: list[Any] = []


def create() -> "FastAPI":
    """The application of this process, by the settings in its environment."""
    from app.main import create_app

    path = os.environ.get(CONFIG_VARIABLE)
    app = create_app(load_settings(os.environ, Path(path) if path else None))
    _created.append(app)
    return app


class DrainingServer(uvicorn.Server):
    """On the first signal asks `app.state.drain()` to let running turns end while the port still answers; a second one stops at once."""

    def __init__(self, config: uvicorn.Config, drain_seconds: float, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds
        self._ready = ready
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM and SIGINT. It never raises the signal again as uvicorn does: what this process owns has to be closed after it."""
        if self.should_exit or self._draining is not None:
            self.force_exit = self.should_exit
            self.should_exit = True
            return
        drain = getattr(_created[-1].state, "drain", None) if _created and self.started else None
        if drain is None:
            self.should_exit = True
        else:
            loop = asyncio.get_running_loop()
            loop.call_soon_threadsafe(self._start_drain, drain)

    def _start_drain(self, drain: Callable[[], Awaitable[None]]) -> None:
        self._draining = self._draining or asyncio.get_running_loop().create_task(self._drain(drain))

    async def _drain(self, drain: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._drain_seconds + DRAIN_MARGIN_SECONDS):
                await drain()
        except TimeoutError:
            pass  # whoever takes the claims over settles what is left
        finally:
            self.should_exit = True
