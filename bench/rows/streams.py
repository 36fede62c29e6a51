"""Turns streamed over HTTP and committed, beside pass-throughs that do neither, all between one provider and one reader."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import aiohttp
import orjson

from bench.database import Database
from bench.processes import cpu_seconds, limit_server
from bench.reader import Post, Seen, read_streams
from bench.rounds import percentile
from bench.scale import EVENT_MS, Scale
from bench.service import Service, open_sessions, put_agent, running_service
from bench.table import Row

FAST_STREAMS = 8
SPREAD_SECONDS = 2.0
TURN = orjson.dumps({"input": "Go on."})
EVENTS = {"accept": "text/event-stream"}


@dataclass(slots=True)
class Round:
    """One program's figures in one round."""

    seen: Seen
    cpu: float

    @property
    def per_second(self) -> float:
        return self.seen.events / self.seen.seconds

    def under_way(self, fraction: float) -> float:
        return percentile(self.seen.under_way_ms, fraction)


@dataclass(slots=True)
class Bench:
    """The provider, the limits and the service, all running."""

    provider: str
    limits: dict[str, tuple[str, int]]
    service: Service
    client: aiohttp.ClientSession

    async def limit(self, name: str, model: str, streams: int, spread: float) -> Round:
        """Streams through a limit, or straight from the provider (`direct`)."""
        url, pid = self.limits[name]
        posts = [Post(url + "/v1/chat/completions", orjson.dumps({"model": model}))] * streams
        return Round(*await read_streams(posts, spread, lambda: cpu_seconds(pid)))

    async def ours(self, model: str, streams: int, spread: float) -> Round:
        """As many turns, each on a session of its own."""
        await put_agent(self.client, self.service, model, {"upstream": "bench", "name": model})
        sessions = await open_sessions(self.client, self.service, model, streams)
        posts = [Post(f"{self.service.url}/sessions/{session}/turns", TURN, EVENTS) for session in sessions]
        return Round(*await read_streams(posts, spread, lambda: cpu_seconds(self.service.pid)))


async def measure(database: Database, scale: Scale, folder: Path) -> list[Row]:
    """The rows of the stream; the service uses the run's database."""
    async with AsyncExitStack() as stack:
        provider, pid = await stack.enter_async_context(limit_server("provider"))
        limits = {"direct": (provider, pid)}
        for name in ("httpx", "tee"):
            limits[name] = await stack.enter_async_context(limit_server(name, provider))
        service = await stack.enter_async_context(running_service(folder, {"DATABASE_URL": database.app_url}, provider))
        client = await stack.enter_async_context(aiohttp.ClientSession())
        bench = Bench(provider, limits, service, client)
        return [*await _paced(bench, scale), await _fast(bench, scale), await _many(bench, scale)]


async def _rounds(count: int, programs: dict[str, Callable[[], Awaitable[Round]]]) -> dict[str, list[Round]]:
    found: dict[str, list[Round]] = {name: [] for name in programs}
    for number in range(count + 1):
        for name in programs if number % 2 else reversed(programs):
            one = await programs[name]()
            if one.seen.failed or not one.seen.events:
                raise RuntimeError(f"{name}: {one.seen.failed} streams were refused ({one.seen.refusal}), {one.seen.events} events came")
            if number:
                found[name].append(one)
    return found


def _paced_model(scale: Scale) -> str:
    return f"paced-{int(scale.stream_seconds * 1000 / EVENT_MS)}-{EVENT_MS}"


async def _paced(bench: Bench, scale: Scale) -> list[Row]:
    model, streams, spread = _paced_model(scale), scale.streams, min(SPREAD_SECONDS, scale.stream_seconds) / 2
    rounds = await _rounds(
        min(3, scale.rounds),
        {
            "direct": lambda: bench.limit("direct", model, streams, spread),
            "tee": lambda: bench.limit("tee", model, streams, spread),
            "ours": lambda: bench.ours(model, streams, spread),
        },
    )
    pairs = list(zip(rounds["direct"], rounds["ours"], strict=True))
    p50 = median(ours.under_way(0.5) - direct.under_way(0.5) for direct, ours in pairs)
    p99 = median(ours.under_way(0.99) - direct.under_way(0.99) for direct, ours in pairs)
    cpu = median(ours.cpu / max(0.01, tee.cpu) for tee, ours in zip(rounds["tee"], rounds["ours"], strict=True))
    per_thousand = median(one.cpu / one.seen.events * 1e6 for one in rounds["ours"])
    return [
        Row(
            f"stream with commit, {streams} paced streams: added an event",
            "≤ 0.3 ms p50, ≤ 1.5 ms p99",
            f"{p50:.2f} ms p50, {p99:.2f} ms p99",
            p50 <= 0.3 and p99 <= 1.5,
            "appends, compiles and the flush of the delta log run on the same loop as the events; while one does, the others wait",
        ),
        Row(
            f"stream with commit, {streams} paced streams: CPU of the worker",
            "≤ 1.5 × an aiohttp tee",
            f"{cpu:.2f} × ({per_thousand:.0f} ms per 1,000 events)",
            cpu <= 1.5,
            "each event is parsed, folded, logged and spelled as a frame of our own, and each turn accepted and committed; a tee does none of it",
        ),
    ]


async def _fast(bench: Bench, scale: Scale) -> Row:
    model = f"fast-{scale.fast_events}-0"
    streams = min(FAST_STREAMS, scale.streams)
    rounds = await _rounds(
        min(3, scale.rounds), {"httpx": lambda: bench.limit("httpx", model, streams, 0), "ours": lambda: bench.ours(model, streams, 0)}
    )
    reached = median(ours.per_second / httpx.per_second for httpx, ours in zip(rounds["httpx"], rounds["ours"], strict=True))
    return Row(
        "stream with commit, as fast as it goes",
        "≥ 2 × raw httpx pass-through; ≥ 40 × LiteLLM (not installed here; 0.04 × httpx by the recorded figures)",
        f"{reached:.2f} × ({median(one.per_second for one in rounds['ours']):.0f} events/s); by the recorded figures {reached / 0.04:.0f} × LiteLLM",
        reached >= 2,
        "a pass-through never looks at an event; here each is parsed and written anew, in Python",
    )


async def _many(bench: Bench, scale: Scale) -> Row:
    model, streams, spread = _paced_model(scale), scale.many_streams, min(SPREAD_SECONDS, scale.stream_seconds)
    rounds = await _rounds(
        min(3, scale.rounds),
        {"direct": lambda: bench.limit("direct", model, streams, spread), "ours": lambda: bench.ours(model, streams, spread)},
    )
    pairs = list(zip(rounds["direct"], rounds["ours"], strict=True))
    reached = median(ours.per_second / direct.per_second for direct, ours in pairs)
    first = median(median(ours.seen.first_ms) - median(direct.seen.first_ms) for direct, ours in pairs)
    return Row(
        f"{streams} paced streams in one worker, opened over {spread:g} s",
        "≥ 0.98 × direct; first event ≤ 5 ms later",
        f"{reached:.2f} × direct; first event {first:.1f} ms later",
        reached >= 0.98 and first <= 5,
        "before its first event a turn is accepted, its sources are read, and the call is recorded: three round trips and two commits",
    )
