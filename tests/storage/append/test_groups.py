"""Group commit: appends that wait go together, and nothing that happens to one of them happens to another."""

import asyncio
from hashlib import sha256
from uuid import uuid4

import asyncpg
import pytest

from app.entries.errors import ClaimExpired, FenceLost, HeadMismatch, Invalid, NotFound, PendingAction, SessionBusy, Unavailable
from app.storage import groups
from app.storage.append_arguments import APPEND, APPEND_MANY, many_arguments
from app.storage.rows import EntryFilter
from app.storage.store import open_store
from app.storage.types import Append, Appended, NewBlob, SessionPatch, committed
from tests.database.copies import connect
from tests.storage.sessions_made import claimed, opened, said

pytestmark = [pytest.mark.req("X-91")]


@pytest.fixture
def sent(store, monkeypatch):
    """The statements that the store sent, in order."""
    statements = []
    fetch = store._pool.fetch

    async def counted(statement, *arguments):
        statements.append(statement)
        return await fetch(statement, *arguments)

    monkeypatch.setattr(store._pool, "fetch", counted)
    return statements


async def together(store, tenant, appends):
    """All at once; the answers or errors in order."""
    return await asyncio.gather(*[store.ledger.append(tenant, session, append) for session, append in appends], return_exceptions=True)


@pytest.mark.req("X-02", "X-04")
async def test_what_waits_goes_in_one_statement_and_reads_back_as_it_was_answered(store, tenant, sent):
    sessions = [await opened(store, tenant, entries=number % 3) for number in range(20)]
    heads = [number % 3 for number in range(20)]
    rich = said("seen", tokens=3, attributes='{"ui" : "web"}', agent="triage", invocation=2)
    picture = NewBlob("sha256:" + sha256(b"p").hexdigest(), "image/png", b"p")
    unseen = said("unseen", hidden=True, include_in_context=False, blobs=(picture.digest,))
    for session in sessions:
        await store.blobs.put(tenant, session, picture)
    many = [(rich, unseen, said("last"))[: 1 + number % 3] for number in range(20)]
    del sent[:]
    done = await together(store, tenant, [(session, Append(entries=new)) for session, new in zip(sessions, many, strict=True)])
    assert sent == [APPEND_MANY]
    for session, head, new, appended in zip(sessions, heads, many, done, strict=True):
        assert (appended.first_seq, appended.last_seq, appended.message_indexes[0]) == (head + 1, head + len(new), head)
        entries = await store.ledger.entries(tenant, session, EntryFilter(after_seq=head), 10)
        assert committed(new, appended) == entries
        row = await store.sessions.get(tenant, session)
        assert (row.head_seq, row.head_digest, row.message_count) == (appended.last_seq, appended.head_digest, appended.last_seq)
        assert (await store.ledger.verify(tenant, session)).problems == ()


@pytest.mark.req("X-03", "X-04")
async def test_each_is_refused_for_its_own_reason_and_the_others_are_written(store, tenant, sent):
    fine = [await opened(store, tenant, entries=1) for _ in range(3)]
    stale, busy, fenced, waits, nul = [await opened(store, tenant, entries=1) for _ in range(5)]
    ran_out = await opened(store, tenant)
    claim = await claimed(store, tenant, busy)
    await claimed(store, tenant, fenced)
    await claimed(store, tenant, ran_out, lease_seconds=0)
    await store.ledger.append(tenant, waits, Append(session=SessionPatch(pending_turn=1)))
    one = Append(entries=(said(),))
    appends = [
        (fine[0], one),
        (stale, Append(entries=(said(),), expected_head=7)),
        (busy, one),
        (fine[1], Append(entries=(said(),), expected_head=1, refuse_pending=True)),
        (fenced, Append(entries=(said(),), fence=9)),
        (waits, Append(entries=(said(),), refuse_pending=True)),
        (ran_out, one),
        (uuid4(), one),
        (fine[2], Append(entries=(said(),), beside=True)),
    ]
    del sent[:]
    done = await together(store, tenant, appends)
    kinds = [Appended, HeadMismatch, SessionBusy, Appended, FenceLost, PendingAction, ClaimExpired, NotFound, Appended]
    assert [type(answer) for answer in done] == kinds
    assert done[1].head_seq == 1
    assert sent == [APPEND_MANY] + [APPEND] * 6
    answers = await together(
        store, tenant, [(busy, Append(entries=(said(),), fence=claim.fence)), (nul, Append(entries=(said(agent="\0"),))), (fine[0], one)]
    )
    assert [type(answer) for answer in answers] == [Appended, Invalid, Appended]
    for session in (*fine, stale, busy, fenced, waits, ran_out, nul):
        assert (await store.ledger.verify(tenant, session)).problems == ()


