"""What the database refuses whoever asks: entries are only ever added, and by append_v1 alone."""

import asyncio
from asyncio.subprocess import PIPE

import asyncpg
import pytest

from app.entries.ids import blob_digest
from app.storage.append_arguments import APPEND_MANY, many_arguments
from app.storage.embedded.binaries import find_binaries
from app.storage.faults import StorageFault
from app.storage.types import Append, NewBlob
from tests.database.copies import connect
from tests.storage.sessions_made import claimed, fetch_as_admin, opened, said

pytestmark = [pytest.mark.req("S4-10", "X-91")]

TABLES = ("entries", "sessions", "turns", "calls", "blobs", "agent_revisions")
FOR_THE_APP = [
    *(f"DELETE FROM ledger.{table}" for table in (*TABLES, "claims", "deltas", "idempotency", "keys", "agents")),
    *(f"TRUNCATE ledger.{table} CASCADE" for table in TABLES),
    "UPDATE ledger.entries SET payload = '{}'",
    "UPDATE ledger.sessions SET head_seq = 0",
    "UPDATE ledger.turns SET status = 'completed'",
    "INSERT INTO ledger.entries SELECT * FROM ledger.entries",
    "INSERT INTO ledger.sessions (tenant_id, session_id, active_on) VALUES (gen_random_uuid(), gen_random_uuid(), now())",
    "INSERT INTO ledger.blobs SELECT * FROM ledger.blobs",
    "SELECT * FROM ledger.keys",
    "SELECT ledger.move_claim(NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "SET ROLE ledger_owner",
]


@pytest.mark.parametrize("statement", FOR_THE_APP)
async def test_the_app_role_is_not_granted_it(statement, database_url):
    app = await connect(database_url)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await app.execute(statement)
    finally:
        await app.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger.entries SET payload = '{}'",
        "UPDATE ledger.entries SET hidden = true",
        "DELETE FROM ledger.entries",
        "TRUNCATE ledger.entries",
        "DELETE FROM ledger.sessions",
        "TRUNCATE ledger.sessions CASCADE",
    ],
)
async def test_a_superuser_is_refused_by_triggers(statement, store, tenant, migrate_url):
    await opened(store, tenant, entries=2)
    admin = await connect(migrate_url)
    try:
        with pytest.raises(asyncpg.PostgresError) as refused:
            await admin.execute(statement)
        assert refused.value.sqlstate == "LG001"
        assert await admin.fetchval("SELECT count(*) FROM ledger.entries") == 2
    finally:
        await admin.close()


async def test_the_owner_sees_no_row_without_a_tenant(store, tenant, migrate_url):
    await opened(store, tenant, entries=2)
    admin = await connect(migrate_url)
    try:
        await admin.execute("SET ROLE ledger_owner")
        assert await admin.fetchval("SELECT count(*) FROM ledger.entries") == 0
        assert await admin.execute("DELETE FROM ledger.entries") == "DELETE 0"
    finally:
        await admin.close()


async def test_the_eraser_empties_a_payload_once_and_nothing_else_and_the_chain_still_verifies(store, tenant, migrate_url):
    session = await opened(store, tenant, entries=2)
    admin = await connect(migrate_url)
    try:
        await admin.execute("SET ROLE ledger_eraser")
        await admin.execute(f"SET app.tenant_id = '{tenant}'")
        for statement in (
            "UPDATE ledger.entries SET payload = '{}', attributes = NULL, salt = NULL, erased_at = now() WHERE seq = 1",
            "UPDATE ledger.entries SET payload = NULL, salt = NULL WHERE seq = 1",
            "UPDATE ledger.entries SET payload = NULL, erased_at = now() WHERE seq = 1",
        ):
            with pytest.raises(asyncpg.PostgresError, match="append-only"):
                await admin.execute(statement)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await admin.execute("UPDATE ledger.entries SET tokens = 0")
        erase = "UPDATE ledger.entries SET payload = NULL, attributes = NULL, salt = NULL, erased_at = now() WHERE seq = 1"
        assert await admin.execute(erase) == "UPDATE 1"
        with pytest.raises(asyncpg.PostgresError, match="append-only"):
            await admin.execute(erase)
    finally:
        await admin.close()
    assert (await store.ledger.verify(tenant, session)).problems == ()
    entry = await store.ledger.entry(tenant, session, 1)
    assert entry.payload is None
    assert entry.digest
    await store.ledger.append(tenant, session, Append(entries=(said(),)))


