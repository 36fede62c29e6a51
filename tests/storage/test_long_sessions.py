"""A long session costs what is read of it: a page anywhere, an append, a walk along it, all of it as lines. `make bench` has one of 1,000,000."""

import asyncio
import re
import tracemalloc
from uuid import uuid4

import pytest

from app.entries.ids import SESSION, format_id
from app.entries.line import PLAIN, Covered, covered
from app.entries.messages import NewEntry
from app.services.transcripts import RawQuery, Transcripts
from app.services.transfers import Exports
from app.storage.append_arguments import APPEND, arguments
from app.storage.store import open_store
from app.storage.types import Append, OpenSession
from tests.database.copies import connect
from tests.storage.sessions_made import opened, said

LONG, SHORT = 100_000, 1_000
PAGE, WINDOW = 100, 50
READ_MIB_MAX = 12
"""Two pages of lines as the driver's bytes, as text and as what is sent. The whole session as text has 40 MiB."""

pytestmark = pytest.mark.req("X-91")


async def filled(store, tenant, entries: int):
    """A session of that many messages, written by the one append that there is, so that its chain holds."""
    session = uuid4()
    await store.ledger.append(tenant, session, Append(open=OpenSession()))
    texts = tuple(said(f"message {number} " + "x" * 100) for number in range(256))
    for first in range(0, entries, len(texts)):
        await store.ledger.append(tenant, session, Append(entries=texts[: entries - first]))
    return session


async def buffers(connection, statement: str, *values) -> int:
    """Buffers that a statement touches once catalogue and generic plans are in this backend's memory; what it writes is undone."""
    plan = ""
    for _ in range(8):
        transaction = connection.transaction()
        await transaction.start()
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, TIMING off) {statement}", *values))
        await transaction.rollback()
    top = plan.split("Planning")[0].split("\n", 2)[1]
    return sum(int(number) for number in re.findall(r"(?:hit|read)=(\d+)", top))


PAGES = {
    "entries": "SELECT * FROM ledger.entries_v1($1, $2, NULL, NULL, NULL, $3, NULL, $4, true, false, 100)",
    "entries from the end": "SELECT * FROM ledger.entries_v1($1, $2, NULL, NULL, NULL, 0, $3 + 101, $4, true, true, 100)",
    "transcript": "SELECT * FROM ledger.entries_v1($1, $2, NULL, NULL, ARRAY['user_message'], $3, NULL, $4, false, false, 100)",
    "settings": "SELECT * FROM ledger.kind_entries_v1($1, $2, NULL, ARRAY['agent_adopted'], $3, NULL, $4, true, false, 100)",
    "settings from the end": "SELECT * FROM ledger.kind_entries_v1($1, $2, NULL, ARRAY['agent_adopted'], 0, $3 + 1, $4, true, true, 1)",
    "folds": "SELECT * FROM ledger.kind_entries_v1($1, $2, NULL, ARRAY['skill_loaded', 'rewound'], $3, NULL, $4, true, false, 100)",
    "lines": "SELECT * FROM ledger.entry_lines_v1($1, $2, NULL, NULL, NULL, $3, NULL, $4, true, 100, 50, 1048576)",
    "export": "SELECT * FROM ledger.archive_lines_v1($1, $2, NULL, $3, $4, 100, 50, 1048576)",
    "verify": r"SELECT * FROM ledger.verify_v1($1, $2, $3, $4, '\x00', 0, 100)",
}

WINDOW_READ = "SELECT * FROM ledger.window_v2($1, $2, NULL, NULL, ARRAY['state_changed', 'session_opened'], 1000, NULL)"


async def test_a_page_an_append_and_a_window_cost_the_same_anywhere(store, tenant, migrate_url, database_url):
    sessions = {entries: await filled(store, tenant, entries) for entries in (SHORT, LONG)}
    admin, app = await connect(migrate_url), await connect(database_url)
    try:
        await admin.execute("VACUUM ANALYZE ledger.entries, ledger.sessions")
        for name, page in PAGES.items():
            short = await buffers(app, page, tenant, sessions[SHORT], SHORT // 2, SHORT)
            for after in (0, LONG // 2, LONG - PAGE):
                found = await buffers(app, page, tenant, sessions[LONG], after, LONG)
                assert found <= 1.3 * short, (name, after, found, short)
        appended = [await buffers(app, APPEND, *arguments(tenant, session, Append(entries=(said(), said())))) for session in sessions.values()]
        assert appended[1] <= 1.3 * appended[0]
        for entries, session in sessions.items():
            mark = NewEntry("checkpoint", "{}", line=covered(PLAIN, Covered("chk_1", entries + 1, entries)).encode())
            await store.ledger.append(tenant, session, Append(entries=(mark, *[said("on")] * WINDOW)))
            assert len((await store.ledger.window(tenant, session)).messages) == WINDOW
        await admin.execute("VACUUM ANALYZE ledger.entries, ledger.sessions")
        windows = [await buffers(app, WINDOW_READ, tenant, session) for session in sessions.values()]
        assert windows[1] <= 1.3 * windows[0]
    finally:
        await app.close()
        await admin.close()


async def test_all_of_it_is_read_in_memory_that_does_not_grow_and_verifies(store, tenant):
    session = await filled(store, tenant, LONG)
    name = format_id(SESSION, session)
    transcripts = Transcripts(store, heartbeat_seconds=15)
    row = await transcripts.session(tenant, name)
    verified = await store.ledger.verify(tenant, session)
    assert (verified.entries, verified.problems) == (LONG, ())

    for beside, pieces in ((0, lambda: transcripts.lines(row, RawQuery(view="ledger"))), (2, lambda: Exports(store).export(tenant, name, "jsonl"))):
        lines = 0
        tracemalloc.start()
        try:
            async for piece in pieces():
                lines += piece.count(b"\n")
            peak_mib = tracemalloc.get_traced_memory()[1] / 2**20
        finally:
            tracemalloc.stop()
        assert lines == LONG + beside
        assert peak_mib < READ_MIB_MAX


async def test_who_walks_or_reads_all_of_it_lets_others_between_two_pages(store, tenant, database_url):
    session, other = await filled(store, tenant, 20_000), await opened(store, tenant, entries=1)
    one = await open_store(database_url, pool_size=1)
    transcripts = Transcripts(one, heartbeat_seconds=15)
    row = await transcripts.session(tenant, format_id(SESSION, session))

    async def read() -> None:
        async for _ in transcripts.lines(row, RawQuery(view="ledger")):
            pass

    async def exported() -> None:
        async for _ in Exports(one).export(tenant, format_id(SESSION, session), "jsonl"):
            pass

    try:
        for work in (one.ledger.verify(tenant, session), read(), exported()):
            answered = 0
            walking = asyncio.create_task(work)
            while not walking.done():
                assert await one.sessions.get(tenant, other) is not None
                answered += 1
                await asyncio.sleep(0)
            await walking
            assert answered >= 10, "of some 20 pages on the one connection that there is"
    finally:
        await one.close()
