"""Long readings: the lines of a session page by page, each read while the one before is used."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from uuid import UUID

from app.config.limits import LINES_PAGE_ENTRIES
from app.storage.rows import EntryFilter, Lines

ReadLines = Callable[[UUID, UUID, EntryFilter, int], Awaitable[list[Lines]]]
"""`Ledger.lines` or `Ledger.archive_lines`."""


async def line_pages(read: ReadLines, tenant: UUID, session: UUID, chosen: EntryFilter, limit: int | None = None) -> AsyncGenerator[list[Lines]]:
    """All entries that fit, or the first `limit`, as pages of runs. Raises what `read` raises.

    Server and reader work side by side: at most two pages are in memory, and a connection is held for as long as a statement takes.
    """
    left = sys.maxsize if limit is None else limit
    reading = asyncio.create_task(_page(read, tenant, session, chosen, left))
    try:
        while runs := await reading:
            left -= sum([run.entries for run in runs])
            chosen = chosen.behind(runs[-1].last_seq)
            if left <= 0 or chosen.after_seq == chosen.at_seq:
                yield runs
                return
            reading = asyncio.create_task(_page(read, tenant, session, chosen, left))
            await asyncio.sleep(0)  # asks for it: a reader that does not wait would else be through with this page first
            yield runs
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _page(read: ReadLines, tenant: UUID, session: UUID, chosen: EntryFilter, left: int) -> list[Lines]:
    return await read(tenant, session, chosen, min(left, LINES_PAGE_ENTRIES))
