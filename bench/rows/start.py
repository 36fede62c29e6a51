"""From the command to the first answered request, with and without making the database, and the memory of a worker."""

from pathlib import Path
from statistics import median

import aiohttp

from bench.processes import resident_mib
from bench.scale import Scale
from bench.service import put_agent, running_service
from bench.table import Row

WARM_SECONDS, COLD_SECONDS, RESIDENT_MIB = 4.0, 8.0, 120.0


async def measure(scale: Scale, folder: Path) -> list[Row]:
    """The rows of the start, each with a data folder of its own and the embedded Postgres."""
    cold: list[float] = []
    warm: list[float] = []
    resident: list[float] = []
    for number in range(min(3, scale.rounds)):
        data = {"DATA_DIR": str(folder / f"start-{number}")}
        async with running_service(folder, data) as service:
            cold.append(service.ready_seconds)
        async with running_service(folder, data) as service, aiohttp.ClientSession() as client:
            warm.append(service.ready_seconds)
            await put_agent(client, service, "bench-start", {"upstream": "scripted", "name": "scripted", "params": {}})
            resident.append(resident_mib(service.pid))
    return [
        Row(
            "ready after start",
            "≤ 4 s warm, ≤ 8 s with initdb",
            f"{median(warm):.1f} s warm, {median(cold):.1f} s with initdb",
            median(warm) <= WARM_SECONDS and median(cold) <= COLD_SECONDS,
            "imports of the web framework, and initdb itself",
        ),
        Row(
            "resident memory of a worker",
            "≤ 120 MiB",
            f"{median(resident):.0f} MiB",
            median(resident) <= RESIDENT_MIB,
            "the token ranks and the web framework; with one worker the process also supervises the embedded Postgres",
        ),
    ]
