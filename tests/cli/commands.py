"""Commands as processes of their own, with nothing of this machine's settings in them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
COMMAND_SECONDS = 60


def environment(**settings: str) -> dict[str, str]:
    """The environment without settings, and those given by their names in lower case."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXT_LEDGER_")}
    return {**clean, "PYTHONPATH": str(ROOT), **{f"CONTEXT_LEDGER_{name.upper()}": value for name, value in settings.items()}}


def command(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """One command that ends by itself, run in `folder`."""
    arguments = [sys.executable, "-m", "app.cli", *words]
    return subprocess.run(arguments, cwd=folder, env=environment(**settings), capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)


@dataclass(slots=True)
class Serving:
    """A running `serve`. `log` is its stderr."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def end(self, number: int = signal.SIGTERM) -> int:
        """Signals it and gives its exit code."""
        self.process.send_signal(number)
        return self.process.wait(COMMAND_SECONDS)

    def ask(self, path: str, body: Any = None, method: str | None = None) -> tuple[int, Any]:
        """Status and JSON of one request."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, {"Content-Type": "application/json"}, method=method or ("POST" if data else "GET"))
        try:
            with urlopen(request, timeout=30) as response:
                return response.status, json.load(response)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextmanager
def serving(folder: Path, *words: str, **settings: str) -> Iterator[Serving]:
    """`serve` on a free port in `folder`, ready, and ended with the block."""
    log = folder / "serve.log"
    arguments = [sys.executable, "-m", "app.cli", "serve", "--json", "--port", "0", *words]
    with log.open("w") as stderr:
        process = subprocess.Popen(arguments, cwd=folder, env=environment(**settings), stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        yield Serving(process, json.loads(line)["url"], log)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(COMMAND_SECONDS)
        assert process.stdout is not None
        process.stdout.close()
