"""A client that reads many streams at once and says when each event came; the same for a limit and for the service."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp

_SENT = re.compile(rb'":"(\d{10,20}) "')
_TAIL_BYTES = 40
READ_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Post:
    """One request that opens a stream."""

    url: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Seen:
    """What the streams of one round gave: events, how long each was under way, and how long the first of each stream took."""

    events: int = 0
    under_way_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    seconds: float = 0.0
    failed: int = 0
    refusal: str = ""


async def _read(session: aiohttp.ClientSession, post: Post, seen: Seen, delay_seconds: float) -> None:
    await asyncio.sleep(delay_seconds)
    began = time.monotonic_ns()
    first = True
    rest = b""
    async with session.post(post.url, data=post.body, headers={"content-type": "application/json", **post.headers}) as response:
        if response.status != 200:
            seen.failed += 1
            seen.refusal = f"{response.status} {await response.text()}"[:300]
            return
        async for chunk in response.content.iter_any():
            now = time.monotonic_ns()
            data = rest + chunk
            end = 0
            for match in _SENT.finditer(data):
                end = match.end()
                seen.under_way_ms.append((now - int(match[1])) / 1e6)
            rest = data[max(end, len(data) - _TAIL_BYTES) :]
            if first and end:
                first = False
                seen.first_ms.append((now - began) / 1e6)


async def read_streams(posts: list[Post], spread_seconds: float = 0.0, cpu: Callable[[], float] | None = None) -> tuple[Seen, float]:
    """Opens the streams, evenly over `spread_seconds`, reads each to its end; second: the CPU seconds of `cpu` meanwhile."""
    seen = Seen()
    before = cpu() if cpu else 0.0
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=READ_SECONDS_MAX)
    started = time.perf_counter()
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session, asyncio.TaskGroup() as group:
        for number, post in enumerate(posts):
            group.create_task(_read(session, post, seen, spread_seconds * number / len(posts)))
    seen.seconds = time.perf_counter() - started
    seen.events = len(seen.under_way_ms)
    return seen, (cpu() if cpu else 0.0) - before
