"""A stand-in that runs, and small questions to it."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from app.storage.embedded.binaries import find_binaries
from tests.database.copies import connect


@dataclass(slots=True)
class Service:
    """A running stand-in; `note` is what it said."""

    process: subprocess.Popen[str]
    note: dict[str, Any]
    progress: Path

    @property
    def admin_url(self) -> str:
        return self.note["admin_url"]

    @property
    def postmaster(self) -> int:
        return self.note["postmaster"]

    @property
    def socket_folder(self) -> Path:
        return Path(unquote(self.admin_url.partition("host=")[2]))

    def kill(self) -> None:
        """As `kill -9` of the service alone."""
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> None:
        """As SIGTERM would: the drain, then the server's fast shutdown."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        assert self.process.wait(30) == 0


def ask(url: str, *statements: str) -> Any:
    """Sends statements, each committed by itself; the first value of the last one's answer."""

    async def asking() -> Any:
        connection = await connect(url)
        try:
            answer = None
            for statement in statements:
                answer = await connection.fetchval(statement)
            return answer
        finally:
            await connection.close()

    return asyncio.run(asking())


def wait_for(done: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Fails when `done` is not true within that time."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def wait_gone(pid: int, seconds: float = 20) -> None:
    """Fails when the process still runs after that time."""
    wait_for(lambda: not alive(pid), f"process {pid} still runs", seconds)


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def programs(folder: Path, **scripts: str) -> Path:
    """A folder of programs like the wheel's, where the named ones are shell scripts."""
    folder.mkdir()
    for real in find_binaries().iterdir():
        if real.name in scripts:
            (folder / real.name).write_text(f"#!/bin/sh\n{scripts[real.name]}\n")
            (folder / real.name).chmod(0o755)
        else:
            (folder / real.name).symlink_to(real)
    return folder
