"""Checkpoints by seq and by id, of a session and of those that it was forked from, and what a read of them costs."""

from uuid import UUID

from app.entries.line import PLAIN, Covered, covered
from app.entries.messages import NewEntry
from app.storage.store import Store
from app.storage.types import Append
from tests.database.copies import connect
from tests.storage.sessions_made import fetch_as_admin, opened, said


async def summarised(store: Store, tenant: UUID, session: UUID, name: str, payload: str = '{"n":"\\u0000"}') -> int:
    """A checkpoint that covers the first message; gives its seq."""
    row = await store.sessions.get(tenant, session)
    assert row is not None
    seq = row.head_seq + 1
    line = covered(PLAIN, Covered(name, seq, 1))
    await store.ledger.append(tenant, session, Append(entries=(NewEntry("checkpoint", payload, line=line.spelled()), said())))
    return seq


async def test_they_are_read_from_either_end_and_by_id(store, tenant):
    session = await opened(store, tenant, entries=3)
    seqs = [await summarised(store, tenant, session, f"chk_{number}") for number in range(4)]

    async def read(limit=9, **bounds):
        return [(row.entry.seq, row.line.covered.checkpoint_id) for row in await store.checkpoints.list(tenant, session, limit, **bounds)]

    named = [(seq, f"chk_{number}") for number, seq in enumerate(seqs)]
    assert await read() == named
    assert await read(2, after_seq=seqs[0]) == named[1:3]
    assert await read(2, descending=True, at_seq=seqs[2]) == [named[2], named[1]]
    found = await store.checkpoints.get(tenant, session, "chk_2")
    assert (found.entry.seq, found.session, found.entry.payload) == (seqs[2], session, '{"n":"\\u0000"}')
    assert await store.checkpoints.get(tenant, session, "chk_2", seqs[2] - 1) is None
    assert await store.checkpoints.get(tenant, session, "chk_") is None
    other = await opened(store, tenant)
    assert await store.checkpoints.list(tenant, other, 9) == []


async def test_those_of_an_ancestor_count_up_to_where_it_was_left(store, tenant, migrate_url):
    root = await opened(store, tenant, entries=1)
    early, late = [await summarised(store, tenant, root, name) for name in ("chk_a", "chk_b")]
    middle = await opened(store, tenant)
    left = "UPDATE ledger.sessions SET parent_session = $1, parent_seq = $2, head_seq = $2 WHERE session_id = $3"
    await fetch_as_admin(migrate_url, left, root, late - 1, middle)
    own = await summarised(store, tenant, middle, "chk_c")
    last = await opened(store, tenant)
    await fetch_as_admin(migrate_url, left, middle, own + 1, last)
    assert own == late, "a fork goes on where it left its parent"
    for read in (False, True):
        rows = await store.checkpoints.list(tenant, last, 9, descending=read)
        assert sorted((row.entry.seq, row.session) for row in rows) == [(early, root), (own, middle)]
    assert (await store.checkpoints.get(tenant, last, "chk_a")).session == root
    assert await store.checkpoints.get(tenant, last, "chk_b") is None


async def test_a_page_costs_its_checkpoints_and_not_the_history(store, tenant, database_url):
    session = await opened(store, tenant, entries=1)
    app = await connect(database_url)

    async def buffers() -> int:
        statement = "EXPLAIN (ANALYZE, BUFFERS, TIMING off) SELECT * FROM ledger.folds_v1($1, $2, 'checkpoint', NULL, 0, NULL, true, 3)"
        plan = ""
        for _ in range(8):  # until catalogue and generic plans are in this backend's memory
            plan = "\n".join(row[0] for row in await app.fetch(statement, tenant, session))
        return sum(int(word.removeprefix("hit=")) for word in plan.split("Planning")[0].split() if word.startswith("hit="))

    try:
        for number in range(3):
            await summarised(store, tenant, session, f"chk_{number}")
        before = await buffers()
        for _ in range(30):
            more = [said(str(number)) for number in range(100)] + [NewEntry("rewound", "{}", line=PLAIN.spelled()) for _ in range(20)]
            await store.ledger.append(tenant, session, Append(entries=tuple(more)))
        assert await buffers() <= before + 10
    finally:
        await app.close()
