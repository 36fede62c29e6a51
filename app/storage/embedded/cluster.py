"""The cluster on disk: made once, by rename, and the settings it is always run with."""

import os
import signal
import subprocess
from pathlib import Path

from app.storage.embedded.binaries import major_version
from app.storage.embedded.errors import DiskFull, OtherMajorVersion, StartFailed
from app.storage.embedded.folder import Folder
from app.storage.embedded.identity import Identity

ADMIN = "ledger_admin"  # the superuser: migrations only
INITDB_SECONDS = 300
SAID_CHARS_MAX = 500
DISK_FULL = ("No space left on device", "Disk quota exceeded", "Check free disk space")

# Given on the command line, so that neither a file nor ALTER SYSTEM can weaken them. For a service on about two cores.
SETTINGS = (
    ("listen_addresses", ""),  # the socket only
    ("unix_socket_permissions", "0700"),
    ("fsync", "on"),
    ("full_page_writes", "on"),
    ("synchronous_commit", "on"),
    ("max_connections", "120"),
    ("shared_buffers", "128MB"),
    ("work_mem", "8MB"),
    ("maintenance_work_mem", "64MB"),
    ("max_wal_size", "512MB"),  # bounds the recovery after a kill -9
    ("min_wal_size", "64MB"),
    ("max_wal_senders", "2"),  # enough for pg_basebackup
    ("max_worker_processes", "4"),
    ("max_parallel_workers_per_gather", "0"),
    ("autovacuum_max_workers", "2"),
    ("io_method", "sync"),  # spares three processes; every hot read is a few cached pages
    ("jit", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    # Entries hold prompts: no statement, parameter or row of a client may reach the log. Its errors go to the client, which is the service.
    ("logging_collector", "off"),
    ("log_min_messages", "log"),
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
    ("log_statement", "none"),
    ("log_checkpoints", "off"),
    ("log_autovacuum_min_duration", "-1"),
)


def prepare(folder: Folder, binaries: Path, identity: Identity) -> bool:
    """Makes the cluster if there is none, checks it and gives it to the server's user; whether it was made.

    Raises OtherMajorVersion, DiskFull, FolderNotWritable, StartFailed. An initdb that was cut short leaves nothing that counts.
    """
    made = not folder.cluster.exists()
    if made:
        _initialise(folder, binaries, identity)
    folder.sweep()
    with folder.faults():
        found = (folder.cluster / "PG_VERSION").read_text("ascii").strip()
    installed = major_version(binaries)
    if found != installed:
        raise OtherMajorVersion(folder.path, found, installed)
    folder.hand_over(folder.cluster, identity)
    _admit_only_us(folder, identity)
    return made


def command(folder: Folder, binaries: Path, identity: Identity, runtime: Path) -> list[str]:
    """The postmaster's command line."""
    places = (("unix_socket_directories", str(runtime)), ("cluster_name", folder.name), ("port", "5432"))
    options = [word for name, value in (*SETTINGS, *places) for word in ("-c", f"{name}={value}")]
    return identity.command(signal.SIGINT, [str(binaries / "postgres"), "-D", str(folder.cluster), *options])


def environment() -> dict[str, str]:
    """The environment of the server's programs: nothing of the service's, whose secrets it holds, nor any PG… variable."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C"}


def fault_of(folder: Folder, said: str) -> DiskFull | StartFailed:
    """Why a program of the server ended, by its last words."""
    if any(saying in said for saying in DISK_FULL):
        return DiskFull(folder.path)
    return StartFailed(folder.log, said.strip()[-SAID_CHARS_MAX:])


def _initialise(folder: Folder, binaries: Path, identity: Identity) -> None:
    unfinished = folder.unfinished(identity)
    options = ["-U", ADMIN, "-E", "UTF8", "--locale=C", "--data-checksums", "-A", "peer", "--no-instructions"]
    words = identity.command(signal.SIGTERM, [str(binaries / "initdb"), "-D", str(unfinished), *options])
    try:
        done = subprocess.run(
            words,
            env=environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INITDB_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise StartFailed(folder.log, f"initdb took more than {INITDB_SECONDS} seconds") from error
    if done.returncode != 0:
        raise fault_of(folder, done.stderr.decode(errors="replace"))
    with folder.faults():
        unfinished.rename(folder.cluster)
        _flush(folder.path)


def _admit_only_us(folder: Folder, identity: Identity) -> None:
    """Only the service's own user may log in, as anyone, over the socket: said by the kernel (peer), on top of the folder's rights."""
    texts = {"pg_hba.conf": "local all all peer map=service\n", "pg_ident.conf": f'service "{identity.peer}" all\n'}
    with folder.faults():
        for name, text in texts.items():
            path = folder.cluster / name
            if path.read_text("utf-8") != text:
                fresh = path.with_suffix(".new")
                fresh.write_text(text, "utf-8")
                os.chmod(fresh, 0o600)
                os.chown(fresh, *identity.owner)
                fresh.replace(path)


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
