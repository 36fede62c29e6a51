"""Raw reads, lists, agents, keys and the delta log."""

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

import pytest

from app.entries.line import PLAIN, rewound
from app.entries.messages import NewEntry
from app.storage.claim_rows import DeltaCursor, DeltaWrite
from app.storage.rows import EntryFilter, SessionCursor, SessionFilter
from app.storage.types import Append, SessionPatch, TurnWrite
from tests.storage.sessions_made import claimed, fetch_as_admin, opened, said

pytestmark = [pytest.mark.req("X-91")]


@pytest.mark.req("S1-16")
async def test_entries_are_filtered_bounded_and_ordered(store, tenant):
    session = await opened(store, tenant, entries=3)
    line = rewound(PLAIN, 2, 4)
    flagged = said("h", hidden=True), said("out", include_in_context=False)
    more = (NewEntry("rewound", "{}", line=line.encode()), *flagged, NewEntry("interruption", "{}"))
    await store.ledger.append(tenant, session, Append(entries=more))

    async def seqs(limit=100, **chosen):
        return [entry.seq for entry in await store.ledger.entries(tenant, session, EntryFilter(**chosen), limit)]

    assert await seqs() == [1, 2, 3, 4, 5, 6, 7]
    assert await seqs(line=line) == [1, 2, 4, 5, 6, 7]
    assert await seqs(line=line, descending=True, limit=3) == [7, 6, 5]
    assert await seqs(line=line, hidden=False, families=("m",)) == [1, 2, 6]
    assert await seqs(kinds=("rewound", "interruption")) == [4, 7]
    assert await seqs(after_seq=2, before_seq=6) == [3, 4, 5]
    assert await seqs(at_seq=3, descending=True) == [3, 2, 1]
    pages = [[entry.seq for entry in page] async for page in store.ledger.pages(tenant, session, EntryFilter(line=line), 2)]
    assert pages == [[1, 2], [4, 5], [6, 7]]
    pages = [[entry.seq for entry in page] async for page in store.ledger.pages(tenant, session, EntryFilter(descending=True), 5)]
    assert pages == [[7, 6, 5, 4, 3], [2, 1]]
    assert (await store.ledger.entry(tenant, session, 3)).seq == 3
    assert await store.ledger.entry(tenant, session, 8) is None


async def test_settings_are_found_among_what_was_said_as_by_any_other_reading(store, tenant):
    session = await opened(store, tenant, entries=2)
    line = rewound(PLAIN, 4, 8)
    more = [NewEntry(kind, "{}", hidden=hidden) for kind in ("state_changed", "agent_adopted") for hidden in (False, True)]
    await store.ledger.append(tenant, session, Append(entries=(*more, said(), NewEntry("rewound", "{}", line=line.encode()), *more)))
    every = await store.ledger.entries(tenant, session, EntryFilter(), 100)
    for kinds in (("state_changed",), ("agent_adopted", "state_changed", "state_changed"), ("session_opened",), ("rewound", "agent_adopted"), ()):
        for chosen in (
            EntryFilter(kinds=kinds),
            EntryFilter(kinds=kinds, hidden=False),
            EntryFilter(kinds=kinds, line=line),
            EntryFilter(kinds=kinds, after_seq=3, before_seq=10),
            EntryFilter(kinds=kinds, at_seq=9, line=line),
        ):
            fit = [
                entry
                for entry in every
                if entry.kind in kinds
                and (chosen.hidden or not entry.hidden)
                and (chosen.line is None or chosen.line.holds(entry.seq))
                and chosen.after_seq < entry.seq < (chosen.before_seq or 99)
                and entry.seq <= (chosen.at_seq or 99)
            ]
            for limit in (1, 3, 100):
                assert await store.ledger.entries(tenant, session, chosen, limit) == fit[:limit]
                assert await store.ledger.entries(tenant, session, replace(chosen, descending=True), limit) == fit[::-1][:limit]


@pytest.mark.req("X-10")
async def test_sessions_are_listed_by_activity_with_filters_and_a_cursor(store, tenant):
    ids = [await opened(store, tenant, agent="a" if n % 2 else "b", user=f"u{n % 3}", metadata=f'{{"n":"{n}","x":1}}') for n in range(6)]
    await store.ledger.append(tenant, ids[0], Append(entries=(said(),)))
    await claimed(store, tenant, ids[1])
    await store.ledger.append(tenant, ids[2], Append(session=SessionPatch(pending_turn=1)))
    order = [ids[2], ids[1], ids[0], ids[5], ids[4], ids[3]]

    async def listed(after=None, limit=10, **chosen):
        return [row.session_id for row in await store.sessions.list(tenant, SessionFilter(**chosen), after, limit)]

    assert await listed() == order
    rows = await store.sessions.list(tenant, SessionFilter(), None, 2)
    assert await listed(SessionCursor(rows[-1].active_at, rows[-1].session_id)) == order[2:]
    assert await listed(agent="a", user="u1") == [ids[1]]
    assert [await listed(status=status) for status in ("busy", "pending")] == [[ids[1]], [ids[2]]]
    assert await listed(status="idle", limit=2) == [ids[0], ids[5]]
    assert await listed(metadata=(("n", "4"), ("x", "1"))) == [ids[4]]
    assert await listed(metadata=(("missing", "4"),)) == []
    await opened(store, tenant, metadata='{"n":"4","bad":"\\u0000"}')
    assert await listed(metadata=(("n", "4"),)) == [ids[4]]


