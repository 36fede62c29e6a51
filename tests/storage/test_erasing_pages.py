"""An erasure goes on in steps of a bounded size, whatever the session holds much of; what was begun is ended by as many as it takes."""

from collections import Counter

import pytest

from app.entries.errors import HeadMismatch
from app.entries.ids import blob_digest
from app.storage.types import NewBlob
from tests.storage.sessions_made import fetch_as_admin, opened
from tests.storage.test_upgrade import turn

LEFT = {
    "entries": "erased_at IS NULL",
    "blobs": "erased_at IS NULL",
    "turns": "usage IS NOT NULL",
    "calls": "record::text <> '{}' OR attempts IS NOT NULL",
}
"""Rows that still hold something."""

pytestmark = pytest.mark.req("X-11", "X-91")


def blob(number: int, size: int = 10) -> NewBlob:
    body = number.to_bytes(4) * (size // 4)
    return NewBlob(blob_digest(body), "image/png", body)


async def left(url, session) -> Counter[str]:
    counts = [f"(SELECT count(*) FROM ledger.{table} WHERE session_id = $1 AND ({holds}))" for table, holds in LEFT.items()]
    (row,) = await fetch_as_admin(url, f"SELECT {', '.join(counts)}", session)
    return Counter(dict(zip(LEFT, row, strict=True)))


async def steps(store, tenant, session, url, limit: int) -> list[Counter[str]]:
    """What each step of an erasure emptied, its beginning first; the counts of the receipt are those of what was there."""
    before = await left(url, session)
    begun = await store.erasures.begin(tenant, session, None, 1)
    told, found, held = Counter(begun.counts), [], before
    after: int | None = 0
    while after is not None:
        now = await left(url, session)
        found.append(held - now)
        held = now
        step = await store.erasures.empty(tenant, session, after, limit, "checkpoint")
        after = step.last_seq
        told.update(step.counts)
    assert await left(url, session) == Counter(dict.fromkeys(LEFT, 0))
    assert {table: told[table] for table in LEFT} == dict(before)
    return [*found, held]


async def test_no_step_empties_more_than_it_may(store, tenant, migrate_url):
    session = await opened(store, tenant)
    for number in range(7):
        await store.ledger.append(tenant, session, turn(number))
        await store.blobs.put(tenant, session, blob(number))
    found = await steps(store, tenant, session, migrate_url, 3)
    assert all(count <= 3 for one in found for count in one.values()), found
    assert await store.erasures.begun(0.0, 10) == []


async def test_large_blobs_are_emptied_a_few_at_a_time(store, tenant, migrate_url):
    session = await opened(store, tenant)
    for number in range(4):
        await store.blobs.put(tenant, session, blob(number, 12 * 2**20))
    found = await steps(store, tenant, session, migrate_url, 1_000)
    assert [one["blobs"] for one in found if one["blobs"]] == [2, 2]


async def test_a_small_session_takes_a_step_for_its_entries_and_one_for_the_rest(store, tenant, migrate_url):
    session = await opened(store, tenant)
    await store.ledger.append(tenant, session, turn(1))
    await store.blobs.put(tenant, session, blob(1))
    assert len(await steps(store, tenant, session, migrate_url, 1_000)) == 3


async def test_an_erasure_of_another_head_takes_nothing_and_one_that_has_begun_goes_on_at_any(store, tenant, migrate_url):
    session = await opened(store, tenant, entries=2)
    before = await left(migrate_url, session)
    for head in (1, 3):
        with pytest.raises(HeadMismatch) as refused:
            await store.erasures.begin(tenant, session, None, 1, head)
        assert refused.value.head_seq == 2
    assert (await left(migrate_url, session), (await store.sessions.get(tenant, session)).head_seq) == (before, 2)
    assert (await store.erasures.begin(tenant, session, None, 1, 2)).sessions == (session,)
    assert (await store.erasures.begin(tenant, session, None, 1, 1)).sessions == (session,)
