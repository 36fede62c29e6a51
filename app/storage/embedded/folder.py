"""The data folder: who owns it, where things lie in it, and the short folder of the socket.

<data>/lock           held by flock while a service lives; its text is the holder's pid
<data>/postgres/      the cluster (PGDATA); `postgres.new-…/` while it is being made
<data>/postgres.log   what the server says, and `postgres.log.1`
<data>/run/           the socket, or, where that path would be too long, a folder of the same rights in the system's temporary folder
"""

import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.storage.embedded.errors import DiskFull, FolderInUse, FolderNotWritable
from app.storage.embedded.identity import Identity

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES_MAX = 103  # sun_path holds 108 on Linux and 104 elsewhere, with the final NUL
URL_SAFE = re.compile(r"[A-Za-z0-9/._+-]+")  # what drivers take as one host: no comma, colon or blank
UNFINISHED = "postgres.new"
FULL = (errno.ENOSPC, errno.EDQUOT)


class Folder:
    """One data folder, made if missing. `open` before use, `close` after; not safe for use by two threads."""

    def __init__(self, data_dir: Path) -> None:
        self.path = Path(os.path.realpath(data_dir))
        self.cluster = self.path / "postgres"
        self.log = self.path / "postgres.log"
        self.name = "ledger-" + hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        self._lock: int | None = None
        self._runtime: Path | None = None

    def open(self) -> None:
        """Makes the folder (mode 0700) and takes its lock. Raises FolderInUse, FolderNotWritable, DiskFull."""
        with self.faults():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(lock, 0)
                os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            except BlockingIOError:
                text = os.pread(lock, 20, 0).strip()
                os.close(lock)
                raise FolderInUse(self.path, int(text) if text.isdigit() else None) from None
            except BaseException:
                os.close(lock)
                raise
            self._lock = lock

    def close(self) -> None:
        """Removes the socket's folder and lets the lock go. The lock's file stays: removing it would let two holders in."""
        if self._runtime is not None:
            shutil.rmtree(self._runtime, ignore_errors=True)
            self._runtime = None
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def runtime(self, identity: Identity) -> Path:
        """An empty folder of mode 0700 for the socket, the server's own. Raises FolderNotWritable, DiskFull."""
        inside = self.path / "run"
        with self.faults():
            if self._runtime is None:
                self._runtime = inside if _short(inside) else _temporary(self.name, identity)
            self._runtime.mkdir(mode=0o700, exist_ok=True)  # again at each restart: temporary folders get swept
            os.chown(self._runtime, *identity.owner)
        for leftover in self._runtime.glob(SOCKET_NAME + "*"):
            leftover.unlink(missing_ok=True)  # of a server that was killed; the lock says that it is nobody's
        return self._runtime

    def unfinished(self, identity: Identity) -> Path:
        """An empty folder of mode 0700 to make the cluster in, the server's own. Raises FolderNotWritable, DiskFull.

        Of a new name each time: the initdb of a service that was killed lives a moment longer, and writes to, or sweeps, its own.
        """
        self.sweep()
        with self.faults():
            made = Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}-", dir=self.path))
            os.chown(made, *identity.owner)
        return made

    def sweep(self) -> None:
        """Removes what an initdb that was cut short left behind; what is still being written to waits for the next start."""
        for leftover in self.path.glob(UNFINISHED + "*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def socket_exists(self) -> bool:
        """Whether clients can find the server."""
        return self._runtime is not None and (self._runtime / SOCKET_NAME).exists()

    def hand_over(self, path: Path, identity: Identity) -> None:
        """Gives a tree to the server's user when it is another's (the folder comes last, so that an interruption is repeated)."""
        with self.faults():
            if os.lstat(path).st_uid == identity.owner[0]:
                return
            for parent, folders, files in os.walk(path, topdown=False):
                for name in (*files, *folders):
                    os.chown(os.path.join(parent, name), *identity.owner, follow_symlinks=False)
            os.chown(path, *identity.owner)

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Says OSErrors of the body as DiskFull or FolderNotWritable."""
        try:
            yield
        except OSError as error:
            if error.errno in FULL:
                raise DiskFull(self.path) from error
            where = f" ({error.filename})" if error.filename else ""
            raise FolderNotWritable(self.path, f"{error.strerror or type(error).__name__}{where}") from error


def _short(folder: Path) -> bool:
    text = os.fsencode(folder / SOCKET_NAME)
    return len(text) <= SOCKET_PATH_BYTES_MAX and URL_SAFE.fullmatch(str(folder)) is not None


def _temporary(name: str, identity: Identity) -> Path:
    """A folder of a name that the next start finds again, unless somebody else sits on that name."""
    root = next((root for root in (Path(tempfile.gettempdir()), Path("/tmp")) if _short(root / f"{name}-xxxxxxxx")), Path("/tmp"))
    fixed = root / f"{name}-{os.geteuid()}"
    try:
        fixed.mkdir(mode=0o700)
    except FileExistsError:
        found = os.lstat(fixed)
        ours = found.st_uid in (os.geteuid(), identity.owner[0]) and stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
        if not ours:
            return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
    return fixed
