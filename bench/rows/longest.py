"""One very long session beside one of 1,000 entries: what every reading and an append of it cost, in process and over HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from types import MappingProxyType
from uuid import UUID

import aiohttp
import asyncpg

from app.context.sources import RendererSpec
from app.entries.ids import SESSION, format_id
from app.storage.types import Append
from bench.database import Database
from bench.limits.postgres import copied
from bench.processes import resident_mib
from bench.rounds import interleave, median_ms_awaited, percentile, ratio
from bench.rows.compile import agent
from bench.rows.storage import TURN, covered_by_checkpoint, filled, left_behind, window_compiler
from bench.scale import Scale
from bench.service import Service, running_service
from bench.table import Row

SHORT = 1_000
WINDOW, SELECTED = 200, 50
PAGE = 100
SAMPLE_SECONDS = 0.02
PROGRESS_ENTRIES = 100_000
RSS_MIB_MAX = 50
NDJSON = {"accept": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class _Sessions:
    """The short one and the long one, of messages alone."""

    short: UUID
    long: UUID
    entries: int


async def measure(database: Database, scale: Scale, folder: Path) -> list[Row]:
    """The readings of what was filled first, then the appends, then the windows of lines that begin at the end."""
    entries = scale.longest_entries
    sessions = _Sessions(
        await filled(database.store, database.tenant, SHORT), await filled(database.store, database.tenant, entries, _progress(entries)), entries
    )
    owner = await database.connect()
    try:
        await owner.execute("VACUUM (ANALYZE) ledger.entries")
        async with running_service(folder, {"DATABASE_URL": database.app_url}) as service, aiohttp.ClientSession() as client:
            client_of = _Client(service, client)
            return [
                *await _whole(database, sessions, scale, client_of, owner),
                await _pages(sessions, scale, client_of),
                await _verify(database, sessions, client_of),
                await _append(database, sessions, scale),
                *await _window(database, sessions, scale),
            ]
    finally:
        await owner.close()


def _progress(entries: int) -> Callable[[int], None]:
    shown = 0

    def told(reached: int) -> None:
        nonlocal shown
        if reached >= shown + PROGRESS_ENTRIES:
            shown = reached
            print(f"longest: {reached:,} of {entries:,} entries", file=sys.stderr, flush=True)

    return told


@dataclass(frozen=True, slots=True)
class _Client:
    service: Service
    http: aiohttp.ClientSession

    async def read(self, session: UUID, path: str, headers: dict[str, str] | None = None) -> tuple[float, int]:
        """One GET of something of a session: seconds, and bytes of the answer, none of which is kept."""
        size = 0
        started = perf_counter()
        async with self.http.get(f"{self.service.url}/sessions/{format_id(SESSION, session)}{path}", headers=headers) as response:
            if response.status != 200:
                raise RuntimeError(await response.text())
            async for piece in response.content.iter_any():
                size += len(piece)
        return perf_counter() - started, size


@asynccontextmanager
async def _resident(pid: int) -> AsyncIterator[list[float]]:
    """The resident MiB of a process: at the beginning, and then sampled until the end of the block."""
    samples = [resident_mib(pid)]

    async def sample() -> None:
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            samples.append(resident_mib(pid))

    task = asyncio.create_task(sample())
    try:
        yield samples
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _whole(database: Database, sessions: _Sessions, scale: Scale, client: _Client, owner: asyncpg.Connection) -> list[Row]:
    """All of it as NDJSON and as an export, beside the server's own COPY of the same rows to the same driver."""
    rows = f"SELECT * FROM ledger.entries WHERE tenant_id = '{database.tenant}' AND session_id = '{sessions.long}' ORDER BY seq"
    readings = {"NDJSON": ("/raw?view=ledger", NDJSON), "export": ("/export?format=jsonl", None)}
    growths: dict[str, float] = dict.fromkeys(readings, 0.0)

    async def copy() -> float:
        started = perf_counter()
        await copied(owner, rows)
        return sessions.entries / (perf_counter() - started)

    async def read(name: str) -> float:
        path, headers = readings[name]
        async with _resident(client.service.pid) as samples:
            seconds, _ = await client.read(sessions.long, path, headers)
        growths[name] = max(growths[name], max(samples) - samples[0])
        return sessions.entries / seconds

    for path, headers in readings.values():  # the service's first reading loads what any reading needs
        await client.read(sessions.short, path, headers)
    programs = {"COPY": copy, "NDJSON": lambda: read("NDJSON"), "export": lambda: read("export")}
    figures = await interleave(max(1, scale.rounds // 2), programs)
    return [
        Row(
            f"{name} of {sessions.entries:,} entries over HTTP",
            f"≥ 0.5 × COPY of the rows; the service grows by < {RSS_MIB_MAX} MiB",
            f"{ratio(figures, name, 'COPY'):.2f} × ({median(figures[name]) / 1000:.0f} of {median(figures['COPY']) / 1000:.0f} thousand entries/s); "
            f"grows by {growths[name]:.1f} MiB",
            ratio(figures, name, "COPY") >= 0.5 and growths[name] < RSS_MIB_MAX,
            "the server spells each entry as JSON, which costs more than COPY's text; service and client share its cores",
        )
        for name in readings
    ]


async def _pages(sessions: _Sessions, scale: Scale, client: _Client) -> Row:
    """A page of raw from the middle of a short session, and from three places of the long one."""

    async def timed(session: UUID, after: int) -> float:
        path = f"/raw?view=ledger&limit={PAGE}&after_seq={after}"
        return median([(await client.read(session, path))[0] for _ in range(scale.turns)]) * 1000

    places = {"start": 0, "middle": sessions.entries // 2, "end": sessions.entries - PAGE}
    programs: dict[str, Callable[[], Awaitable[float]]] = {"short": lambda: timed(sessions.short, SHORT // 2)}
    programs |= {name: lambda after=after: timed(sessions.long, after) for name, after in places.items()}
    figures = await interleave(scale.rounds, programs)
    reached = {name: ratio(figures, name, "short") for name in places}
    return Row(
        f"page of {PAGE} of raw over HTTP, {SHORT:,} → {sessions.entries:,} entries",
        "≤ 1.3 ×",
        ", ".join(f"{name} {value:.2f} ×" for name, value in reached.items())
        + f" ({median(figures['short']):.2f} → {max(median(figures[name]) for name in places):.2f} ms)",
        max(reached.values()) <= 1.3,
        "an index one level deeper, and pages of the table that were not read for long",
    )


async def _verify(database: Database, sessions: _Sessions, client: _Client) -> Row:
    """The walk in process, page by page; and over HTTP, with somebody else who asks for the short session meanwhile."""
    reached = [(0, perf_counter())]
    verified = await database.store.ledger.verify(database.tenant, sessions.long, lambda seq: reached.append((seq, perf_counter())))
    assert verified is not None
    assert not verified.problems
    taken = [(then - before) / (seq - behind) * 1e6 for (behind, before), (seq, then) in pairwise(reached)]
    tenth = max(1, len(taken) // 10)
    first, last = median(taken[:tenth]), median(taken[-tenth:])

    others: list[float] = []

    async def ask() -> None:
        while True:
            others.append((await client.read(sessions.short, ""))[0] * 1000)
            await asyncio.sleep(SAMPLE_SECONDS)

    asking = asyncio.create_task(ask())
    seconds, _ = await client.read(sessions.long, "/verify")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    waited = f"p50 {median(others):.1f} ms, p99 {percentile(others, 0.99):.1f} ms" if others else "none"
    return Row(
        f"verify of {sessions.entries:,} entries, its first pages → its last",
        "≤ 1.3 ×",
        f"{last / first:.2f} × ({first:.1f} → {last:.1f} µs an entry); {seconds:.1f} s over HTTP, another's GET meanwhile {waited}",
        last <= 1.3 * first,
        "pages of the table that were not read for long",
    )


async def _append(database: Database, sessions: _Sessions, scale: Scale) -> Row:
    async def appended(session: UUID) -> float:
        return await median_ms_awaited(scale.turns, lambda: database.store.ledger.append(database.tenant, session, Append(entries=TURN)))

    figures = await interleave(scale.rounds, {"short": lambda: appended(sessions.short), "long": lambda: appended(sessions.long)})
    return _grown("append of a turn", sessions, figures, "an index one level deeper")


async def _window(database: Database, sessions: _Sessions, scale: Scale) -> list[Row]:
    """Both sessions go on with a window of 200: behind a checkpoint that stands for all that they hold, and then behind a rewind of it."""
    behind = "a fixed price for each read, and an index one level deeper"
    compiled = window_compiler(database.store, database.tenant)
    revision = agent()
    select = RendererSpec("select_recent", "recent", MappingProxyType({"n": SELECTED, "unit": "entries"}))
    selected = window_compiler(database.store, database.tenant, replace(revision, renderers=(*revision.renderers, select)))
    rows = []
    for what, begin in (("a checkpoint", covered_by_checkpoint), ("a rewind", left_behind)):
        for session in (sessions.short, sessions.long):
            row = await database.store.sessions.get(database.tenant, session)
            assert row is not None
            await begin(database, session, row.head_seq, WINDOW)
        figures = await interleave(
            scale.rounds,
            {
                "short": lambda: median_ms_awaited(scale.turns, lambda: compiled(sessions.short)),
                "long": lambda: median_ms_awaited(scale.turns, lambda: compiled(sessions.long)),
                "selected, short": lambda: median_ms_awaited(scale.turns, lambda: selected(sessions.short)),
                "selected, long": lambda: median_ms_awaited(scale.turns, lambda: selected(sessions.long)),
            },
        )
        growth = ratio(figures, "selected, long", "selected, short")
        row_of = _grown(f"window of {WINDOW} behind {what}, compiled to bytes", sessions, figures, behind)
        rows.append(replace(row_of, reached=f"{row_of.reached}; {SELECTED} of it selected {growth:.2f} ×", met=row_of.met and growth <= 1.3))
    return rows


def _grown(work: str, sessions: _Sessions, figures: dict[str, list[float]], why: str) -> Row:
    reached = ratio(figures, "long", "short")
    spelled = f"{reached:.2f} × ({median(figures['short']):.2f} → {median(figures['long']):.2f} ms, p50)"
    return Row(f"{work}, {SHORT:,} → {sessions.entries:,} entries", "≤ 1.3 ×", spelled, reached <= 1.3, why)