async def test_another_writers_lock_holds_up_its_own_session_alone(store, tenant, migrate_url):
    held, *free = [await opened(store, tenant) for _ in range(6)]
    admin = await connect(migrate_url)
    try:
        async with admin.transaction():
            await admin.execute("SELECT FROM ledger.sessions WHERE session_id = $1 FOR NO KEY UPDATE", held)
            appends = {session: asyncio.create_task(store.ledger.append(tenant, session, Append(entries=(said(),)))) for session in (held, *free)}
            again = asyncio.create_task(store.ledger.append(tenant, held, Append(entries=(said(),))))
            await asyncio.wait_for(asyncio.gather(*[appends[session] for session in free]), 3)
            await together(store, tenant, [(session, Append(entries=(said(),))) for session in free])
            assert not appends[held].done()
    finally:
        await admin.close()
    assert (await appends[held]).last_seq == 1
    assert (await again).last_seq == 2


@pytest.mark.req("X-02", "X-04")
async def test_two_processes_write_the_same_sessions(store, tenant, database_url):
    sessions = [await opened(store, tenant) for _ in range(8)]
    other = await open_store(database_url, pool_size=5)
    one = Append(entries=(said(), said()))
    try:
        done = await asyncio.gather(*[each.ledger.append(tenant, session, one) for _ in range(20) for session in sessions for each in (store, other)])
    finally:
        await other.close()
    assert sorted(answer.last_seq for answer in done) == sorted([*range(2, 82, 2)] * 8)
    for session in sessions:
        verified = await store.ledger.verify(tenant, session)
        assert (verified.entries, verified.problems) == (80, ())


@pytest.mark.req("X-02")
async def test_appends_of_one_session_keep_their_order_and_never_share_a_statement(store, tenant):
    first, second = await opened(store, tenant), await opened(store, tenant)
    done = await together(store, tenant, [(session, Append(entries=(said(),))) for _ in range(10) for session in (first, second)])
    assert [answer.last_seq for answer in done] == [number for number in range(1, 11) for _ in range(2)]
    one = Append(entries=(said(), said()))
    row = (await store._pool.fetch(APPEND_MANY, *many_arguments(tenant, [(first, one), (first, one), (second, one)])))[0]
    assert row["last_seqs"] == [12, None, 12]
    assert row["message_indexes"] == [10, 11, None, None, 10, 11]
    assert (await store.ledger.verify(tenant, first)).problems == ()


async def test_a_statement_works_for_one_tenant(store, tenant, sent):
    other = uuid4()
    ours, theirs = [await opened(store, tenant) for _ in range(3)], [await opened(store, other) for _ in range(3)]
    del sent[:]
    one = Append(entries=(said(),))
    done = await asyncio.gather(
        *[store.ledger.append(tenant, session, one) for session in (*ours, theirs[0])],
        *[store.ledger.append(other, session, one) for session in theirs],
        return_exceptions=True,
    )
    assert [type(answer) for answer in done] == [Appended] * 3 + [NotFound] + [Appended] * 3
    assert sorted(sent) == sorted([APPEND_MANY, APPEND_MANY, APPEND])
    await asyncio.sleep(0.01)
    assert store.ledger._groups._lanes == {}


