"""Finds the run's server, starting it if this worker is the first that asks."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

START_SECONDS = 90
MEMORY = Path("/dev/shm")  # makes a database, and syncs one, ten times as fast as a busy disk
MEMORY_BYTES_MIN = 2 * 2**30
APP_VARIABLE, MIGRATE_VARIABLE = "CONTEXT_LEDGER_TEST_DATABASE_URL", "CONTEXT_LEDGER_TEST_MIGRATE_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Server:
    """`app_url` and `admin_url` of its first database, and the name of the migrated template."""

    app_url: str
    admin_url: str
    template: str


def run_root() -> Path:
    """A folder that all workers of this run of pytest share, and no other run."""
    base = Path(tempfile.gettempdir())
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES_MIN:
        base = MEMORY
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return Path(tempfile.mkdtemp(prefix="context-ledger-tests-", dir=base))
    root = base / f"context-ledger-tests-{os.geteuid()}-{run}"
    root.mkdir(mode=0o700, exist_ok=True)
    return root


@contextmanager
def shared_server() -> Iterator[Server]:
    """The run's server for as long as the body runs; it ends when its last user does, even by SIGKILL.

    Users hold a shared lock on `users`; the server's process waits for that lock alone, and then stops.
    """
    root = run_root()
    with open(root / "users", "a") as users:
        with open(root / "mutex", "a") as mutex:
            fcntl.flock(mutex, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
            note = root / "server.json"
            if not note.exists():
                _start(root, note)
            server = Server(**json.loads(note.read_text()))
        yield server


def publish(root: Path, server: Server) -> None:
    """Makes a ready server known to the workers."""
    fresh = root / "server.new"
    fresh.write_text(json.dumps(asdict(server)))
    fresh.replace(root / "server.json")


def _start(root: Path, note: Path) -> None:
    with open(root / "server.out", "w+b") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.database.server", str(root)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        end = time.monotonic() + START_SECONDS
        while not note.exists():
            if process.poll() is not None or time.monotonic() > end:
                out.seek(0)  # not read by its name: a server that fails takes its folder away
                raise RuntimeError(f"the tests' Postgres did not start: {out.read().decode(errors='replace')[-2000:]}")
            time.sleep(0.02)
    process.returncode = 0  # it outlives us on purpose
