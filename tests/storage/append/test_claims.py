"""Who may write: one holder at a time, fenced, and a few kinds beside it."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from app.entries.errors import ClaimExpired, FenceLost, PendingAction, SessionBusy
from app.entries.ids import TURN, format_id
from app.storage.claim_rows import DeltaCursor, DeltaWrite
from app.storage.types import EVENT_IDS_PER_CLAIM, NEW_TURN, Append, Claim, EventRow, SessionPatch, TurnWrite
from tests.storage.sessions_made import HOLDER, claimed, fetch_as_admin, opened, said, stopped

pytestmark = [pytest.mark.req("X-04", "X-06")]
OTHER = uuid4()


async def test_one_of_many_turns_is_accepted_and_the_rest_learn_which(store, tenant):
    session = await opened(store, tenant)
    results = await asyncio.gather(*[claimed(store, tenant, session) for _ in range(10)], return_exceptions=True)
    refused = [result for result in results if isinstance(result, SessionBusy)]
    assert len(refused) == 9
    turn = await store.turns.get(tenant, session, 1)
    assert {error.turn_id for error in refused} == {format_id(TURN, turn.turn_id)}
    row = await store.sessions.get(tenant, session)
    assert (row.status, row.running_turn, row.turn_count, row.last_turn) == ("busy", 1, 1, 1)


async def test_beside_a_claim_some_may_write_and_the_holder_goes_on(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session)
    with pytest.raises(SessionBusy):
        await store.ledger.append(tenant, session, Append(entries=(said(),)))
    await store.ledger.append(tenant, session, Append(entries=(stopped(1),), beside=True, stop_turn=1))
    assert (await store.claims.watch(HOLDER, [(session, held.fence)])).stopped == {(session, held.fence)}
    assert (await store.ledger.append(tenant, session, Append(entries=(said(turn=1),), fence=held.fence))).last_seq == 3


async def test_a_stop_of_a_turn_that_runs_no_more_writes_nothing(store, tenant):
    session = await opened(store, tenant)
    with pytest.raises(FenceLost):
        await store.ledger.append(tenant, session, Append(entries=(stopped(1),), beside=True, stop_turn=1))
    assert (await store.sessions.get(tenant, session)).head_seq == 0


async def test_a_holder_may_write_after_its_lease_until_another_claims(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session, lease_seconds=0)
    assert (await store.ledger.append(tenant, session, Append(entries=(said(turn=1),), fence=held.fence))).last_seq == 2
    with pytest.raises(ClaimExpired):
        await store.ledger.append(tenant, session, Append(entries=(said(),)))
    taken = await store.ledger.append(tenant, session, Append(takeover_fence=held.fence, claim=Claim(1, OTHER, 30)))
    assert (taken.fence, taken.last_event_n) == (held.fence + 1, EVENT_IDS_PER_CLAIM)
    with pytest.raises(FenceLost):
        await store.ledger.append(tenant, session, Append(entries=(said(turn=1),), fence=held.fence))
    assert (await store.claims.renew(HOLDER, [(session, held.fence)], 30)).lost == {(session, held.fence)}
    refused = await store.deltas.put([DeltaWrite(tenant, session, 1, held.fence, 5, "late")])
    assert refused == {(session, held.fence)}
    assert await store.deltas.read([DeltaCursor(tenant, session, 1)], 10) == []


async def test_a_living_claim_cannot_be_taken_over_and_of_many_who_try_an_expired_one_succeeds(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session)
    take = Append(takeover_fence=held.fence, claim=Claim(1, OTHER, 30))
    with pytest.raises(SessionBusy):
        await store.ledger.append(tenant, session, take)
    await store.claims.renew(HOLDER, [(session, held.fence)], 0)
    results = await asyncio.gather(*[store.ledger.append(tenant, session, take) for _ in range(8)], return_exceptions=True)
    assert sum(isinstance(result, FenceLost) for result in results) == 7


async def test_a_holder_that_ignores_a_stop_for_five_seconds_may_be_taken_over(store, tenant, migrate_url):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session)
    await store.ledger.append(tenant, session, Append(entries=(stopped(1),), beside=True, stop_turn=1))
    take = Append(takeover_fence=held.fence, release=True, turn=TurnWrite(number=1, status="cancelled", settled=True))
    with pytest.raises(SessionBusy):
        await store.ledger.append(tenant, session, take)
    assert await store.claims.expired(10) == []
    await fetch_as_admin(migrate_url, "UPDATE ledger.claims SET stop_requested_at = now() - interval '6 seconds'")
    assert [(claim.session, claim.fence) for claim in await store.claims.expired(10)] == [(session, held.fence)]
    await store.ledger.append(tenant, session, take)
    assert (await store.sessions.get(tenant, session)).status == "idle"
    assert (await store.turns.get(tenant, session, 1)).status == "cancelled"


async def test_a_new_turn_settles_an_expired_one_in_the_same_append(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session, lease_seconds=0)
    done = await claimed(
        store,
        tenant,
        session,
        takeover_fence=held.fence,
        settles=TurnWrite(number=1, status="interrupted", error='{"code":"lease-lost"}', settled=True),
        events=(EventRow(EVENT_IDS_PER_CLAIM + 1, "turn.interrupted", turn=1), EventRow(1, "turn.started")),
    )
    old, new = await store.turns.list(tenant, session, limit=10)
    assert (done.turn_number, done.last_event_n, done.fence) == (2, 0, held.fence + 1)
    assert (old.status, old.error, old.claims, new.status, new.claims) == ("interrupted", '{"code":"lease-lost"}', 2, "running", 1)
    rows = await store.deltas.read([DeltaCursor(tenant, session, 1), DeltaCursor(tenant, session, 2)], 10)
    assert [(row.turn, row.n) for row in rows] == [(1, EVENT_IDS_PER_CLAIM + 1), (2, 1)]


async def test_a_turn_that_waits_releases_its_claim_and_is_taken_up_again_under_a_new_fence(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session)
    waits = Append(fence=held.fence, release=True, session=SessionPatch(pending_turn=1))
    await store.ledger.append(tenant, session, replace(waits, turn=TurnWrite(number=1, status="requires_action", pending="[1]")))
    assert (await store.sessions.get(tenant, session)).status == "pending"
    with pytest.raises(PendingAction) as refused:
        await store.ledger.append(tenant, session, Append(entries=(said(),), refuse_pending=True))
    assert refused.value.turn_id == format_id(TURN, (await store.turns.get(tenant, session, 1)).turn_id)
    again = await store.ledger.append(
        tenant, session, Append(claim=Claim(1, OTHER, 30), session=SessionPatch(clear_pending=True), turn=TurnWrite(number=1, status="running"))
    )
    assert (again.fence, again.last_event_n) == (held.fence + 1, EVENT_IDS_PER_CLAIM)
    assert (await store.sessions.get(tenant, session)).pending_turn is None


async def test_a_claim_that_is_released_at_once_raises_the_fence_and_holds_nothing(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session, release=True)
    row = await store.sessions.get(tenant, session)
    assert (held.fence, row.fence, row.status) == (1, 1, "idle")


async def test_all_claims_of_a_holder_are_renewed_at_once(store, tenant):
    sessions = [await opened(store, tenant) for _ in range(5)]
    held = [(session, (await claimed(store, tenant, session, lease_seconds=0)).fence) for session in sessions]
    assert len(await store.claims.expired(10)) == 5
    assert await store.claims.expired(2) == (await store.claims.expired(10))[:2]
    renewal = await store.claims.renew(HOLDER, [*held, (tenant, 1)], 30)
    assert (renewal.lost, renewal.stopped) == ({(tenant, 1)}, frozenset())
    assert await store.claims.expired(10) == []
    assert (await store.claims.renew(OTHER, held, 30)).lost == set(held)


async def test_an_entry_of_no_turn_cannot_pretend_to_be_of_a_new_one(store, tenant):
    session = await opened(store, tenant)
    with pytest.raises(Exception, match=r"LG005|23514"):
        await store.ledger.append(tenant, session, Append(entries=(said(turn=NEW_TURN),)))
