"""The process that owns the run's server: `python -m tests.database.server ROOT`."""

import asyncio
import fcntl
import os
import shutil
import sys
from pathlib import Path

from app.storage.embedded import EmbeddedPostgres
from app.storage.migrate import migrate
from tests.database.copies import statement, with_database
from tests.database.shared import APP_VARIABLE, MIGRATE_VARIABLE, Server, publish


def main(root: Path) -> None:
    """Starts (or takes the one that the environment names), migrates, and serves until the run's last worker is gone."""
    app_url, admin_url = os.environ.get(APP_VARIABLE), os.environ.get(MIGRATE_VARIABLE)
    embedded = None
    if not (app_url and admin_url):
        embedded = EmbeddedPostgres(root / "data")
        urls = embedded.start_blocking(print)
        app_url, admin_url = urls.app_url, urls.migrate_url
    server = Server(app_url, admin_url, template=f"ledger_test_{os.getpid()}")
    try:
        asyncio.run(make_template(server))
        publish(root, server)
        with open(root / "users", "a") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            (root / "server.json").unlink()
    finally:
        if embedded is not None:
            embedded.stop_blocking()
        else:
            asyncio.run(statement(server, f'DROP DATABASE IF EXISTS "{server.template}" WITH (FORCE)'))
        shutil.rmtree(root, ignore_errors=True)


async def make_template(server: Server) -> None:
    """A database with the product's own migrations, closed to connections so that it can always be copied."""
    await statement(server, f"CREATE DATABASE \"{server.template}\" ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    await migrate(with_database(server.admin_url, server.template))
    await statement(server, f'ALTER DATABASE "{server.template}" ALLOW_CONNECTIONS false')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
