"""`serve` as a process: the embedded Postgres, a second one on the same folder, several workers, commands beside it, its end."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from app.cli.console import DONE, IN_USE, UNREACHABLE, WRONG
from tests.cli.commands import command, serving
from tests.database.copies import with_database

CHAT = json.dumps({"id": "c-1", "messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]})


def gone(pid: int) -> bool:
    end = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def workers_of(pid: int) -> set[int]:
    found = set()
    for child in psutil.Process(pid).children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "app.cli.worker" in child.cmdline():
                found.add(child.pid)
    return found


def postmaster(folder: Path) -> int:
    return int((folder / ".data" / "postgres" / "postmaster.pid").read_text().split()[0])


def test_a_folder_serves_imports_exports_and_ends(tmp_path):
    (tmp_path / "chat.json").write_text(CHAT)
    with serving(tmp_path) as service:
        assert service.ask("/readyz")[0] == 200
        second = command(tmp_path, "serve", "--port", "0")
        assert second.returncode == IN_USE
        assert str(tmp_path / ".data") in second.stderr
        assert "Traceback" not in second.stderr

        imported = command(tmp_path, "import", "--format", "openai-chat", "--json", "chat.json")
        assert imported.returncode == DONE, imported.stderr
        (session,) = json.loads(imported.stdout)["files"][0]["sessions"]
        status, raw = service.ask(f"/sessions/{session['id']}/raw")
        assert (status, [entry["kind"] for entry in raw["data"]]) == (200, ["user_message", "assistant_message"])

        pid = postmaster(tmp_path)
        assert service.end() == DONE
    assert gone(pid)
    assert not (tmp_path / ".data" / "running.json").exists()

    # With nobody serving, the same commands start the database themselves.
    exported = command(tmp_path, "export", session["id"], "--format", "openai-chat")
    assert json.loads(exported.stdout)["messages"] == json.loads(CHAT)["messages"]
    verified = command(tmp_path, "verify", "--json")
    assert (verified.returncode, json.loads(verified.stdout)["ok"]) == (DONE, True)


@pytest.mark.timeout(180)
def test_several_workers_share_the_port_and_one_that_dies_is_replaced(tmp_path):
    with serving(tmp_path, "--workers", "2", drain_seconds="1") as service:
        first = workers_of(service.process.pid)
        assert len(first) == 2
        killed = min(first)
        os.kill(killed, signal.SIGKILL)
        assert service.ask("/livez")[0] == 200
        end = time.monotonic() + 30
        while len(now := workers_of(service.process.pid) - {killed}) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        assert len(now - first) == 1
        pid = postmaster(tmp_path)
        assert service.end() == DONE
    assert all(gone(one) for one in [*now, pid])


@pytest.mark.timeout(180)
def test_workers_end_with_a_supervisor_that_is_killed(tmp_path):
    with serving(tmp_path, "--workers", "2", drain_seconds="0") as service:
        children = [child.pid for child in psutil.Process(service.process.pid).children(recursive=True)]
        service.end(signal.SIGKILL)
        assert all(gone(pid) for pid in children)


def test_a_database_that_is_not_there_is_said_in_a_sentence(tmp_path):
    for words in (["serve", "--port", "0"], ["verify"], ["keys", "list"]):
        ended = command(tmp_path, *words, database_url="postgresql://ledger_app:s3cret@127.0.0.1:1/none")
        assert ended.returncode == UNREACHABLE
        assert "Traceback" not in ended.stderr
        assert "s3cret" not in ended.stderr


def test_a_server_that_is_refused_and_a_schema_that_is_missing_are_said_in_a_sentence(tmp_path, migrate_url, database_server):
    ended = command(tmp_path, "serve", "--port", "0", database_url=migrate_url)
    assert (ended.returncode, "superuser" in ended.stderr, "Traceback" in ended.stderr) == (UNREACHABLE, True, False)
    ended = command(tmp_path, "serve", "--port", "0", database_url=with_database(database_server.app_url, "postgres"))
    assert (ended.returncode, "context-ledger migrate" in ended.stderr, "Traceback" in ended.stderr) == (UNREACHABLE, True, False)


def test_a_file_that_cannot_be_read_does_not_hold_up_the_others(tmp_path, database_url):
    (tmp_path / "chat.json").write_text(CHAT)
    (tmp_path / "broken.json").write_text("{")
    ended = command(tmp_path, "import", "--format", "openai-chat", "broken.json", "chat.json", database_url=database_url)
    assert ended.returncode == WRONG
    assert "broken.json: NOT IMPORTED" in ended.stdout
    assert "2 messages, 2 added" in ended.stdout


@pytest.mark.req("X-87", "X-88")
def test_keys_are_made_listed_without_their_secret_and_revoked(tmp_path, database_url):
    made = json.loads(
        command(tmp_path, "keys", "create", "ward", "--scope", "sessions:read", "--new-tenant", "--json", database_url=database_url).stdout
    )
    listed = command(tmp_path, "keys", "list", "--json", database_url=database_url)
    assert [(key["id"], key["scopes"]) for key in json.loads(listed.stdout)] == [(made["id"], ["sessions:read"])]
    assert made["key"] not in listed.stdout
    assert command(tmp_path, "keys", "revoke", made["id"], database_url=database_url).returncode == DONE
    assert json.loads(command(tmp_path, "keys", "list", "--json", database_url=database_url).stdout)[0]["revoked_at"]
    assert command(tmp_path, "keys", "revoke", made["tenant"], database_url=database_url).returncode == WRONG


def test_an_export_takes_its_name_when_it_is_whole(tmp_path, database_url):
    ended = command(tmp_path, "export", "ses_00000000000000000000000000", "--output", "out.jsonl", database_url=database_url)
    assert ended.returncode != DONE
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.glob("out*")) == []
