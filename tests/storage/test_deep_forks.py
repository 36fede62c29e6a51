"""A fork of a fork, fifty deep: what it costs to have it and to read it."""

from statistics import median
from time import perf_counter
from uuid import UUID

import pytest

from app.entries.messages import NewEntry
from app.storage import ledger
from app.storage.types import Append
from tests.database.copies import connect
from tests.storage.sessions_made import fetch_as_admin, opened, said
from tests.storage.test_forks import forked_off

DEPTH = 50
EACH = 4
ROUNDS = 40


async def _rows(url: str) -> dict[str, int]:
    tables = ("sessions", "entries", "turns", "calls", "blobs", "forks", "deltas")
    return {table: (await fetch_as_admin(url, f"SELECT count(*) FROM ledger.{table}"))[0][0] for table in tables}


async def _deep(store, tenant) -> UUID:
    session = await opened(store, tenant, entries=EACH)
    await store.ledger.append(tenant, session, Append(entries=(NewEntry("state_changed", '{"n":1}'),)))
    for depth in range(DEPTH):
        head = (await store.sessions.get(tenant, session)).head_seq
        session = await forked_off(store, tenant, session, head)
        await store.ledger.append(tenant, session, Append(entries=tuple(said(f"{depth} {number} " + "x" * 400) for number in range(EACH))))
    return session


@pytest.mark.req("X-11")
async def test_no_row_is_copied_at_any_depth(store, tenant, migrate_url, monkeypatch):
    deep = await _deep(store, tenant)
    assert await _rows(migrate_url) == {
        "sessions": DEPTH + 1,
        "entries": EACH * (DEPTH + 1) + 1 + DEPTH,
        "turns": 0,
        "calls": 0,
        "blobs": 0,
        "forks": DEPTH,
        "deltas": 0,
    }
    window = await store.ledger.window(tenant, deep)
    assert [message.message_index for message in window.messages] == list(range(EACH * (DEPTH + 1)))
    assert window.settings["state_changed"].payload == '{"n":1}'
    monkeypatch.setattr(ledger, "WINDOW_PAGE_ENTRIES", 7)
    assert await store.ledger.window(tenant, deep) == window
    verified = await store.ledger.verify(tenant, deep)
    assert (verified.problems, verified.entries) == ((), window.head_seq)


@pytest.mark.req("X-11", "X-91")
async def test_its_window_is_read_in_no_more_than_twice_the_time_of_an_unforked_one(store, tenant, migrate_url):
    """Medians of turns about, so that whatever else the machine does weighs on both; the least of three tries, since noise only adds."""
    deep = await _deep(store, tenant)
    plain = await opened(store, tenant, entries=EACH)
    for depth in range(DEPTH):
        await store.ledger.append(tenant, plain, Append(entries=tuple(said(f"{depth} {number} " + "x" * 400) for number in range(EACH))))
    await store.ledger.append(tenant, plain, Append(entries=(NewEntry("state_changed", '{"n":1}'),)))
    admin = await connect(migrate_url)
    try:
        await admin.execute("VACUUM ANALYZE ledger.entries, ledger.sessions, ledger.forks")
    finally:
        await admin.close()
    ratios = []
    for _ in range(3):
        times: dict[UUID, list[float]] = {deep: [], plain: []}
        for _ in range(ROUNDS):
            for session, taken in times.items():
                start = perf_counter()
                window = await store.ledger.window(tenant, session)
                taken.append(perf_counter() - start)
                assert len(window.messages) == EACH * (DEPTH + 1)
        ratios.append(median(times[deep]) / median(times[plain]))
        if ratios[-1] <= 2:
            break
    assert min(ratios) <= 2, ratios
