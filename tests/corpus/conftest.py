"""Session files of Claude Code, imported by the command line into one database: files of our own, and those of the shared corpus."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from app.config.secret import Secret
from app.config.settings import Settings
from tests.corpus.claude_code import Reading, read
from tests.database.copies import copy_of_template, with_database
from tests.database.shared import Server

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "transcripts" / "claude_code"


@dataclass(frozen=True, slots=True)
class Imported:
    """What `context-ledger import` made of some files. `latest`: session id → the last file of it, which holds all of it."""

    url: str
    files: list[Path]
    reports: list[Any]
    latest: dict[str, Path]

    def settings(self, **more: Any) -> Settings:
        return Settings(**{"database_url": Secret(self.url), "log_level": "warning", "pool_size": 5, "drain_seconds": 0.5, **more})


def command(url: str, *words: str) -> Any:
    """Runs the command line on that database as a person would; gives its JSON. Fails the test unless it says that all is well."""
    environ = {**os.environ, "CONTEXT_LEDGER_DATABASE_URL": url}
    done = subprocess.run([sys.executable, "-m", "app.cli", *words], cwd=ROOT, env=environ, capture_output=True, timeout=110, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return json.loads(done.stdout)


def files_of(request: pytest.FixtureRequest, which: str) -> list[Path]:
    """The session files, in the order of their names: a file that has grown comes after the shorter one."""
    folder = OWN if which == "own" else request.getfixturevalue("shared") / "corpus" / "transcripts" / "claude_code"
    return sorted(folder.glob("*.jsonl"))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["own", "corpus"])
async def imported(request: pytest.FixtureRequest, database_server: Server) -> AsyncIterator[Imported]:
    """All files of a folder, imported in one run."""
    files = files_of(request, request.param)
    async with copy_of_template(database_server) as name:
        url = with_database(database_server.app_url, name)
        reports = command(url, "import", "--json", "--format", "claude-code", *map(str, files))["files"]
        latest = {session["id"]: Path(report["file"]) for report in reports for session in report["sessions"]}
        yield Imported(url, files, reports, latest)


@pytest.fixture(scope="module")
def readings(imported: Imported) -> dict[Path, Reading]:
    """The second reading of each file."""
    return {path: read(path) for path in imported.files}
