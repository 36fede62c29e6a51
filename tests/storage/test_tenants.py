"""A tenant sees, changes and finds nothing of another, through functions and in plain SQL."""

from hashlib import sha256
from uuid import uuid4

import asyncpg
import pytest

from app.entries.errors import NotFound
from app.entries.line import PLAIN, Covered, covered
from app.entries.messages import NewEntry
from app.storage.rows import EntryFilter, SessionFilter
from app.storage.types import Append, CallWrite, IdempotencyWrite, NewBlob
from tests.database.copies import connect
from tests.storage.sessions_made import claimed, opened, said
from tests.storage.test_forks import forked_off

pytestmark = [pytest.mark.req("X-87", "X-91")]
FOREIGN = uuid4()
TABLES = ("sessions", "entries", "turns", "calls", "claims", "blobs", "agents", "agent_revisions", "user_states", "forks", "usage_totals")


async def test_every_read_and_write_of_a_foreign_tenant_finds_nothing(store, tenant):
    session = await opened(store, tenant, entries=2, user="ann", external_id="e")
    blob = NewBlob("sha256:" + sha256(b"x").hexdigest(), "text/plain", b"x")
    await store.blobs.put(tenant, session, blob)
    await store.agents.put(tenant, "triage", "{}", "{}", bytes(32))
    await store.idempotency.remember(tenant, IdempotencyWrite("r", "k", bytes(32), 200))
    line = covered(PLAIN, Covered("chk_1", 3, 1))
    await store.ledger.append(tenant, session, Append(entries=(NewEntry("checkpoint", "{}", line=line.spelled()),)))
    call = CallWrite(uuid4(), True, 1, record="{}", status="completed", usage='{"input":1}')
    await store.ledger.append(tenant, session, Append(call=call))
    assert len(await store.usage.list(tenant, session)) == len(await store.checkpoints.list(tenant, session, 10)) == 1
    await claimed(store, tenant, session)
    assert await store.sessions.get(FOREIGN, session) is None
    assert await store.sessions.find_external(FOREIGN, "ann", "e") is None
    assert await store.sessions.list(FOREIGN, SessionFilter(), None, 10) == []
    assert await store.ledger.window(FOREIGN, session) is None
    assert await store.ledger.entries(FOREIGN, session, EntryFilter(), 10) == []
    assert await store.ledger.entry(FOREIGN, session, 1) is None
    assert await store.ledger.turn_entries(FOREIGN, session, 1) == []
    assert await store.ledger.verify(FOREIGN, session) is None
    assert await store.ledger.settings(FOREIGN, session, 3) == {}
    fork = await forked_off(store, tenant, session, 2)
    assert await store.ledger.shared(FOREIGN, fork) is None
    assert await store.ledger.entries(FOREIGN, fork, EntryFilter(), 10) == []
    with pytest.raises(NotFound):
        await forked_off(store, FOREIGN, session, 2)
    assert await store.turns.list(FOREIGN, session, limit=10) == []
    assert await store.usage.list(FOREIGN, session) == []
    assert await store.checkpoints.list(FOREIGN, session, 10) == []
    assert await store.checkpoints.get(FOREIGN, session, "chk_1") is None
    assert await store.blobs.load(FOREIGN, session, [blob.digest]) == {}
    assert await store.agents.get(FOREIGN, "triage") is None
    assert await store.idempotency.find(FOREIGN, "r", "k", bytes(32)) is None
    for append in (Append(entries=(said(),)), Append(entries=(said(),), fence=1), Append(entries=(said(),), beside=True)):
        with pytest.raises(NotFound):
            await store.ledger.append(FOREIGN, session, append)
    with pytest.raises(NotFound):
        await store.blobs.put(FOREIGN, session, blob)
    assert (await store.sessions.get(tenant, session)).head_seq == 4


async def test_plain_sql_sees_one_tenant_and_none_without_one(store, tenant, database_url):
    session = await opened(store, tenant, entries=2)
    await opened(store, FOREIGN, entries=5)
    await claimed(store, tenant, session)
    app = await connect(database_url)
    try:
        for table in TABLES:
            assert await app.fetchval(f"SELECT count(*) FROM ledger.{table}") == 0
        async with app.transaction():
            await app.execute(f"SET LOCAL app.tenant_id = '{tenant}'")
            assert await app.fetchval("SELECT count(*) FROM ledger.entries") == 3
            assert await app.fetchval("SELECT count(*) FROM ledger.claims") == 1
            with pytest.raises(asyncpg.PostgresError) as refused:
                await app.fetch("SELECT * FROM ledger.session_v1($1, $2)", FOREIGN, session)
            assert refused.value.sqlstate == "LG009"
        assert await app.fetchval("SELECT count(*) FROM ledger.entries") == 0
    finally:
        await app.close()


async def test_a_function_leaves_no_tenant_behind_on_its_connection(store, tenant, database_url):
    session = await opened(store, tenant, entries=1)
    app = await connect(database_url)
    try:
        assert await app.fetchval("SELECT ledger.session_v1($1, $2)", tenant, session) is not None
        assert await app.fetchval("SELECT ledger.session_v1($1, $2)", FOREIGN, session) is None
        assert await app.fetchval("SELECT count(*) FROM ledger.entries") == 0
    finally:
        await app.close()


async def test_every_table_is_walled_off(migrate_url):
    admin = await connect(migrate_url)
    try:
        open_tables = await admin.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind = 'r'"
            " AND NOT (relrowsecurity AND relforcerowsecurity)"
        )
        granted = await admin.fetch(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND has_function_privilege('ledger_app', oid, 'EXECUTE')"
            " AND (prosecdef AND NOT proconfig @> ARRAY['search_path=ledger, pg_temp'])"
        )
        roles = await admin.fetch(
            "SELECT rolname FROM pg_roles WHERE (rolsuper OR rolbypassrls)"
            " AND rolname IN ('ledger_owner', 'ledger_app', 'ledger_relay', 'ledger_eraser', 'ledger_reader', 'ledger_backup')"
        )
    finally:
        await admin.close()
    assert [row[0] for row in open_tables] == ["alembic_version"]
    assert granted == []
    assert roles == []
