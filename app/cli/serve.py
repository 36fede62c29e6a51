"""`context-ledger serve`: the service, with an embedded Postgres unless a database is named.

The port is bound first and the database opened next, so that what a person can mend is said before anything else starts. With
several workers this process supervises them and owns the embedded Postgres; they find it by a variable.
"""

import argparse
import errno
import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from app.cli.configured import environment, read_settings
from app.cli.console import DONE, IN_USE, UNREACHABLE, WRONG, Console, Failure
from app.cli.database import checked, migrated, owned_postgres
from app.cli.supervise import Supervisor
from app.config.settings import CONFIG_VARIABLE, PREFIX, Settings

BACKLOG = 2048


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds what may also come from variables; the command line wins."""
    parser.add_argument("--host", help="address to listen on (CONTEXT_LEDGER_HOST, default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on, 0 for a free one (CONTEXT_LEDGER_PORT, default 8080)")
    parser.add_argument("--workers", type=int, help="processes that serve the port (CONTEXT_LEDGER_WORKERS, default 1)")
    parser.add_argument("--data-dir", metavar="FOLDER", help="folder of the embedded Postgres (CONTEXT_LEDGER_DATA_DIR, default .data)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Serves until SIGTERM or SIGINT, then lets running turns end. With `--json` one document says where it listens."""
    environ = environment(arguments)
    if arguments.config is not None:
        environ[CONFIG_VARIABLE] = str(Path(arguments.config).resolve())
    settings = read_settings(arguments, environ)
    with ExitStack() as stack:
        listening = stack.enter_context(bound(settings))
        if settings.database_url is None:
            urls = stack.enter_context(owned_postgres(settings, console))
            environ[PREFIX + "DATABASE_URL"] = urls.app_url
        else:
            if settings.migrate_database_url is not None:
                migrated(settings.migrate_database_url.reveal(), console, settings.database_url.reveal())
            checked(settings.database_url.reveal())
        os.environ.update(environ)
        return _serve(read_settings(arguments, environ), listening, console)


def bound(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say. Raises `Failure` where the port is taken or the address is not ours."""
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        if found is not None:
            found.close()
        where = f"{settings.host}:{settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise Failure(f"{where} is in use; end what listens there, or choose another port (CONTEXT_LEDGER_PORT or --port).", IN_USE) from None
        raise Failure(f"cannot listen on {where}: {error.strerror or error}", UNREACHABLE) from None
    found.set_inheritable(True)
    return found


def _serve(settings: Settings, listening: socket.socket, console: Console) -> int:
    from app.cli.worker import DRAIN_MARGIN_SECONDS, serve_here

    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if settings.workers > 1:
        supervisor = Supervisor(listening, settings.workers, settings.drain_seconds + 2 * DRAIN_MARGIN_SECONDS)
        return DONE if supervisor.run(lambda: _ready(console, url)) else WRONG
    return DONE if serve_here(listening, settings, lambda: _ready(console, url)) else WRONG


def _ready(console: Console, url: str) -> None:
    console.show(f"Context Ledger is ready on {url}")
    console.result({"url": url, "pid": os.getpid()})
    sys.stdout.flush()
