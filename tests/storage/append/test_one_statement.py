"""An append is one statement and one transaction, whatever it does, and none of its updates touches an index."""

from uuid import uuid4

import pytest

from app.storage.append_arguments import APPEND, arguments
from app.storage.types import NEW_TURN, Append, Claim, EventRow, IdempotencyWrite, TurnWrite
from tests.database.copies import connect
from tests.storage.sessions_made import HOLDER, opened, said

pytestmark = [pytest.mark.req("X-91")]


_WRITERS = """
SELECT count(*), count(DISTINCT x) FROM (
  SELECT xmin::text FROM ledger.sessions    WHERE tenant_id = $1 AND session_id = $2 UNION ALL
  SELECT xmin::text FROM ledger.entries     WHERE tenant_id = $1 AND session_id = $2 AND seq = $3 UNION ALL
  SELECT xmin::text FROM ledger.turns       WHERE tenant_id = $1 AND session_id = $2 UNION ALL
  SELECT xmin::text FROM ledger.claims      WHERE tenant_id = $1 AND session_id = $2 UNION ALL
  SELECT xmin::text FROM ledger.deltas      WHERE tenant_id = $1 AND session_id = $2 UNION ALL
  SELECT xmin::text FROM ledger.idempotency WHERE tenant_id = $1) AS rows(x)"""
"""Rows that an append wrote, and how many transactions wrote them."""


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
        done = await store.ledger.append(
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
        writers = await admin.fetch(_WRITERS, tenant, session, done.first_seq)
    finally:
        await admin.close()
    assert [tuple(row) for row in writers] == [(6, 1)]
    assert len(sent) == 1
    assert sent[0].startswith("SELECT * FROM ledger.append_v1(")


async def test_appends_are_hot_updates_of_the_session(store, tenant, migrate_url):
    session = await opened(store, tenant)
    counts = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relid = 'ledger.sessions'::regclass"
    admin = await connect(migrate_url)  # direct: what is counted has to happen on the connection that asks
    try:
        updates, hot = 0, 0
        for _ in range(60):
            async with admin.transaction():
                before = (await admin.fetch(counts))[0]
                await admin.fetch(APPEND, *arguments(tenant, session, Append(entries=(said(),))))
                after = (await admin.fetch(counts))[0]
            updates, hot = updates + after[0] - before[0], hot + after[1] - before[1]
    finally:
        await admin.close()
    assert updates == 60
    assert hot >= 55
