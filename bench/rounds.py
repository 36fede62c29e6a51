"""Interleaved rounds: programs are run in turn, so that a slow minute of the machine slows each of them alike."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median

Program = Callable[[], Awaitable[float]]


async def interleave(rounds: int, programs: Mapping[str, Program]) -> dict[str, list[float]]:
    """Each program's figures, one a round. The order turns round every second round; a first round warms up and is not counted."""
    figures: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        names = list(programs) if number % 2 else list(programs)[::-1]
        for name in names:
            figure = await programs[name]()
            if number:
                figures[name].append(figure)
    return figures


def ratio(figures: Mapping[str, list[float]], over: str, under: str) -> float:
    """The median over rounds of `over` / `under` of the same round."""
    return median(a / b for a, b in zip(figures[over], figures[under], strict=True))


async def per_second(callers: int, each: int, work: Callable[[int, int], Awaitable[object]]) -> float:
    """How often a second `work(caller, n)` is done when `callers` run at once, each `each` times."""

    async def run(caller: int) -> None:
        for n in range(each):
            await work(caller, n)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for caller in range(callers):
            group.create_task(run(caller))
    return callers * each / (time.perf_counter() - started)


def median_ms(repeats: int, work: Callable[[], object]) -> float:
    """Median milliseconds of `work`, called `repeats` times."""
    taken: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return median(taken) * 1000


async def median_ms_awaited(repeats: int, work: Callable[[], Awaitable[object]]) -> float:
    """The same of work that is awaited."""
    taken: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - started)
    return median(taken) * 1000


def percentile(values: list[float], fraction: float) -> float:
    """The value below which `fraction` of the values lie; `values` is not empty."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]
