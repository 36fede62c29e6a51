"""Sequence numbers, counters and heads under many writers."""

import asyncio

import pytest

from app.entries.errors import Conflict, HeadMismatch, NotFound
from app.entries.messages import NewEntry
from app.storage.rows import EntryFilter
from app.storage.types import Append, OpenSession, SessionPatch, committed
from tests.storage.sessions_made import opened, said

WRITERS, EACH = 50, 4


@pytest.mark.req("X-02", "X-04", "X-91")
async def test_fifty_writers_of_one_session_leave_no_gap(store, tenant):
    session = await opened(store, tenant)

    async def write(writer: int) -> list[int]:
        seqs = []
        for number in range(EACH):
            pair = (said(f"{writer} {number}"), NewEntry("turn_settled", '{"status":"completed"}'))
            seqs.append((await store.ledger.append(tenant, session, Append(entries=pair))).first_seq)
        return seqs

    firsts = sorted(seq for seqs in await asyncio.gather(*[write(writer) for writer in range(WRITERS)]) for seq in seqs)
    assert firsts == list(range(1, 2 * WRITERS * EACH, 2))
    entries = await store.ledger.entries(tenant, session, EntryFilter(), 1000)
    assert [entry.seq for entry in entries] == list(range(1, 2 * WRITERS * EACH + 1))
    assert [entry.message_index for entry in entries if entry.message_index is not None] == list(range(WRITERS * EACH))
    row = await store.sessions.get(tenant, session)
    assert (row.head_seq, row.message_count, row.head_digest) == (2 * WRITERS * EACH, WRITERS * EACH, entries[-1].digest)
    assert (await store.ledger.verify(tenant, session)).problems == ()


@pytest.mark.req("X-03", "X-04")
async def test_of_writers_that_saw_one_version_of_the_title_one_sets_it(store, tenant):
    session = await opened(store, tenant)

    async def write(title: str) -> str | None:
        try:
            await store.ledger.append(tenant, session, Append(session=SessionPatch(title=title, bump_meta=True, expected_meta=0), beside=True))
        except HeadMismatch:
            return None
        return title

    kept = [title for title in await asyncio.gather(*[write(f"t{n}") for n in range(5)]) if title is not None]
    row = await store.sessions.get(tenant, session)
    assert ([row.title], row.meta_version) == (kept, 1)


@pytest.mark.req("X-04")
async def test_two_hundred_sessions_in_parallel_lose_no_update(store, tenant):
    sessions = await asyncio.gather(*[opened(store, tenant) for _ in range(200)])
    await asyncio.gather(*[store.ledger.append(tenant, session, Append(entries=(said(),) * 2)) for session in sessions for _ in range(2)])
    rows = await asyncio.gather(*[store.sessions.get(tenant, session) for session in sessions])
    assert {(row.head_seq, row.message_count) for row in rows} == {(4, 4)}


@pytest.mark.req("X-03")
async def test_a_stale_head_is_refused_with_the_head_and_writes_nothing(store, tenant):
    session = await opened(store, tenant, entries=3)
    with pytest.raises(HeadMismatch) as refused:
        await store.ledger.append(tenant, session, Append(entries=(said(),), expected_head=2))
    assert refused.value.head_seq == 3
    assert (await store.ledger.append(tenant, session, Append(entries=(said(),), expected_head=3))).last_seq == 4


@pytest.mark.req("X-03")
async def test_of_writers_that_expect_one_head_one_wins(store, tenant):
    session = await opened(store, tenant, entries=1)
    append = Append(entries=(said(),), expected_head=1)
    results = await asyncio.gather(*[store.ledger.append(tenant, session, append) for _ in range(10)], return_exceptions=True)
    assert sum(isinstance(result, HeadMismatch) for result in results) == 9
    assert (await store.sessions.get(tenant, session)).head_seq == 2


@pytest.mark.req("X-02")
async def test_the_answer_spells_the_entries_as_they_are_read_back(store, tenant):
    session = await opened(store, tenant, entries=1)
    new = (
        said("seen", tokens=3, attributes='{"ui" : "web"}', agent="triage", invocation=2),
        NewEntry("state_changed", '{"session":{"a":1.0}}'),
        said("unseen", hidden=True, include_in_context=False, blobs=("sha256:" + "0" * 64, "sha256:" + "1" * 64)),
    )
    appended = await store.ledger.append(tenant, session, Append(entries=new))
    assert appended.message_indexes == (1, None, 2)
    assert committed(new, appended) == await store.ledger.entries(tenant, session, EntryFilter(after_seq=1), 10)


@pytest.mark.req("X-91")
async def test_an_unknown_session_is_not_found_and_an_open_one_is_not_opened_again(store, tenant):
    session = await opened(store, tenant, user="ann", external_id="e1")
    with pytest.raises(Conflict):
        await store.ledger.append(tenant, session, Append(open=OpenSession()))
    with pytest.raises(Conflict):
        await opened(store, tenant, user="ann", external_id="e1")
    await opened(store, tenant, user="bob", external_id="e1")
    await opened(store, tenant, external_id="e1")
    assert (await store.sessions.find_external(tenant, "ann", "e1")).session_id == session
    with pytest.raises(NotFound):
        await store.ledger.append(tenant, tenant, Append(entries=(said(),)))
