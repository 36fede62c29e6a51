"""An ordinary life: made, started, stopped, started again, restarted when it dies."""

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from app.storage.embedded import EmbeddedPostgres, Urls
from app.storage.embedded import supervisor as supervising
from tests.storage.embedded.running import alive, ask, wait_for

Running = tuple[EmbeddedPostgres, Urls]


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A started server in `data`, whose supervisor tidies up much more often than usual."""
    monkeypatch.setattr(supervising, "TIDY_SECONDS", 0.1)
    monkeypatch.setattr(supervising, "LOG_BYTES_MAX", 5_000)
    server = EmbeddedPostgres(tmp_path / "data")
    yield server, server.start_blocking()
    server.stop_blocking()


async def test_from_nothing_and_again(tmp_path):
    lines: list[str] = []
    server = EmbeddedPostgres(tmp_path / "data")
    began = time.monotonic()
    urls = await server.start(lines.append)
    assert time.monotonic() - began < 15  # 0.6 s on an idle machine
    await asyncio.sleep(0)  # progress comes by the loop
    assert any("making" in line for line in lines)
    await asyncio.to_thread(ask, urls.migrate_url, "CREATE TABLE kept AS SELECT 1 AS one")
    await server.stop()
    await server.stop()

    again = EmbeddedPostgres(tmp_path / "data")
    lines.clear()
    assert await again.start(lines.append) == urls
    assert lines == []
    assert await asyncio.to_thread(ask, urls.migrate_url, "SELECT one FROM kept") == 1
    await again.stop()


async def test_a_cancelled_start_leaves_nothing(tmp_path):
    server = EmbeddedPostgres(tmp_path / "data")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await server.start()
    await server.stop()
    assert server.postmaster_pid is None
    second = EmbeddedPostgres(tmp_path / "data")
    await second.start()
    pid = second.postmaster_pid
    await second.stop()
    assert pid is not None
    assert not alive(pid)


def test_two_logins(running):
    rights = "SELECT concat_ws(' ', rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb) FROM pg_roles WHERE rolname = current_user"
    assert ask(running[1].app_url, rights) == "ledger_app f f f f"
    assert ask(running[1].migrate_url, rights) == "ledger_admin t t t t"
    assert ask(running[1].app_url, "SELECT current_database()") == ask(running[1].migrate_url, "SELECT current_database()") == "ledger"


def test_durable_and_by_socket_alone_whatever_is_set_inside(running):
    wanted = {
        "data_checksums": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
        "server_encoding": "UTF8",
        "synchronous_commit": "on",
    }
    weaker = ("fsync = off", "full_page_writes = off", "listen_addresses = '*'", "synchronous_commit = off")
    found = f"SELECT json_object_agg(name, setting) FROM pg_settings WHERE name IN ({str([*wanted])[1:-1]})"
    assert json.loads(ask(running[1].migrate_url, *(f"ALTER SYSTEM SET {each}" for each in weaker), "SELECT pg_reload_conf()", found)) == wanted
    assert ask(running[1].migrate_url, "SELECT datcollate FROM pg_database WHERE datname = 'ledger'") == "C"


@pytest.mark.parametrize("statement", ["SELECT 'the prompt'::int", "INSERT INTO t VALUES (NULL, 'the prompt')", "SELECT 'the prompt'::json"])
def test_what_clients_send_stays_out_of_the_log(statement, running, tmp_path):
    ask(running[1].migrate_url, "CREATE TABLE t (j json NOT NULL, x text)")
    with pytest.raises(asyncpg.PostgresError):
        ask(running[1].migrate_url, statement)
    running[0].stop_blocking()
    log = tmp_path / "data" / "postgres.log"
    assert "ready to accept connections" in log.read_text()
    assert "prompt" not in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_a_dead_postmaster_is_replaced_at_the_same_address(running, caplog):
    caplog.set_level(logging.WARNING)
    server, urls = running
    for number in (1, 2):
        before = server.postmaster_pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        _wait_for_restarts(server, number)
        assert server.postmaster_pid != before
        assert ask(urls.app_url, "SELECT 1") == 1
    assert "is back" in caplog.text


def test_a_deleted_socket_comes_back(running):
    server, urls = running
    for file in urls.socket_folder.iterdir():
        file.unlink()
    urls.socket_folder.rmdir()
    _wait_for_restarts(server, 1)
    assert ask(urls.app_url, "SELECT 1") == 1


def test_the_log_is_bounded(running, tmp_path):
    log = tmp_path / "data" / "postgres.log"
    with log.open("a") as file:
        file.write("x" * 10_000)
    wait_for(lambda: log.stat().st_size < 5_000, "the log was not cut")
    assert log.with_suffix(".log.1").stat().st_size >= 10_000
    running[0].stop_blocking()
    assert "shut down" in log.read_text()
    assert "\0" not in log.read_text()


def _wait_for_restarts(server: EmbeddedPostgres, number: int) -> None:
    wait_for(lambda: server.restarts == number, "it did not come back")
