"""The frozen SQL of each version, a folder a version, and the one function that runs it."""

from pathlib import Path
from typing import Any

from alembic import op


def run(version: str) -> None:
    """Runs the files of a version in the order of their names, inside the transaction that alembic is in."""
    connection: Any = op.get_bind().connection.dbapi_connection
    for file in sorted((Path(__file__).parent / version).glob("*.sql")):
        script = file.read_text(encoding="utf-8")
        connection.run_async(lambda driver, script=script: driver.execute(script))
