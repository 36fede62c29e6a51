"""`context-ledger verify`: walks the digest chain and the rules of one session or of all, and prints what is wrong."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from app.cli.configured import read_settings
from app.cli.console import DONE, USAGE, WRONG, Console, Failure, Progress
from app.cli.database import database_url, open_database
from app.config.limits import LIST_LIMIT_MAX
from app.entries.errors import NotFound
from app.entries.ids import SESSION, format_id
from app.services.scope import LOCAL_TENANT
from app.services.verify import Verifier
from app.storage.rows import SessionCursor, SessionFilter
from app.storage.store import Store


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds which sessions."""
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help="session ids (default: every session of the tenant)")
    parser.add_argument("--tenant", type=UUID, default=LOCAL_TENANT, help="whose sessions (default: the tenant of `auth = local`)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Exit code 1 where a session has a problem."""
    with database_url(read_settings(arguments), console) as url:
        found = asyncio.run(_verify(url, arguments, console))
    wrong = [one for one in found["sessions"] if not one["ok"]]
    console.result(found)
    for one in wrong:
        for problem in one["problems"]:
            console.show(f"{one['session_id']} seq {problem['seq']}: {problem['detail']} ({problem['code']})")
    console.show(f"{len(found['sessions'])} sessions, {found['entries']} entries: " + (f"{len(wrong)} with problems" if wrong else "all in order"))
    return WRONG if wrong else DONE


async def _verify(url: str, arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Every session's verification."""
    found: list[dict[str, Any]] = []
    entries = 0
    async with open_database(url) as store:
        verifier = Verifier(store.ledger)
        with console.progress("entries verified") as progress:
            async for session in _sessions(store, arguments):
                try:
                    one = await verifier.verify(arguments.tenant, session, _Steps(progress).reached)
                except NotFound:
                    raise Failure(f"{session}: there is no such session", USAGE) from None
                entries += one["entries"]
                found.append(one)
    return {"ok": all(one["ok"] for one in found), "entries": entries, "sessions": found}


class _Steps:
    """Turns "seq reached" into "so many more"."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._seq = 0

    def reached(self, seq: int) -> None:
        self._progress.advance(seq - self._seq)
        self._seq = seq


async def _sessions(store: Store, arguments: argparse.Namespace) -> AsyncIterator[str]:
    """The named ones, else all. A session that becomes active meanwhile moves to the front, so it may be walked before or not at all."""
    for session in arguments.sessions:
        yield session
    after: SessionCursor | None = None
    while not arguments.sessions:
        page = await store.sessions.list(arguments.tenant, SessionFilter(), after, LIST_LIMIT_MAX)
        for row in page:
            yield format_id(SESSION, row.session_id)
        if len(page) < LIST_LIMIT_MAX:
            return
        after = SessionCursor(page[-1].active_at, page[-1].session_id)
