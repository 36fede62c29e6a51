"""Totals of usage as appends sum them up, and as the migration finds them in calls that were there before."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from app.storage.types import Append, CallWrite
from tests.database.copies import connect
from tests.storage.sessions_made import fetch_as_admin, opened

BACKFILL = Path(__file__).parents[2] / "migrations" / "sql" / "0008" / "120_usage_backfill.sql"


async def called(store, tenant, session, usage, purpose="main", model="m"):
    """A call that is opened with its usage, or with none."""
    record = f'{{"upstream":"u","model":"{model}"}}'
    call = CallWrite(uuid4(), True, 1, 0, purpose, "completed", 1, record, usage=usage)
    await store.ledger.append(tenant, session, Append(call=call))
    return call.call_id


async def test_a_call_counts_once_with_what_was_first_said_of_it(store, tenant):
    session = await opened(store, tenant, entries=1)
    call = await called(store, tenant, session, None)
    assert await store.usage.list(tenant, session) == []
    for usage in ('{"input":5,"cached":null,"output":1,"source":"estimated"}', '{"input":9}'):
        await store.ledger.append(tenant, session, Append(call=CallWrite(call, usage=usage)))
    await called(store, tenant, session, '{"input":2,"cached":1,"cache_write":1,"output":3,"reasoning":2,"source":"reported"}')
    await called(store, tenant, session, '{"input":4}', purpose="compaction")
    (main,) = [row for row in await store.usage.list(tenant, session) if row.purpose == "main"]
    assert (main.upstream, main.model, main.calls, main.estimated) == ("u", "m", 2, 1)
    assert (main.input, main.cached, main.cache_write, main.output, main.reasoning) == (7, 1, 1, 4, 2)
    assert [(row.purpose, row.input) for row in await store.usage.list(tenant, session)] == [("compaction", 4), ("main", 7)]
    assert (await store.sessions.get(tenant, session)).usage.startswith('{"input" : 7,')


async def test_the_migration_sums_up_the_calls_of_every_tenant(store, tenant, migrate_url):
    sessions = []
    for owner in (tenant, uuid4()):
        session = await opened(store, owner, entries=1)
        for purpose, model in (("main", "m"), ("main", "m"), ("main", "n"), ("compaction", "m")):
            await called(store, owner, session, '{"input":2,"output":3,"source":"reported"}', purpose, model)
        await called(store, owner, session, None)
        sessions.append((owner, session))
    kept = [await store.usage.list(*one) for one in sessions]
    assert [len(rows) for rows in kept] == [3, 3]
    await fetch_as_admin(migrate_url, "DELETE FROM ledger.usage_totals")
    admin = await connect(migrate_url)
    try:
        async with admin.transaction():
            await admin.execute("SET LOCAL ROLE ledger_owner")
            await admin.execute(BACKFILL.read_text("utf-8"))
    finally:
        await admin.close()
    assert [await store.usage.list(*one) for one in sessions] == kept
    forced = await fetch_as_admin(migrate_url, "SELECT relforcerowsecurity FROM pg_class WHERE relname IN ('calls', 'usage_totals')")
    assert [row[0] for row in forced] == [True, True]


@pytest.mark.parametrize("odd", [r"\u0000", r"\ud800", r"\uDFff"])
async def test_a_record_that_postgres_does_not_unpack_keeps_nobody_from_the_accuracy_of_the_others(store, tenant, odd):
    session = await opened(store, tenant, entries=1)
    for instructions in ("plain", odd):
        record = f'{{"upstream":"u","model":"m","budget":{{"method":"exact","error_band":0,"total":2}},"instructions":"{instructions}"}}'
        call = CallWrite(uuid4(), True, 1, 0, "main", "completed", 1, record, usage='{"input":2,"output":1,"source":"reported"}')
        await store.ledger.append(tenant, session, Append(call=call))
    (row,) = await store.calls.accuracy(tenant, datetime(2020, 1, 1, tzinfo=UTC))
    assert (row.upstream, row.model, row.calls, row.within) == ("u", "m", 1, 1)
    (totals,) = await store.usage.list(tenant, session)
    assert (totals.calls, totals.input) == (2, 4)
