"""`context-ledger import`: files of this or another program become sessions, and what could not be kept is said message by message.

Works on the configured database, also while a service runs on it; with `--url` on a service elsewhere.
"""

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from app.cli.configured import read_settings
from app.cli.console import DONE, USAGE, WRONG, Console, Failure, Progress
from app.cli.database import database_url, open_database
from app.cli.remote import Remote, add_remote_arguments, remote_of
from app.entries.errors import Invalid, LedgerError
from app.services.scope import LOCAL_TENANT
from app.services.transfers import IMPORT_FORMATS, Imports
from app.services.transfers.agents import DEFAULT_AGENT

PIECE_BYTES = 2**20
NOTES_SHOWN_MAX = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the files and how they are read."""
    parser.epilog = f"{parser.epilog}. Code 1 here: a file could not be imported; what was lost of a message is in the report and no failure."
    parser.add_argument(
        "files", nargs="+", metavar="FILE", type=Path, help="what to read; the same file again adds nothing, a longer one what is new"
    )
    parser.add_argument("--format", required=True, choices=IMPORT_FORMATS, help="what wrote the files")
    parser.add_argument("--agent", help=f"the agent whose sessions they become (default: {DEFAULT_AGENT}, made where it is missing)")
    parser.add_argument("--dry-run", action="store_true", help="report and write nothing")
    parser.add_argument("--tenant", type=UUID, default=LOCAL_TENANT, help="whose sessions (default: the tenant of `auth = local`)")
    add_remote_arguments(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Imports each file on its own: one that cannot be read does not hold up the others."""
    missing = [str(path) for path in arguments.files if not path.is_file()]
    if missing:
        raise Failure(f"there is no such file: {', '.join(missing)}", USAGE)
    remote = remote_of(arguments)
    total = sum(path.stat().st_size for path in arguments.files)
    with console.progress("bytes read", total) as progress:
        if remote is not None:
            reports = [_posted(remote, path, arguments, progress) for path in arguments.files]
        else:
            with database_url(read_settings(arguments), console) as url:
                reports = asyncio.run(_imported(url, arguments, progress))
    failed = [report for report in reports if "error" in report]
    console.result({"dry_run": arguments.dry_run, "files": reports})
    for report in reports:
        _show(report, arguments.dry_run, console)
    return WRONG if failed else DONE


async def _imported(url: str, arguments: argparse.Namespace, progress: Progress) -> list[dict[str, Any]]:
    from app.cli.services import importing
    from app.outbound.outbound import Outbound

    settings = read_settings(arguments)
    async with open_database(url) as store, aclosing(Outbound(connections_max=settings.upstream_connections)) as outbound:
        imports = importing(store, settings, outbound.tool_servers(settings.tool_servers))
        return [await _one(imports, path, arguments, progress) for path in arguments.files]


async def _one(imports: Imports, path: Path, arguments: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    try:
        pieces = _pieces(path, progress)
        return {"file": str(path), **await imports.import_bytes(arguments.tenant, arguments.format, arguments.agent, pieces, arguments.dry_run)}
    except LedgerError as error:
        detail = f"{error.detail} {error.faults[0].detail}" if isinstance(error, Invalid) and error.faults else error.detail
        return {"file": str(path), "sessions": [], "error": {"code": error.code, "detail": detail}}


def _pieces(path: Path, progress: Progress) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            progress.advance(len(piece))
            yield piece


def _posted(remote: Remote, path: Path, arguments: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    query = {"format": arguments.format}
    if arguments.agent:
        query["agent"] = arguments.agent
    if arguments.dry_run:
        query["dry_run"] = "true"
    status, answer = remote.post(f"/sessions/import?{urlencode(query)}", path, lambda done: progress.advance(done))
    if status < 300:
        return {"file": str(path), **answer}
    return {"file": str(path), "sessions": [], "error": {"code": answer.get("code", str(status)), "detail": answer.get("detail", "")}}


def _show(report: dict[str, Any], dry_run: bool, console: Console) -> None:
    if "error" in report:
        console.show(f"{report['file']}: NOT IMPORTED: {report['error']['detail']} ({report['error']['code']})")
    for session in report["sessions"]:
        new = session["messages"] - session.get("already_stored", 0)
        stored = f"{new} to add" if dry_run else f"{new} added"
        console.show(
            f"{report['file']}: {session['id'] or '(new session)'} {session['title'] or ''}: {session['messages']} messages, {stored}; "
            f"{session['kept']} records kept, {len(session['changed'])} changed, {len(session['lost'])} lost"
        )
        for name in ("changed", "lost"):
            for note in session[name][:NOTES_SHOWN_MAX]:
                console.show(f"  {name} {note['source']}: {note['what']} ({note['why']})")
            if len(session[name]) > NOTES_SHOWN_MAX:
                console.show(f"  … and {len(session[name]) - NOTES_SHOWN_MAX} more {name}; --json lists all")
