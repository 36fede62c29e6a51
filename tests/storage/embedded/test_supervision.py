"""The supervisor's patience, against server programs that misbehave in a chosen way and then run the real one."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.storage.embedded import EmbeddedPostgres, StartFailed
from app.storage.embedded import postmaster as starting
from app.storage.embedded.binaries import find_binaries
from tests.storage.embedded.running import alive, ask, programs, wait_for

Make = Callable[[str], EmbeddedPostgres]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A server in `data` whose `postgres` runs a line of shell first, with `$here` naming the test's folder."""
    servers: list[EmbeddedPostgres] = []

    def making(line: str) -> EmbeddedPostgres:
        real = find_binaries() / "postgres"
        script = f'case $1 in --version) ;; --*) ;; *) here="{tmp_path}"; {line};; esac; exec "{real}" "$@"'
        servers.append(EmbeddedPostgres(tmp_path / "data", binaries=programs(tmp_path / "bin", postgres=script)))
        return servers[-1]

    yield making
    for server in servers:
        server.stop_blocking()


def test_a_long_recovery_is_waited_for_and_told(make, monkeypatch):
    monkeypatch.setattr(starting, "PROGRESS_SECONDS", 0.2)
    lines: list[str] = []
    urls = make("sleep 1").start_blocking(lines.append)
    assert sum("is recovering" in line for line in lines) >= 3
    assert ask(urls.app_url, "SELECT 1") == 1


def test_the_last_traces_of_a_killed_server_are_waited_for(make, tmp_path):
    stale = "FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use"
    server = make(f'echo x >>"$here/starts"; if [ $(wc -l <"$here/starts") -lt 3 ]; then echo "{stale}" >&2; exit 1; fi')
    urls = server.start_blocking()
    assert len((tmp_path / "starts").read_text().split()) == 3
    assert ask(urls.app_url, "SELECT 1") == 1


def test_a_server_that_cannot_come_back_is_tried_until_it_can(make, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    broken = tmp_path / "broken"
    server = make('if [ -e "$here/broken" ]; then echo "PANIC:  could not write: No space left on device" >&2; exit 1; fi')
    urls = server.start_blocking()
    broken.touch()
    pid = server.postmaster_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: caplog.text.count("did not come back") >= 3, "it gave up")
    assert "The data folder" in caplog.text or "the data folder" in caplog.text
    broken.unlink()
    wait_for(lambda: server.restarts == 1, "it did not come back")
    assert ask(urls.app_url, "SELECT 1") == 1


def test_a_stop_does_not_wait_for_a_server_that_does_not_get_ready(make):
    server = make("exec sleep 60")
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(server.start_blocking)
        wait_for(lambda: server.postmaster_pid is not None, "it did not start")
        pid = server.postmaster_pid
        server.stop_blocking()
        assert isinstance(started.exception(), StartFailed)
    assert pid is not None
    assert not alive(pid)
