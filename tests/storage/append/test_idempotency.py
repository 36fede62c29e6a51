"""Keys: the same request again is answered as the first time, another one under the key is refused."""

import asyncio
from hashlib import sha256
from uuid import uuid4

import pytest

from app.entries.errors import HeadMismatch, KeyReused
from app.storage.types import NEW_TURN, Append, Claim, IdempotencyWrite, OpenSession, TurnWrite
from tests.storage.sessions_made import HOLDER, opened, said

pytestmark = [pytest.mark.req("X-05")]


def keyed(body: bytes = b"one", key: str = "k1", **fields) -> IdempotencyWrite:
    return IdempotencyWrite("POST /sessions/x/entries", key, sha256(body).digest(), 201, **fields)


async def test_sixteen_replays_at_once_make_one_append(store, tenant):
    session = await opened(store, tenant)
    append = Append(entries=(said(),), idempotency=keyed(body=b"one"))
    done = await asyncio.gather(*[store.ledger.append(tenant, session, append) for _ in range(16)])
    assert sum(not answer.replayed for answer in done) == 1
    assert (await store.sessions.get(tenant, session)).head_seq == 1


async def test_a_replay_gives_what_was_kept_and_the_turn_to_attach_to(store, tenant):
    session = await opened(store, tenant)
    turn = TurnWrite(new=True, turn_id=uuid4(), status="running", input_offset=0)
    write = IdempotencyWrite("r", "k", sha256(b"").digest(), 200, '{"a":"\\u0000"}', NEW_TURN, session)
    append = Append(entries=(said(turn=NEW_TURN),), turn=turn, claim=Claim(NEW_TURN, HOLDER, 30), idempotency=write)
    first = await store.ledger.append(tenant, session, append)
    again = await store.ledger.append(tenant, session, append)
    assert (first.turn_number, again.turn_number, again.replayed) == (1, 1, True)
    assert (again.stored.status, again.stored.body, again.stored.turn, again.stored.session) == (200, '{"a":"\\u0000"}', 1, session)


async def test_another_request_under_the_key_is_refused(store, tenant):
    session = await opened(store, tenant)
    await store.ledger.append(tenant, session, Append(entries=(said(),), idempotency=keyed(b"one")))
    with pytest.raises(KeyReused):
        await store.ledger.append(tenant, session, Append(entries=(said(),), idempotency=keyed(b"two")))
    with pytest.raises(KeyReused):
        await store.idempotency.find(tenant, keyed().route, "k1", keyed(b"two").request_digest)
    assert await store.idempotency.find(tenant, keyed().route, "k1", keyed(b"one").request_digest) is not None
    await store.ledger.append(tenant, session, Append(entries=(said(),), idempotency=keyed(b"two", key="k2")))
    assert (await store.sessions.get(tenant, session)).head_seq == 2


async def test_a_refused_request_does_not_consume_its_key(store, tenant):
    session = await opened(store, tenant)
    with pytest.raises(HeadMismatch):
        await store.ledger.append(tenant, session, Append(entries=(said(),), expected_head=9, idempotency=keyed()))
    assert await store.idempotency.find(tenant, keyed().route, "k1", keyed().request_digest) is None
    assert not (await store.ledger.append(tenant, session, Append(entries=(said(),), idempotency=keyed()))).replayed


async def test_two_openings_under_one_key_open_one_session(store, tenant):
    appends = [(uuid4(), Append(open=OpenSession(), idempotency=keyed())) for _ in range(8)]
    done = await asyncio.gather(*[store.ledger.append(tenant, session, append) for session, append in appends])
    assert sum(not answer.replayed for answer in done) == 1
    assert sum([await store.sessions.get(tenant, session) is not None for session, _ in appends]) == 1


async def test_answers_of_requests_that_append_nothing_are_kept_too_and_purged_by_age(store, tenant):
    assert await store.idempotency.remember(tenant, keyed()) is None
    assert (await store.idempotency.remember(tenant, keyed())).status == 201
    with pytest.raises(KeyReused):
        await store.idempotency.remember(tenant, keyed(b"two"))
    assert await store.idempotency.purge(3600, 10) == 0
    assert await store.idempotency.purge(0, 10) == 1
    assert await store.idempotency.remember(tenant, keyed(b"two")) is None


async def test_a_key_that_is_purged_while_it_is_used_is_new_or_known(store, tenant):
    purges = 0

    async def used() -> None:
        for _ in range(1000):
            kept = await store.idempotency.remember(tenant, keyed())
            assert kept is None or (kept.status, kept.request_digest) == (201, keyed().request_digest)

    async def purged() -> None:
        nonlocal purges
        while True:
            purges += await store.idempotency.purge(0, 10)

    purging = [asyncio.create_task(purged()) for _ in range(2)]
    await asyncio.gather(*[used() for _ in range(3)])
    for task in purging:
        task.cancel()
    assert purges > 100