async def test_a_caller_that_goes_takes_nobody_along(store, tenant):
    sessions = [await opened(store, tenant) for _ in range(5)]
    tasks = [asyncio.create_task(store.ledger.append(tenant, session, Append(entries=(said(),)))) for session in sessions]
    await asyncio.sleep(0)
    tasks[0].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(answer) for answer in done] == [asyncio.CancelledError] + [Appended] * 4
    assert await store.ledger.entries(tenant, sessions[0], EntryFilter(), 1) == []  # it had not left yet
    assert (await store.ledger.append(tenant, sessions[0], Append(entries=(said(),)))).last_seq == 1
    await asyncio.sleep(0.01)
    assert store.ledger._groups._lanes == {}


async def test_a_group_whose_outcome_is_unknown_is_not_sent_again(store, tenant, monkeypatch):
    sessions = [await opened(store, tenant) for _ in range(5)]
    sent = []

    async def lost(statement, *arguments):
        sent.append(statement)
        raise Unavailable("The database does not answer; try again shortly.")

    with monkeypatch.context() as patched:
        patched.setattr(store._pool, "fetch", lost)
        done = await together(store, tenant, [(session, Append(entries=(said(),))) for session in sessions])
    assert sent == [APPEND_MANY]
    assert {type(answer) for answer in done} == {Unavailable}
    assert len({id(answer) for answer in done}) == 5
    assert all(isinstance(answer, Appended) for answer in await together(store, tenant, [(one, Append(entries=(said(),))) for one in sessions]))


async def test_waiting_has_limits(store, tenant, monkeypatch):
    sessions = [await opened(store, tenant) for _ in range(4)]
    appends = [(session, Append(entries=(said(),))) for session in sessions]
    monkeypatch.setattr(groups, "APPENDS_WAITING_MAX", 3)
    done = await together(store, tenant, appends)
    assert [type(answer) for answer in done] == [Appended] * 3 + [Unavailable]
    monkeypatch.setattr(groups, "POOL_WAIT_SECONDS_MAX", -1)
    assert {type(answer) for answer in await together(store, tenant, appends[:3])} == {Unavailable}
    await asyncio.sleep(0.01)
    assert store.ledger._groups._lanes == {}


async def test_a_group_holds_as_many_entries_as_one_append(store, tenant, sent, monkeypatch):
    sessions = [await opened(store, tenant) for _ in range(6)]
    del sent[:]
    done = await together(store, tenant, [(session, Append(entries=(said(),) * 100)) for session in sessions])
    assert [answer.last_seq for answer in done] == [100] * 6
    assert sent == [APPEND_MANY] * 3
    monkeypatch.setattr(groups, "APPENDS_PER_GROUP_MAX", 1)
    del sent[:]
    await together(store, tenant, [(session, Append(entries=(said(),))) for session in sessions])
    assert sent == [APPEND] * 6


async def test_a_group_is_one_transaction_and_its_updates_touch_no_index(store, tenant, migrate_url):
    sessions = [await opened(store, tenant) for _ in range(16)]
    admin = await connect(migrate_url)
    writers = "SELECT count(*), count(DISTINCT xmin::text) FROM ledger.entries WHERE tenant_id = $1"
    try:
        await together(store, tenant, [(session, Append(entries=(said(),))) for session in sessions])
        assert tuple(await admin.fetchrow(writers, tenant) or ()) == (16, 1)
        async with admin.transaction():
            await admin.fetch(APPEND_MANY, *many_arguments(tenant, [(session, Append(entries=(said(),))) for session in sessions]))
            updates = await admin.fetchrow("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relid = 'ledger.sessions'::regclass")
    finally:
        await admin.close()
    assert updates is not None
    assert updates["n_tup_upd"] == 16
    assert updates["n_tup_hot_upd"] >= 12


async def test_nobody_but_the_service_may_call_it(migrate_url, tenant):
    admin = await connect(migrate_url)
    try:
        async with admin.transaction():
            await admin.execute("SET LOCAL ROLE ledger_reader")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await admin.fetch(APPEND_MANY, *many_arguments(tenant, [(tenant, Append(entries=(said(),)))]))
    finally:
        await admin.close()
