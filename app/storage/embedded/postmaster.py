"""One postmaster: started, waited for, stopped; and the one that an earlier service left behind."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from app.storage.embedded.cluster import environment, fault_of
from app.storage.embedded.errors import StartFailed
from app.storage.embedded.folder import Folder

Progress = Callable[[str], None]

POLL_SECONDS = 0.01
PROGRESS_SECONDS = 2.0
FAST_SECONDS = 10.0  # a fast shutdown rolls back, writes a checkpoint and ends
IMMEDIATE_SECONDS = 5.0  # an immediate one just ends; the next start recovers
CHILDREN_SECONDS = 15.0  # children of a killed postmaster notice at once, unless they sit in the disk
STALE_STARTS_MAX = 30
LOG_TAIL_BYTES = 4096
STALE = ('lock file "postmaster.pid"', "pre-existing shared memory block", "is another postmaster")


class Stopped(Exception):
    """The supervisor was told to stop while it waited."""


class Postmaster:
    """A running child; `stop` it exactly once. All waits sleep: for the supervisor's own thread."""

    def __init__(self, folder: Folder, words: list[str], stopping: Callable[[], bool]) -> None:
        self._folder = folder
        self._words = words
        self._stopping = stopping
        self._said_from = 0
        self._process = self._spawn()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self) -> bool:
        """Whether it is gone (and reaped)."""
        return self._process.poll() is not None

    def wait_ready(self, progress: Progress) -> None:
        """Returns when it takes connections. Recovery may take as long as it takes; `progress` hears of it.

        Raises StartFailed, DiskFull when it ends by itself, Stopped when told to.
        """
        began = spoke = time.monotonic()
        starts = 1
        while not self._ready():
            if self._stopping():
                raise Stopped
            if self.ended():
                # A postmaster.pid, or children, of one that was killed can take a second to clear.
                if starts > STALE_STARTS_MAX or not any(word in self._said() for word in STALE):
                    raise fault_of(self._folder, self._said())
                starts += 1
                time.sleep(min(0.1 * starts, 1.0))
                self._process = self._spawn()
            if time.monotonic() - spoke >= PROGRESS_SECONDS:
                spoke = time.monotonic()
                progress(f"the embedded PostgreSQL is recovering what was not yet in its files ({spoke - began:.0f} s)")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Fast shutdown; where that hangs, immediate; where that hangs too, kill. Committed data is kept by each."""
        for number, seconds in ((signal.SIGINT, FAST_SECONDS), (signal.SIGQUIT, IMMEDIATE_SECONDS), (signal.SIGKILL, IMMEDIATE_SECONDS)):
            if self.ended():
                return
            self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._folder.faults(), open(self._folder.log, "ab", opener=_private) as log:
            self._said_from = log.tell()
            # A session of its own: Ctrl-C, or a kill of the service's process group, must not take it along before the service has drained.
            return subprocess.Popen(
                self._words, env=environment(), cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, umask=0o077
            )

    def _ready(self) -> bool:
        lines = _pid_lines(self._folder.cluster)
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _said(self) -> str:
        try:
            with open(self._folder.log, "rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._said_from, size - LOG_TAIL_BYTES))
                return log.read().decode(errors="replace").strip()
        except OSError:
            return ""


def clear_leftovers(folder: Folder, progress: Progress) -> None:
    """Stops the postmaster of a service that is gone, and waits for the children of one that was killed. The caller holds the lock.

    Raises StartFailed when they do not end.
    """
    lines = _pid_lines(folder.cluster)
    if not lines or not lines[0].lstrip("-").isdigit():
        return
    pid = int(lines[0])
    if _is_postmaster(pid, folder.cluster):
        progress(f"stopping the PostgreSQL (pid {pid}) that an earlier service left behind")
        for number, seconds in ((signal.SIGINT, FAST_SECONDS), (signal.SIGQUIT, IMMEDIATE_SECONDS), (signal.SIGKILL, IMMEDIATE_SECONDS)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            if _wait(lambda: not _is_postmaster(pid, folder.cluster), seconds):
                break
    elif _alive(pid):
        # The number went to some other process since (in a container they are few): PostgreSQL would take that for a postmaster.
        with folder.faults():
            (folder.cluster / "postmaster.pid").unlink(missing_ok=True)
    if not _wait(lambda: not _children(folder.name), CHILDREN_SECONDS):
        raise StartFailed(folder.log, f"processes of an earlier server do not end: {', '.join(map(str, _children(folder.name)))}")


def _pid_lines(cluster: Path) -> list[str]:
    try:
        return (cluster / "postmaster.pid").read_text("utf-8", "replace").split("\n")
    except OSError:
        return []


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= end:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_postmaster(pid: int, cluster: Path) -> bool:
    """Whether `pid` is a live postmaster of this cluster, which it names or works in, should the folder have another name by now.

    A zombie has no command line. Without /proc any live process is taken for one.
    """
    if not Path("/proc/self/cmdline").exists():
        return _alive(pid)
    words = _command_line(pid).split(b"\0")
    if os.path.basename(words[0]) != b"postgres":
        return False
    try:
        return os.fsencode(cluster) in words or os.path.samefile(f"/proc/{pid}/cwd", cluster)
    except OSError:
        return False


def _children(name: str) -> list[int]:
    """Server processes of the cluster of this name: they carry it in their title."""
    title = f"postgres: {name}: ".encode()
    numbers = [int(entry) for entry in (os.listdir("/proc") if os.path.isdir("/proc") else ()) if entry.isdigit()]
    return [pid for pid in numbers if _command_line(pid).startswith(title)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