async def test_turns_are_found_by_number_id_and_what_they_follow(store, tenant):
    session = await opened(store, tenant)
    for number, follows in ((1, 0), (2, 1), (3, 1)):
        write = TurnWrite(new=True, turn_id=uuid4(), status="completed", follows=follows, options="{}", settled=True)
        assert (await store.ledger.append(tenant, session, Append(entries=(said(turn=-1),), turn=write))).turn_number == number
    turn = await store.turns.get(tenant, session, 2)
    assert await store.turns.get(tenant, session, turn.turn_id) == turn
    assert (turn.follows, turn.first_seq, turn.last_seq) == (1, 2, 2)
    assert [row.number for row in await store.turns.list(tenant, session, follows=1, limit=9)] == [2, 3]
    assert [row.number for row in await store.turns.list(tenant, session, after=1, limit=1)] == [2]


async def test_an_agents_revisions_are_made_by_difference_from_the_newest(store, tenant):
    documents = ['{"a":1}', '{"a":2}', '{"a":2}', '{"a":1}']
    made = [await store.agents.put(tenant, "triage", text, "{}", sha256(text.encode()).digest()) for text in documents]
    assert [(row.revision, created) for row, created in made] == [(1, True), (2, True), (2, False), (3, True)]
    await store.agents.put(tenant, "zeta", "{}", "{}", bytes(32))
    assert (await store.agents.get(tenant, "triage", 1)).document == '{"a":1}'
    assert [(row.name, row.revision) for row in await store.agents.list(tenant, limit=9)] == [("triage", 3), ("zeta", 1)]
    assert [row.name for row in await store.agents.list(tenant, after="triage", limit=9)] == ["zeta"]
    assert [row.revision for row in await store.agents.revisions(tenant, "triage", after=1, limit=9)] == [2, 3]
    assert await store.agents.get(tenant, "triage", 4) is None


@pytest.mark.req("X-88")
async def test_a_key_is_found_by_its_digest_until_it_is_revoked(store, tenant):
    digest = sha256(uuid4().bytes).digest()
    key = await store.keys.create(tenant, uuid4(), "ci", digest, ("admin", "sessions:read"))
    assert await store.keys.create(tenant, uuid4(), "again", digest, ()) == key
    assert await store.keys.find(digest) == key
    assert await store.keys.list(tenant, limit=9) == [key]
    assert not await store.keys.revoke(uuid4(), key.key_id)
    assert await store.keys.revoke(tenant, key.key_id)
    assert await store.keys.find(digest) is None
    revoked = (await store.keys.list(None, limit=9))[0].revoked_at
    assert await store.keys.revoke(None, key.key_id)
    assert (await store.keys.list(tenant, limit=9))[0].revoked_at == revoked < datetime.now(UTC)


async def test_the_delta_log_takes_many_turns_at_once_and_keeps_what_runs(store, tenant):
    other = uuid4()
    first, second = await opened(store, tenant), await opened(store, other)
    await claimed(store, tenant, first)
    await claimed(store, other, second)
    rows = [DeltaWrite(tenant, first, 1, 1, n, f"a{n}") for n in (2, 1, 3)] + [DeltaWrite(other, second, 1, 1, 1, "b1")]
    stale = DeltaWrite(other, second, 1, 9, 2, "stale")
    assert await store.deltas.put([*rows, stale]) == {(second, 9)}
    assert await store.deltas.put(rows) == frozenset()
    cursors = [DeltaCursor(other, second, 1), DeltaCursor(tenant, first, 1, after=1)]
    assert [row.body for row in await store.deltas.read(cursors, 10)] == ["b1", "a2", "a3"]
    assert [row.body for row in await store.deltas.read(cursors, 1)] == ["b1", "a2"]
    assert await store.deltas.bounds(tenant, first, 1) == (1, 3)
    await store.ledger.append(other, second, Append(fence=1, release=True))
    assert await store.deltas.purge(0, 100) == 1
    assert await store.deltas.bounds(other, second, 1) is None
    assert await store.deltas.bounds(tenant, first, 1) == (1, 3)


async def test_events_are_purged_by_whole_turns_once_their_last_one_is_old(store, tenant, migrate_url):
    sessions = [await opened(store, tenant) for _ in range(4)]
    for session in sessions:
        await claimed(store, tenant, session)
    await store.deltas.put([DeltaWrite(tenant, session, 1, 1, n, "x") for session in sessions for n in (1, 2, 3, 4)])
    _runs, fresh, *old = sessions
    for session in (fresh, *old):
        await store.ledger.append(tenant, session, Append(fence=1, release=True))
    await fetch_as_admin(migrate_url, "UPDATE ledger.deltas SET created_at = created_at - interval '1 hour' WHERE session_id <> $1 OR n < 4", fresh)

    async def left() -> list[int]:
        rows = await fetch_as_admin(migrate_url, "SELECT session_id FROM ledger.deltas")
        return [sum(row["session_id"] == session for row in rows) for session in sessions]

    assert await store.deltas.purge(1800, 1) == 4
    assert sorted(await left()) == [0, 4, 4, 4]
    assert await store.deltas.purge(1800, 5) == 4
    assert await left() == [4, 4, 0, 0]
    assert await store.deltas.purge(1800, 100) == 0
    assert await store.deltas.purge(0, 100) == 4
    assert await left() == [4, 0, 0, 0]
