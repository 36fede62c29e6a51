"""Connections: none is lost, none is used after it died, and a database that cannot answer is `Unavailable`."""

import asyncio
from urllib.parse import urlsplit

import pytest

from app.entries.errors import Unavailable
from app.storage import pool
from app.storage.migrate import migrate
from app.storage.store import open_store
from app.storage.types import Append
from tests.database.copies import statement, with_database
from tests.storage.sessions_made import fetch_as_admin, opened, said

KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'context-ledger-test' AND datname = current_database()"


async def test_nothing_that_answers_is_unavailable(tmp_path):
    with pytest.raises(Unavailable) as refused:
        await open_store(f"postgresql://ledger_app:sesame@/nothing?host={tmp_path}")
    assert "sesame" not in repr(refused.value)
    assert refused.value.__context__ is None


async def test_a_full_pool_is_unavailable_and_serves_again(database_url, tenant, monkeypatch):
    monkeypatch.setattr(pool, "POOL_WAIT_SECONDS_MAX", 0.2)
    store = await open_store(database_url, pool_size=1)
    try:
        slow = asyncio.create_task(store._pool.fetch("SELECT pg_sleep(1)"))
        await asyncio.sleep(0.05)
        with pytest.raises(Unavailable):
            await store.sessions.get(tenant, tenant)
        await slow
        assert await store.sessions.get(tenant, tenant) is None
    finally:
        await store.close()


async def test_who_waits_for_a_connection_comes_before_who_comes_back_for_one(database_url):
    store = await open_store(database_url, pool_size=1)
    ended: list[str] = []

    async def asking(name: str, times: int) -> None:
        for _ in range(times):
            await store._pool.fetch("SELECT pg_sleep(0.002)")
        ended.append(name)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asking("long", 30))
            await asyncio.sleep(0)
            for name in ("first", "second"):
                group.create_task(asking(name, 1))
    finally:
        await store.close()
    assert ended == ["first", "second", "long"]


async def test_a_pool_outlives_its_connections(store, tenant, migrate_url):
    session = await opened(store, tenant)
    await asyncio.gather(*[store.ledger.append(tenant, session, Append(entries=(said(),))) for _ in range(20)])
    assert len(await fetch_as_admin(migrate_url, KILL)) >= 1
    for _ in range(100):  # until this side has read that they are gone
        if not await fetch_as_admin(migrate_url, KILL):
            break
    await asyncio.sleep(0.05)
    assert (await store.sessions.get(tenant, session)).head_seq == 20


async def test_a_cancelled_call_leaves_no_connection_in_doubt(store, tenant):
    session = await opened(store, tenant)
    for _ in range(12):
        task = asyncio.create_task(store._pool.fetch("SELECT pg_sleep(5)"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    done = await asyncio.gather(*[store.ledger.append(tenant, session, Append(entries=(said(),))) for _ in range(20)])
    assert sorted(answer.last_seq for answer in done) == list(range(1, 21))


async def test_a_direct_connection_parses_a_statement_once_and_a_pooled_one_each_time(store):
    held = await store._pool._checkout()
    try:
        direct = await store._pool._prepared(held, "SELECT 1")
        if not held.info["context_ledger_named"]:
            assert direct.get_name() == ""
            return  # a pooler stands between: it was noticed, and nothing is left parsed behind it
        assert direct.get_name() != ""
        held.info["context_ledger_named"] = False  # as where the process id is made up by a pooler
        pooled = await store._pool._prepared(held, "SELECT 2")
        assert pooled.get_name() == ""
        await direct.fetch()
        assert [row[0] for row in await pooled.fetch()] == [2]
    finally:
        held.invalidate()
        held.close()


async def test_a_server_that_refuses_another_connection_is_unavailable_and_serves_again(database_server, database, migrate_url, tenant):
    direct = urlsplit(migrate_url)  # a pooler would hand out the connection that it has
    store = await open_store(direct._replace(netloc=f"ledger_app@{direct.netloc.rpartition('@')[2]}").geturl(), pool_size=2)
    try:
        await statement(database_server, f'ALTER DATABASE "{database}" CONNECTION LIMIT 0')
        slow = asyncio.create_task(store._pool.fetch("SELECT pg_sleep(0.5)"))
        await asyncio.sleep(0.05)
        with pytest.raises(Unavailable) as refused:
            await store.sessions.get(tenant, tenant)
        assert refused.value.__context__ is None
        await slow
        await statement(database_server, f'ALTER DATABASE "{database}" CONNECTION LIMIT -1')
        assert await store.sessions.get(tenant, tenant) is None
    finally:
        await store.close()


async def test_a_login_that_is_refused_is_unavailable(database_url, migrate_url):
    with pytest.raises(Unavailable):
        await open_store(with_database(database_url, "nowhere"))
    with pytest.raises(Unavailable, match="3D000"):
        await migrate(with_database(migrate_url, "nowhere"))
