"""`context-ledger migrate`: brings the schema up to date, as a role that may create roles."""

import argparse

from app.cli.configured import read_settings
from app.cli.console import DONE, USAGE, Console, Failure
from app.cli.database import migrated, owned_postgres


def configure(parser: argparse.ArgumentParser) -> None:
    """Says what it works on; it takes no arguments of its own."""
    parser.description = (
        f"{parser.description} Works on CONTEXT_LEDGER_MIGRATE_DATABASE_URL, else on the embedded Postgres, which must not be running; "
        "`serve` does the same at each start for the embedded one, and where that variable is set. Where CONTEXT_LEDGER_DATABASE_URL logs in "
        "as ledger_app with a password, that role is given it."
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Applies what is missing; nothing where the schema is up to date. Any number may run at once: one works, the others wait."""
    settings = read_settings(arguments)
    if settings.migrate_database_url is not None:
        app_url = None if settings.database_url is None else settings.database_url.reveal()
        revision = migrated(settings.migrate_database_url.reveal(), console, app_url)
    elif settings.database_url is not None:
        raise Failure("CONTEXT_LEDGER_MIGRATE_DATABASE_URL has to name the same database, as a role that may create roles.", USAGE)
    else:
        with owned_postgres(settings, console) as urls:
            revision = migrated(urls.migrate_url, console)
    console.result({"revision": revision})
    console.show(f"the schema is at revision {revision}")
    return DONE
