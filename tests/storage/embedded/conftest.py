"""Services to start and kill, and folders of several kinds."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.storage.embedded.running import Service, wait_gone

ROOT = Path(__file__).parents[3]
Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts stand-ins, each in a session of its own; what is left of them is killed at the end."""
    services: list[Service] = []

    def run(folder: Path, way: str = "chosen", *, before: Sequence[str] = (), environment: dict[str, str] | None = None, **options: Any) -> Service:
        progress = tmp_path / f"progress-{len(services)}"
        with progress.open("w") as errors:
            process = subprocess.Popen(
                [*before, sys.executable, "-m", "tests.storage.embedded.service", str(folder), way],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
                **options,
            )
        assert process.stdout is not None
        services.append(Service(process, {}, progress))
        line = process.stdout.readline()
        assert line, progress.read_text()
        services[-1].note = json.loads(line)
        return services[-1]

    yield run
    for service in services:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(service.process.pid, signal.SIGKILL)
        service.process.wait(10)
        for pipe in (service.process.stdin, service.process.stdout):
            if pipe is not None:
                pipe.close()
        if "postmaster" in service.note:
            wait_gone(service.postmaster)


@pytest.fixture
def plain_folder() -> Iterator[Path]:
    """An empty folder right under the system's temporary folder, which every user may pass through (pytest's own are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="ledger-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
