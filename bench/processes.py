"""Child processes of a run: started, watched for what they cost, and ended with the run."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

END_SECONDS = 20.0
START_SECONDS = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """User and system time of one process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_mib(pid: int) -> float:
    """Resident memory of one process, shared pages included."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


async def end(process: asyncio.subprocess.Process) -> None:
    """Asks the process to end, waits, and kills it when it does not."""
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


@asynccontextmanager
async def child(arguments: list[str], environ: Mapping[str, str] | None = None, log: Path | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python <arguments>` with its stdout as a pipe, ended when the block is left."""
    stderr = None if log is None else log.open("wb")
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, stderr=stderr, env={**os.environ, **(environ or {})}
        )
        try:
            yield process
        finally:
            await end(process)
    finally:
        if stderr is not None:
            stderr.close()


@asynccontextmanager
async def limit_server(name: str, upstream: str = "") -> AsyncIterator[tuple[str, int]]:
    """One of `bench.limits`; yields its base URL and its process id."""
    async with child(["-m", "bench.limits", name, upstream]) as process:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
        yield f"http://127.0.0.1:{int(line)}", process.pid
