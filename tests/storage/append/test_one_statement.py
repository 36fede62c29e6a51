"""An append is one statement and one transaction, whatever it does, and none of its updates touches an index."""

from uuid import uuid4

import pytest

from app.storage.types import NEW_TURN, Append, Claim, EventRow, IdempotencyWrite, TurnWrite
from tests.database.copies import connect
from tests.storage.sessions_made import HOLDER, opened, said

pytestmark = [pytest.mark.req("X-91")]


async def test_an_append_is_one_transaction_and_one_statement(store, tenant, monkeypatch, migrate_url):
    session = await opened(store, tenant)
    sent = []
    fetch = store._pool.fetch

    async def counted(statement, *arguments):
        sent.append(statement)
        return await fetch(statement, *arguments)

    monkeypatch.setattr(store._pool, "fetch", counted)
    admin = await connect(migrate_url)
    try:
        before = await _writing_transactions(admin)
        await store.ledger.append(
            tenant,
            session,
            Append(
                entries=(said(turn=NEW_TURN),),
                claim=Claim(NEW_TURN, HOLDER, 30),
                turn=TurnWrite(new=True, turn_id=uuid4(), status="running"),
                idempotency=IdempotencyWrite("r", "k", bytes(32), 200),
                events=(EventRow(1, "turn.started"),),
            ),
        )
        assert await _writing_transactions(admin) - before == 1
    finally:
        await admin.close()
    assert len(sent) == 1
    assert sent[0].startswith("SELECT * FROM ledger.append_v1(")


async def _writing_transactions(admin) -> int:
    """Transaction ids given out so far, not counting this look itself, which takes none."""
    return int(await admin.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"))


async def test_appends_are_hot_updates_of_the_session(store, tenant, migrate_url):
    session = await opened(store, tenant)
    for _ in range(60):
        await store.ledger.append(tenant, session, Append(entries=(said(),)))
    admin = await connect(migrate_url)
    try:
        await store.close()  # the backends hand their counts over when they end
        updates = hot = 0
        for _ in range(100):
            updates, hot = (await admin.fetch("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'sessions'"))[0]
            if updates > 60:
                break
            await admin.execute("SELECT pg_stat_clear_snapshot(), pg_sleep(0.05)")
        assert updates == 61  # the opening append updates the row too
        assert hot >= 55
    finally:
        await admin.close()
