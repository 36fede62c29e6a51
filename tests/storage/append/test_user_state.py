"""The state that the sessions of a user share: written with an entry, by version, for one tenant."""

import asyncio
from uuid import UUID, uuid4

import pytest

from app.entries.errors import HeadMismatch, LedgerError
from app.entries.messages import NewEntry
from app.storage.states import SharedState
from app.storage.store import Store
from app.storage.types import Append, OpenSession, UserStateWrite
from tests.storage.sessions_made import opened

KIND = "state_changed"


def change(version: int, text: str) -> Append:
    return Append(entries=(NewEntry(KIND, text),), user_state=UserStateWrite(version, text), beside=True)


async def version(store: Store, tenant: UUID) -> int:
    """Of what ann's sessions share."""
    return (await store.states.shared(tenant, "ann")).version


@pytest.mark.req("X-14")
async def test_it_is_written_with_its_entry_and_seen_by_the_users_other_sessions(store, tenant):
    one, other, foreign = [await opened(store, tenant, user=user) for user in ("ann", "ann", "bob")]
    assert await store.states.shared(tenant, "ann") == SharedState()
    odd = '{"user":{"n":1e2,"x":"\\u0000 \\ud83d"}}'
    await store.ledger.append(tenant, one, change(0, odd))
    first = await version(store, tenant)
    assert await store.states.shared(tenant, "ann") == SharedState(first, odd)
    mine, theirs = await store.states.read(tenant, one, KIND), await store.states.read(tenant, other, KIND)
    assert (mine.user, mine.seq, mine.payload, mine.shared) == ("ann", 1, odd, SharedState(first, odd))
    assert (theirs.user, theirs.seq, theirs.payload, theirs.shared) == ("ann", None, None, SharedState(first, odd))
    assert (await store.states.read(tenant, foreign, KIND)).shared == SharedState()
    await store.ledger.append(tenant, other, change(first, "{}"))
    assert await store.states.shared(tenant, "ann") == SharedState(first + 1, "{}")
    assert (await store.states.read(tenant, one, KIND, 0)).seq is None
    assert (await store.ledger.verify(tenant, one)).problems == ()


@pytest.mark.req("X-14", "X-03")
async def test_a_stale_version_is_refused_and_writes_nothing(store, tenant):
    session = await opened(store, tenant, user="ann")
    await store.ledger.append(tenant, session, change(0, '{"n":1}'))
    first = await version(store, tenant)
    for stale in (0, first - 1, first + 1):
        with pytest.raises(HeadMismatch) as refused:
            await store.ledger.append(tenant, session, change(stale, '{"n":2}'))
        assert refused.value.head_seq == 1
        with pytest.raises(HeadMismatch):
            await store.ledger.append(tenant, session, Append(entries=(NewEntry(KIND, "{}"),), user_state=UserStateWrite(stale)))
    assert (await store.sessions.get(tenant, session)).head_seq == 1
    assert (await store.states.shared(tenant, "ann")).state == '{"n":1}'


@pytest.mark.req("X-14")
async def test_what_an_append_only_tells_of_stays_as_it_is(store, tenant):
    session = await opened(store, tenant, user="ann")
    await store.ledger.append(tenant, session, change(0, '{"n":1}'))
    first = await version(store, tenant)
    await store.ledger.append(tenant, session, Append(entries=(NewEntry(KIND, "{}"),), user_state=UserStateWrite(first)))
    assert await store.states.shared(tenant, "ann") == SharedState(first, '{"n":1}')


@pytest.mark.req("X-14")
async def test_a_session_without_a_user_shares_nothing(store, tenant):
    session = await opened(store, tenant)
    with pytest.raises(LedgerError, match="LG005"):
        await store.ledger.append(tenant, session, change(0, "{}"))
    found = await store.states.read(tenant, session, KIND)
    assert (found.user, found.shared) == (None, SharedState())
    assert await store.states.read(tenant, uuid4(), KIND) is None


@pytest.mark.req("X-14", "X-03")
async def test_of_sessions_that_saw_one_version_one_writes_it(store, tenant):
    sessions = await asyncio.gather(*[opened(store, tenant, user="ann") for _ in range(8)])
    for _ in range(2):
        seen = await version(store, tenant)
        done = await asyncio.gather(*[store.ledger.append(tenant, one, change(seen, "{}")) for one in sessions], return_exceptions=True)
        assert sum(isinstance(one, HeadMismatch) for one in done) == len(sessions) - 1
        written = await version(store, tenant)
        assert written == seen + 1 if seen else written > seen


@pytest.mark.req("X-14")
async def test_it_can_be_written_by_the_append_that_opens_a_session(store, tenant):
    session = uuid4()
    await store.ledger.append(tenant, session, Append(open=OpenSession(user="ann"), user_state=UserStateWrite(0, '{"n":1}')))
    assert (await store.states.shared(tenant, "ann")).state == '{"n":1}'


@pytest.mark.req("X-14", "X-87", "X-91")
async def test_another_tenants_user_of_the_same_name_is_another(store, tenant):
    foreign = uuid4()
    session, theirs = await opened(store, tenant, user="ann"), await opened(store, foreign, user="ann")
    await store.ledger.append(tenant, session, change(0, '{"n":1}'))
    assert await store.states.shared(foreign, "ann") == SharedState()
    assert (await store.states.read(foreign, theirs, KIND)).shared == SharedState()
    assert await store.states.read(foreign, session, KIND) is None
    await store.ledger.append(foreign, theirs, change(0, '{"n":2}'))
    assert (await store.states.shared(tenant, "ann")).state == '{"n":1}'
