"""One serving process: the application, and a server that lets running turns end before it stops.

`python -m app.cli.worker HANDLE` is one of several: settings come from the environment, the socket is inherited, stdout says
`ready`, and the end of stdin is the end of the supervisor.
"""

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import uvicorn

from app.config.settings import CONFIG_VARIABLE, Settings, load_settings

DRAIN_MARGIN_SECONDS = 10.0
"""Beyond `drain_seconds`: running turns are settled with what they have, and their streams end."""

COLLECTOR_THRESHOLDS = (10_000, 20, 100)
"""How many more objects made than freed start a collection of the young ones, and how many of those one of the older ones."""


def spare_collector() -> None:
    """Takes what a process holds once it is ready out of the collector's sight, and lets it look at the rest less often.

    A compile makes thousands of small objects and no cycle. With Python's own thresholds the collector walks them, and now and then
    the whole heap, in the middle of it: a fifth of the time of a window of 200 entries, half of one of 5,000.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


class Drained(Protocol):
    """An application whose `state.drain()` lets running turns end."""

    @property
    def state(self) -> Any: ...


class DrainingServer(uvicorn.Server):
    """On the first signal asks `app.state.drain()` to let running turns end while the port still answers; a second one stops at once."""

    def __init__(self, config: uvicorn.Config, app: Drained, drain_seconds: float, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._drain_seconds = drain_seconds
        self._ready = ready
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            spare_collector()
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM and SIGINT. It never raises the signal again as uvicorn does: what this process owns has to be closed after it."""
        if self.should_exit or self._draining is not None:
            self.force_exit = self.should_exit
            self.should_exit = True
            return
        drain = getattr(self._app.state, "drain", None) if self.started else None
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


def serve_here(listening: socket.socket, settings: Settings, ready: Callable[[], None]) -> bool:
    """Serves on the socket in this process until it is told to stop; False where the application did not start."""
    from app.main import create_app

    app = create_app(settings)
    config = uvicorn.Config(
        app,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(settings.drain_seconds + DRAIN_MARGIN_SECONDS),
    )
    server = DrainingServer(config, app, settings.drain_seconds, ready)
    server.run(sockets=[listening])
    return server.started


def _end_with_supervisor() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _main() -> int:
    listening = socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    path = os.environ.get(CONFIG_VARIABLE)
    settings = load_settings(os.environ, Path(path) if path else None)
    return 0 if serve_here(listening, settings, lambda: print("ready", flush=True)) else 1


if __name__ == "__main__":
    sys.exit(_main())
