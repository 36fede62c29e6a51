"""`kill -9` of whatever there is: what was committed is there afterwards, and the next start needs no help."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.storage.embedded.running import Service, ask, wait_gone

pytestmark = [pytest.mark.req("X-01")]


def kill_service(service: Service) -> None:
    service.kill()


def kill_both(service: Service) -> None:
    os.kill(service.postmaster, signal.SIGKILL)
    service.kill()


def kill_group(service: Service) -> None:
    os.killpg(service.process.pid, signal.SIGKILL)
    service.process.wait(10)


def kill_everything(service: Service) -> None:
    children = Path(f"/proc/{service.postmaster}/task/{service.postmaster}/children").read_text().split()
    service.process.send_signal(signal.SIGSTOP)
    for pid in (service.postmaster, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    service.kill()


@pytest.mark.parametrize("kill", [kill_service, kill_both, kill_group, kill_everything])
def test_committed_rows_survive(kill, start, tmp_path):
    first = start(tmp_path / "data")
    ask(first.admin_url, "CREATE TABLE kept (n int PRIMARY KEY)", *(f"INSERT INTO kept VALUES ({number})" for number in range(50)))
    kill(first)

    second = start(tmp_path / "data")  # at once, while the old server may still be ending
    assert second.note.get("error") is None
    assert ask(second.admin_url, "SELECT count(*) FROM kept") == 50
    assert second.admin_url == first.admin_url
    second.stop()


def test_the_server_does_not_outlive_a_killed_service(start, tmp_path):
    service = start(tmp_path / "data")
    service.kill()
    wait_gone(service.postmaster, 10)
    assert "received fast shutdown request" in (tmp_path / "data" / "postgres.log").read_text()
    assert not (tmp_path / "data" / "postgres" / "postmaster.pid").exists()


def test_a_server_left_behind_is_stopped(start, tmp_path):
    service = start(tmp_path / "data")
    os.kill(service.postmaster, signal.SIGSTOP)  # deaf for a second to the kernel's word that its service is gone
    service.kill()
    wake = threading.Timer(1, os.kill, (service.postmaster, signal.SIGCONT))
    wake.start()
    second = start(tmp_path / "data")
    wake.join()
    assert second.postmaster != service.postmaster
    assert f"stopping the PostgreSQL (pid {service.postmaster})" in second.progress.read_text()
    second.stop()


def test_a_pid_that_went_to_another_process_is_no_postmaster(start, tmp_path):
    first = start(tmp_path / "data")
    ask(first.admin_url, "CREATE TABLE kept AS SELECT 7 AS n")
    kill_both(first)
    wait_gone(first.postmaster)
    note = tmp_path / "data" / "postgres" / "postmaster.pid"
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            note.write_text("\n".join([str(stranger.pid), *note.read_text().split("\n")[1:]]))
            second = start(tmp_path / "data")
            assert ask(second.admin_url, "SELECT n FROM kept") == 7
            second.stop()
            assert stranger.poll() is None
        finally:
            stranger.kill()


@pytest.mark.parametrize("delay", [0.05, 0.25])
def test_an_initdb_that_was_cut_short_does_not_count(delay, start, tmp_path):
    words = [sys.executable, "-m", "tests.storage.embedded.service", str(tmp_path / "data")]
    root = Path(__file__).parents[3]
    with subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as cut:
        end = time.monotonic() + 20
        while not unfinished(tmp_path / "data") and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(delay)
        cut.kill()
    service = start(tmp_path / "data")
    assert service.note.get("error") is None
    service.stop()
    assert not unfinished(tmp_path / "data")


def test_an_initdb_that_outlives_its_service_disturbs_nobody(start, tmp_path):
    """What it writes to goes away under it, comes again, and is swept once it has ended."""
    left = tmp_path / "data" / "postgres.new-left"
    left.mkdir(parents=True)
    (tmp_path / "data").chmod(0o700)
    # It goes on where the folder goes away between the two.
    writes = f"while :; do mkdir -p {left}/base; : $((n = (n + 1) % 500)); true > {left}/base/$n; done 2>/dev/null"
    with subprocess.Popen(["sh", "-c", writes]) as straggler:
        try:
            first = start(tmp_path / "data")
            assert first.note.get("error") is None
            ask(first.admin_url, "CREATE TABLE kept AS SELECT 7 AS n")
            first.stop()
            assert straggler.poll() is None
        finally:
            straggler.kill()
    second = start(tmp_path / "data")
    assert ask(second.admin_url, "SELECT n FROM kept") == 7
    second.stop()
    assert not unfinished(tmp_path / "data")


def unfinished(data: Path) -> list[Path]:
    """The folders in which a cluster is being made, or was."""
    return list(data.glob("postgres.new*"))
