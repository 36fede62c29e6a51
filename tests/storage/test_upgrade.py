"""A database of the release before long sessions, with data in it, under the schema of now: nothing is lost, and its processes go on."""

from pathlib import Path
from uuid import uuid4

import pytest

from app.entries.errors import SessionErased
from app.entries.kinds import SETTINGS_KINDS
from app.entries.line import PLAIN, rewound
from app.entries.messages import NewEntry
from app.storage.append_arguments import APPEND, arguments
from app.storage.migrate import migrate
from app.storage.store import HEAD_REVISION, open_store
from app.storage.types import NEW_TURN, Append, CallWrite, IdempotencyWrite, OpenSession, TurnWrite
from tests.database.copies import connect, statement, with_database
from tests.storage.sessions_made import opened, said

FROZEN = Path(__file__).parents[2] / "migrations" / "sql"
BEFORE = ("0001", "0002", "0003", "0004", "0005")
READS = {
    "window": "SELECT seq, kind, payload, part FROM ledger.window_v1($1, $2, NULL, $3, 1000, NULL)",
    "turns": "SELECT number, status, usage FROM ledger.turns_v1($1, $2, NULL, NULL, NULL, 0, 100)",
    "views": "SELECT number, status, calls, entry_seqs FROM ledger.turn_views_v1($1, $2, NULL, NULL, 0, 100)",
    "entries": "SELECT seq, kind, payload, digest FROM ledger.entries_v1($1, $2, NULL, NULL, NULL, 0, NULL, NULL, true, false, 100)",
}


@pytest.fixture
async def older_url(database_server, database):
    """A database beside the test's own at the revision before, as its frozen files build it."""
    name = f"{database}_older"
    await statement(database_server, f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    url = with_database(database_server.admin_url, name)
    admin = await connect(url)
    try:
        async with admin.transaction():
            await admin.execute((Path(__file__).parents[2] / "app/storage/schema/000_roles.sql").read_text("utf-8"))
            await admin.execute((Path(__file__).parents[2] / "app/storage/schema/001_ledger.sql").read_text("utf-8"))
            for version in BEFORE:
                for file in sorted((FROZEN / version).glob("*.sql")):
                    await admin.execute(file.read_text("utf-8"))
            await admin.execute("CREATE TABLE ledger.alembic_version (version_num varchar(32) PRIMARY KEY)")
            await admin.execute(f"INSERT INTO ledger.alembic_version VALUES ('{BEFORE[-1]}')")
    finally:
        await admin.close()
    yield url
    await statement(database_server, f'DROP DATABASE "{name}" WITH (FORCE)')


def turn(number, usage='{"input":3,"output":2,"source":"reported"}'):
    """A settled turn with a call, as one append."""
    row = TurnWrite(new=True, turn_id=uuid4(), status="completed", input_offset=0, settled=True, usage=usage)
    call = CallWrite(uuid4(), True, NEW_TURN, 0, "main", "completed", 1, '{"upstream":"u","model":"m"}', attempts="[]", usage=usage)
    return Append(entries=(said(f"turn {number}", turn=NEW_TURN), said("answer", turn=NEW_TURN)), turn=row, call=call)


async def test_a_database_with_data_is_brought_up_and_its_processes_go_on(older_url, tenant):
    session = uuid4()
    key = IdempotencyWrite("POST /sessions", "k", bytes(31) + b"\1", 201, session=session)
    opening = Append(entries=(NewEntry("session_opened", "{}"),), open=OpenSession(user="ann", title="t"), idempotency=key)
    line = rewound(PLAIN, 3, 6)
    rewind = Append(entries=(NewEntry("rewound", "{}", line=line.encode()),))
    older = await connect(older_url)
    try:
        for append in (opening, turn(1), turn(2), rewind):
            await older.fetchrow(APPEND, *arguments(tenant, session, append))
        asked = {name: (tenant, session, list(SETTINGS_KINDS)) if "$3" in read else (tenant, session) for name, read in READS.items()}
        before = {name: await older.fetch(read, *asked[name]) for name, read in READS.items()}
        assert all(before.values())
        assert await migrate(older_url) == HEAD_REVISION
        assert {name: await older.fetch(read, *asked[name]) for name, read in READS.items()} == before
        await older.fetchrow(APPEND, *arguments(tenant, session, turn(3)))
        assert len(await older.fetch(READS["turns"], tenant, session)) == 3
    finally:
        await older.close()
    store = await open_store(older_url.replace("ledger_admin", "ledger_app"), pool_size=1)
    try:
        (usage,) = await store.usage.list(tenant, session)
        assert (usage.upstream, usage.model, usage.calls, usage.input, usage.output) == ("u", "m", 3, 9, 6)
        verified = await store.ledger.verify(tenant, session)
        assert verified is not None
        assert (verified.entries, verified.problems) == (8, ())
        row = await store.sessions.get(tenant, session)
        assert row is not None
        assert row.line == line
        fork = uuid4()
        forked = NewEntry("session_forked", "{}", line=line.encode())
        await store.ledger.append(tenant, fork, Append(entries=(forked,), open=OpenSession(parent=session, parent_seq=5), expected_head=5))
        row = await store.sessions.get(tenant, fork)
        assert row is not None
        assert row.turn_count == 2
    finally:
        await store.close()


async def test_what_processes_of_an_earlier_release_ask_for_is_done_as_it_was(store, tenant, database_url):
    session = await opened(store, tenant, entries=2)
    older = await connect(database_url)
    try:
        blob = "SELECT ledger.blob_put_v1($1, $2, sha256('bytes'), 'text/plain', 'bytes')"
        assert [await older.fetchval(blob, tenant, session) for _ in range(2)] == [True, False]
        keep = "SELECT stored_status, stored_body FROM ledger.idempotency_put_v1($1, 'POST /r', 'k', $3, 200, $4, $2, NULL)"
        assert await older.fetch(keep, tenant, session, bytes(32), "first") == []
        assert [tuple(row) for row in await older.fetch(keep, tenant, session, bytes(32), "second")] == [(200, "first")]
        erased = await older.fetchrow("SELECT * FROM ledger.erase_v1($1, $2, NULL, 1)", tenant, session)
        assert erased is not None
        assert (erased["sessions"], erased["answers"], erased["states"]) == ([session], 1, 0)
    finally:
        await older.close()
    with pytest.raises(SessionErased):
        await store.sessions.get(tenant, session)