async def test_an_erased_blob_takes_its_own_bytes_again_and_no_blob_any_others(store, tenant, migrate_url):
    session = await opened(store, tenant)
    blob = NewBlob(blob_digest(b"picture"), "image/png", b"picture")
    assert await store.blobs.put(tenant, session, blob)
    assert not await store.blobs.put(tenant, session, blob)
    admin = await connect(migrate_url)
    try:
        await admin.execute(f"SET app.tenant_id = '{tenant}'")
        erase, fill = "SET body = NULL, erased_at = now()", "SET body = 'picture', erased_at = NULL"
        for role, change in (("ledger_owner", erase), ("ledger_owner", fill), ("ledger_eraser", "SET body = 'other'"), ("ledger_eraser", fill)):
            await admin.execute(f"SET ROLE {role}")
            with pytest.raises(asyncpg.PostgresError, match="append-only"):
                await admin.execute(f"UPDATE ledger.blobs {change}")
        assert await admin.execute(f"UPDATE ledger.blobs {erase}") == "UPDATE 1"
        for role, refused in (("ledger_eraser", "append-only"), ("ledger_owner", "violates check")):
            await admin.execute(f"SET ROLE {role}")
            with pytest.raises(asyncpg.PostgresError, match=refused):
                await admin.execute("UPDATE ledger.blobs SET body = 'another', erased_at = NULL")
    finally:
        await admin.close()
    assert await store.blobs.load(tenant, session, [blob.digest]) == {}
    assert await store.blobs.put(tenant, session, blob)
    assert (await store.blobs.load(tenant, session, [blob.digest]))[blob.digest] == ("image/png", b"picture")


@pytest.mark.req("X-91")
async def test_nobody_may_run_what_he_was_not_granted(migrate_url):
    rights = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND has_function_privilege($1, oid, 'EXECUTE')"
        " UNION SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind <> 'i'"
        " AND has_table_privilege($1, oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')"
    )
    found = {role: {name for (name,) in await fetch_as_admin(migrate_url, rights, role)} for role in ("public", "ledger_reader", "ledger_backup")}
    assert found["public"] == set()
    assert found["ledger_backup"] == {"current_tenant"}
    writers = {
        name
        for name in found["ledger_reader"]
        if any(word in name for word in ("append", "put", "purge", "renew", "revoke", "key", "claim", "delta"))
    }
    assert writers == set()


async def test_a_group_is_checked_as_one_append_is(store, tenant):
    session = await opened(store, tenant)
    arguments = list(many_arguments(tenant, [(session, Append(entries=(said(), said())))]))
    families = 7
    for wrong in ("m", "mx", "mmm", "m "):
        arguments[families] = wrong
        with pytest.raises(StorageFault, match="LG005"):
            await store._pool.fetch(APPEND_MANY, *arguments)
    with pytest.raises(StorageFault, match="LG005"):
        await store._pool.fetch(APPEND_MANY, *many_arguments(tenant, [(session, Append(entries=(said(),) * 257))]))
    assert (await store.sessions.get(tenant, session)).head_seq == 0


async def test_a_dump_as_the_backup_role_holds_every_row(store, tenant, migrate_url):
    await claimed(store, tenant, await opened(store, tenant, entries=2))
    dump = await asyncio.create_subprocess_exec(
        find_binaries() / "pg_dump", "--enable-row-security", "--role=ledger_backup", "--data-only", migrate_url, stdout=PIPE, stderr=PIPE
    )
    said_out, said_err = await dump.communicate()
    assert (dump.returncode, said_err) == (0, b"")
    rows = {part.split(b" ", 1)[0].decode(): len(part.split(b"\\.\n", 1)[0].splitlines()) - 1 for part in said_out.split(b"COPY ledger.")[1:]}
    assert {name: count for name, count in rows.items() if count} == {"alembic_version": 1, "sessions": 1, "entries": 3, "turns": 1, "claims": 1}
