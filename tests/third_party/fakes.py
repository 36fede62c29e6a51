"""Fake providers that others made, as programs of their own: where they are installed, how they start, and when they answer.

`make test-third-party` installs both; nothing else of the project needs them.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parent.parent.parent
AIMOCK = ROOT / ".third-party" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
LLMOCK = ROOT / ".venv-third-party" / "bin" / "llmock"
START_SECONDS = 30


def aimock_command() -> list[str]:
    """How `@copilotkit/aimock` is started, without its port. Skips the test where Node or the package is absent."""
    node = shutil.which("node")
    if node is None or not AIMOCK.is_file():
        pytest.skip("@copilotkit/aimock is not installed: `make test-third-party` installs it and needs Node 20.15 or later with npm")
    return [node, str(AIMOCK)]


def llmock_command() -> list[str]:
    """How `llmock` is started, without its port. Skips the test where the package is absent."""
    if not LLMOCK.is_file():
        pytest.skip("llmock is not installed: `make test-third-party` installs it")
    return [str(LLMOCK), "serve"]


@contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[str]:
    """Runs the program on a free port of this machine; gives its address once `/health` answers, and ends it afterwards.

    What it prints goes to a file in `folder`, and is shown where it ends before it answers.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    printed = folder / "printed.txt"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LLMOCK_", "AIMOCK_"))}
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=folder, env=environ
        )
    try:
        _wait(url, process, printed)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _wait(url: str, process: subprocess.Popen[bytes], printed: Path) -> None:
    until = time.monotonic() + START_SECONDS
    with httpx.Client(timeout=5, trust_env=False) as client:
        while time.monotonic() < until:
            assert process.poll() is None, printed.read_text("utf-8", "replace")[-2000:]
            try:
                if client.get(f"{url}/health").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
    raise AssertionError(f"no answer within {START_SECONDS} seconds: {printed.read_text('utf-8', 'replace')[-2000:]}")
