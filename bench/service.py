"""The product under measure: `context-ledger serve` as a process of its own on the run's database, and the calls that prepare it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
import orjson

from bench.processes import child

READY_SECONDS_MAX = 60.0
AGENT = {
    "context": [{"renderer": "system", "text": "You are a triage nurse."}, {"renderer": "history", "scope": "session"}],
    "limits": {"context_window": 1_000_000, "max_output_tokens": 4096},
}


@dataclass(frozen=True, slots=True)
class Service:
    """Where it listens, which process serves (one worker), and how long it took until it was ready."""

    url: str
    pid: int
    ready_seconds: float


@asynccontextmanager
async def running_service(folder: Path, settings: Mapping[str, str], upstream: str | None = None) -> AsyncIterator[Service]:
    """Serves on a free port with settings by name (`DATABASE_URL`, …); `upstream` is the base URL of the bench's provider."""
    config = folder / "bench.toml"
    text = "" if upstream is None else f'[upstreams.bench]\ndialect = "openai-chat"\nbase_url = "{upstream}/v1"\nallow_private_network = true\n'
    config.write_text(text, "utf-8")
    environ = {"CONTEXT_LEDGER_CONFIG": str(config), "CONTEXT_LEDGER_PORT": "0", "CONTEXT_LEDGER_LOG_LEVEL": "error"}
    environ |= {f"CONTEXT_LEDGER_{name}": value for name, value in settings.items()}
    started = perf_counter()
    async with child(["-m", "app.cli", "serve", "--json"], environ, folder / "serve.log") as process:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS_MAX)
        if not line:
            raise RuntimeError("the service did not start: " + (folder / "serve.log").read_text("utf-8")[-2000:])
        said = orjson.loads(line)
        async with aiohttp.ClientSession() as client, client.get(said["url"] + "/readyz") as response:
            response.raise_for_status()
        yield Service(said["url"], said["pid"], perf_counter() - started)


async def put_agent(client: aiohttp.ClientSession, service: Service, name: str, model: Mapping[str, Any]) -> None:
    """Makes an agent for that model."""
    async with client.put(f"{service.url}/agents/{name}", json={**AGENT, "model": model}) as response:
        if response.status >= 300:
            raise RuntimeError(await response.text())


async def open_sessions(client: aiohttp.ClientSession, service: Service, agent: str, count: int) -> list[str]:
    """That many new sessions."""
    found = []
    for _ in range(count):
        async with client.post(f"{service.url}/sessions", json={"agent": agent}) as response:
            if response.status != 201:
                raise RuntimeError(await response.text())
            found.append((await response.json())["id"])
    return found
