"""`python -m bench`: runs the rows, prints one table, ends by itself. Exit code 0 also where a target is missed; 1 where a row failed."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import uvloop

from bench.database import open_bench_database
from bench.rows import compile as compile_rows
from bench.rows import http, longest, parse, start, storage, streams
from bench.scale import FULL, QUICK, Scale
from bench.table import Row, render, render_json, skipped

GROUPS = ("appends", "reads", "longest", "compile", "parse", "http", "streams", "start")
GROUP_SECONDS_MAX = 600.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures the service, each figure beside its limit in the same run.")
    parser.add_argument("--quick", action="store_true", help="a smoke test of every row, in seconds; its figures mean nothing")
    parser.add_argument("--entries", type=int, help="length of the long sessions (default 100,000, and 1,000,000 of the longest)")
    parser.add_argument("--only", choices=GROUPS, nargs="+", default=list(GROUPS), help="only these groups of rows")
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> tuple[list[Row], int]:
    scale = QUICK if arguments.quick else FULL
    if arguments.entries:
        scale = replace(scale, long_entries=arguments.entries, longest_entries=arguments.entries)
    with tempfile.TemporaryDirectory(prefix="context-ledger-bench-") as name:
        folder = Path(name)
        async with open_bench_database(folder / "data") as database:
            groups: dict[str, Callable[[], Awaitable[list[Row]]]] = {
                "appends": lambda: storage.measure_appends(database, scale),
                "reads": lambda: storage.measure_reads(database, scale),
                "longest": lambda: longest.measure(database, scale, folder),
                "compile": lambda: asyncio.to_thread(compile_rows.measure, scale),
                "parse": lambda: asyncio.to_thread(parse.measure, scale),
                "http": lambda: http.measure(database, scale, folder),
                "streams": lambda: streams.measure(database, scale, folder),
                "start": lambda: start.measure(scale, folder),
            }
            return await _measured({group: groups[group] for group in GROUPS if group in arguments.only}, scale)


async def _measured(groups: dict[str, Callable[[], Awaitable[list[Row]]]], scale: Scale) -> tuple[list[Row], int]:
    rows: list[Row] = []
    failed = 0
    for group, measure in groups.items():
        started = time.perf_counter()
        try:
            async with asyncio.timeout(GROUP_SECONDS_MAX):
                rows += await measure()
        except Exception as error:  # one group that cannot run must not hide the others; the exit code says that it failed
            failed += 1
            said = " ".join(f"{type(error).__name__}: {error}".split())
            rows.append(skipped(group, "", said if len(said) < 300 else f"{said[:120]} … {said[-170:]}"))
        print(f"{group}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return rows, failed


def main() -> int:
    arguments = _arguments()
    started = time.perf_counter()
    rows, failed = uvloop.run(_run(arguments))
    print(render_json(rows) if arguments.json else render(rows))
    print(f"{time.perf_counter() - started:.0f} s in all", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
