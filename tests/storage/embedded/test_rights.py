"""Whoever runs the service, wherever the folder lies: it works, opens nothing to others, and changes no parent folder."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from app.storage.embedded.identity import LAUNCH
from tests.storage.embedded.running import ask

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
NOBODY = pwd.getpwnam("nobody")
CONNECT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"


def as_user(uid: int, gid: int) -> list[str]:
    """Words that run the rest as that user, who may still read this installation wherever it lies."""
    return [sys.executable, "-I", "-S", str(LAUNCH), "account", str(uid), str(gid), str(os.getpid()), "9"]


def modes(folder: Path) -> list[tuple[Path, int, int]]:
    """Rights and owner of the folder and all its parents."""
    return [(one, one.stat().st_mode, one.stat().st_uid) for one in (folder, *folder.parents)]


@AS_ROOT
@pytest.mark.parametrize("way", ["chosen", "namespace", "account"])
def test_as_root_under_a_closed_parent(way, start, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = modes(closed)
    service = start(closed / "data", way)
    ask(service.admin_url, "CREATE TABLE kept AS SELECT 1 AS n")
    owner = Path(f"/proc/{service.postmaster}").stat().st_uid
    assert (owner != 0) == (way == "account")
    service.stop()
    assert modes(closed) == before
    assert (closed / "data").stat().st_mode & 0o077 == 0

    other = {"namespace": "account", "account": "namespace"}.get(way, "account")  # the machine's sandbox changed: the files change hands
    again = start(closed / "data", other)
    assert ask(again.admin_url, "SELECT n FROM kept") == 1
    again.kill()


@AS_ROOT
@pytest.mark.parametrize("uid", [NOBODY.pw_uid, 54_321], ids=["a user", "a uid without an account"])
def test_as_an_ordinary_user(uid, start, plain_folder):
    os.chown(plain_folder, uid, uid)
    service = start(plain_folder / "data", before=as_user(uid, uid))
    assert "error" not in service.note, service.note
    assert Path(f"/proc/{service.postmaster}").stat().st_uid == uid
    assert (plain_folder / "data" / "postgres").stat().st_uid == uid
    service.kill()
    again = start(plain_folder / "data", before=as_user(uid, uid))
    assert "error" not in again.note
    again.stop()


@AS_ROOT
def test_an_ordinary_user_is_told_whose_folder_it_is(start, plain_folder):
    service = start(plain_folder / "data", before=as_user(NOBODY.pw_uid, NOBODY.pw_gid))
    assert service.note["type"] == "FolderNotWritable"
    assert str(plain_folder / "data") in service.note["error"]


@AS_ROOT
@pytest.mark.parametrize("way", ["namespace", "account"])
def test_other_users_cannot_connect(way, start, plain_folder):
    service = start(plain_folder / "data", way)
    words = [sys.executable, "-I", "-S", "-c", CONNECT, str(service.socket_folder / ".s.PGSQL.5432")]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    refused = subprocess.run([*as_user(1, 1), *words], capture_output=True, check=False)
    assert b"PermissionError" in refused.stderr
    service.stop()


@pytest.mark.parametrize("name", ["long-" + "x" * 120, "a, b:c @ü%41'\"$(id)"], ids=["long", "strange"])
def test_a_path_that_cannot_hold_the_socket(name, start, tmp_path):
    service = start(tmp_path / name / "data")
    assert "error" not in service.note, service.note
    assert ask(service.note["url"], "SELECT current_user") == "ledger_app"
    runtime = service.socket_folder
    assert not runtime.is_relative_to(tmp_path)
    assert runtime.stat().st_mode & 0o777 == 0o700
    service.kill()
    again = start(tmp_path / name / "data")
    assert again.admin_url == service.admin_url
    again.stop()
    assert not runtime.exists()


def test_variables_of_other_clients_do_not_matter(start, tmp_path):
    strange = {"PGPORT": "1", "PGHOST": "/nowhere", "PGDATA": "/nowhere", "PGUSER": "nobody", "PGOPTIONS": "-c fsync=off", "LC_ALL": "xx_XX"}
    service = start(tmp_path / "data", environment=strange)
    assert "error" not in service.note, service.note
    service.stop()
