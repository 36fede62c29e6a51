"""The schema's files are the truth, and the migrations lead there."""

import asyncio
import sys
from pathlib import Path

import pytest

from app.storage.faults import RefusedServer
from app.storage.migrate import ALWAYS, SCHEMA, migrate, scram_verifier
from app.storage.store import HEAD_REVISION, open_store
from tests.database.copies import connect, statement, with_database

VERSIONS = list((Path(__file__).parents[2] / "migrations" / "versions").glob("v*.py"))

CATALOGUE = {
    "columns": "SELECT table_name, column_name, ordinal_position, data_type, is_nullable, column_default, collation_name"
    " FROM information_schema.columns WHERE table_schema = 'ledger'",
    "tables": "SELECT relname, relkind, relrowsecurity, relforcerowsecurity, relacl::text, reloptions, relowner::regrole::text FROM pg_class"
    " WHERE relnamespace = 'ledger'::regnamespace",
    "column rights": "SELECT attrelid::regclass::text, attname, attacl::text, attstorage FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid"
    " WHERE relnamespace = 'ledger'::regnamespace AND attnum > 0",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'ledger'::regnamespace",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'ledger'",
    "policies": "SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'ledger'",
    "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'ledger'",
    "functions": "SELECT proname, pg_get_functiondef(oid), proowner::regrole::text, proacl::text FROM pg_proc"
    " WHERE pronamespace = 'ledger'::regnamespace",
    "schema": "SELECT nspowner::regrole::text, nspacl::text FROM pg_namespace WHERE nspname = 'ledger'",
    "defaults": "SELECT defaclrole::regrole::text, defaclobjtype, defaclacl::text FROM pg_default_acl",
}


async def catalogue(url: str) -> dict[str, list[str]]:
    admin = await connect(url)
    try:
        found = {name: sorted(str(tuple(row)) for row in await admin.fetch(query)) for name, query in CATALOGUE.items()}
    finally:
        await admin.close()
    return {name: [row for row in rows if "alembic_version" not in row] for name, rows in found.items()}


@pytest.fixture
async def empty_url(database_server, database):
    """A database beside the test's own that nothing was done to."""
    name = f"{database}_empty"
    await statement(database_server, f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    yield with_database(database_server.admin_url, name)
    await statement(database_server, f'DROP DATABASE "{name}" WITH (FORCE)')


async def test_files_and_migrations_build_the_same(empty_url, migrate_url):
    admin = await connect(empty_url)
    try:
        async with admin.transaction():
            for file in sorted(SCHEMA.glob("*.sql")):
                await admin.execute(file.read_text("utf-8"))
    finally:
        await admin.close()
    built, migrated = await catalogue(empty_url), await catalogue(migrate_url)
    for name in CATALOGUE:
        assert built[name] == migrated[name], name
    assert len(built["functions"]) > 30


async def test_many_may_migrate_at_once_and_again(empty_url):
    told: list[str] = []
    assert set(await asyncio.gather(*[migrate(empty_url, report=told.append) for _ in range(4)])) == {HEAD_REVISION}
    assert sum("applying" in line for line in told) == len(VERSIONS), "each once"
    assert await migrate(empty_url) == HEAD_REVISION


async def test_a_migration_that_is_killed_in_the_middle_leaves_nothing_and_holds_nobody_up(empty_url):
    program = (
        "import asyncio, os, sys; from app.storage.migrate import migrate; "
        "asyncio.run(migrate(sys.argv[1], report=lambda line: os.kill(os.getpid(), 9) if line.startswith('applying') else None))"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, empty_url, cwd=Path(__file__).parents[2])
    assert await asyncio.wait_for(process.wait(), 30) == -9
    told: list[str] = []
    assert await asyncio.wait_for(migrate(empty_url, report=told.append), 30) == HEAD_REVISION
    assert sum("applying" in line for line in told) == len(VERSIONS), "each once"


async def test_no_file_holds_jsonb_and_each_is_small():
    files = sorted(SCHEMA.glob("*.sql"))
    assert [file.name for file in files[: len(ALWAYS)]] == list(ALWAYS)
    for file in files:
        text = file.read_text("utf-8")
        assert "jsonb" not in text, file.name
        assert len(text.splitlines()) <= 300, file.name


async def test_the_store_says_the_revision(store):
    assert await store.revision() == HEAD_REVISION


async def test_a_role_that_row_security_does_not_bind_is_refused(migrate_url):
    with pytest.raises(RefusedServer, match="superuser"):
        await open_store(migrate_url)


async def test_a_server_in_another_encoding_is_refused(database_server, database):
    name = f"{database}_latin"
    await statement(database_server, f"CREATE DATABASE \"{name}\" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        with pytest.raises(RefusedServer, match="UTF8"):
            await migrate(with_database(database_server.admin_url, name))
        with pytest.raises(RefusedServer, match="UTF8"):
            await open_store(with_database(database_server.app_url, name))
    finally:
        await statement(database_server, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.req("X-86")
def test_a_password_is_sent_as_a_verifier():
    """The example of RFC 7677, section 3: user `user`, password `pencil`."""
    import base64

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert scram_verifier("pencil", salt) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )
