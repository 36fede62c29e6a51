"""Forks in storage: they share what lies before them, by reference, at any depth."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.entries.errors import Invalid, NotFound
from app.entries.ids import blob_digest
from app.entries.line import PLAIN, Covered, Line, covered, forked, rewound
from app.entries.messages import Entry, NewEntry
from app.storage.rows import EntryFilter
from app.storage.store import Store
from app.storage.types import Append, CallWrite, NewBlob, OpenSession, TurnWrite
from tests.database.copies import connect
from tests.storage.sessions_made import claimed, opened, said

FULL = EntryFilter()


async def forked_off(store: Store, tenant: UUID, parent: UUID, at_seq: int) -> UUID:
    """A fork of `parent` behind `at_seq`."""
    fork = uuid4()
    line = forked(await store.ledger.line_at(tenant, parent, at_seq), at_seq, str(parent))
    entry = NewEntry("session_forked", "{}", line=line.encode())
    opening = OpenSession(parent=parent, parent_seq=at_seq)
    await store.ledger.append(tenant, fork, Append(entries=(entry,), open=opening, expected_head=at_seq))
    return fork


async def all_of(store: Store, tenant: UUID, session: UUID, chosen: EntryFilter = FULL) -> list[Entry]:
    return [entry async for page in store.ledger.pages(tenant, session, chosen, 7) for entry in page]


async def settled_turn(store: Store, tenant: UUID, session: UUID, *texts: str) -> int:
    """A turn that said these texts and is over; its number."""
    held = await claimed(store, tenant, session)
    number = held.turn_number or 0
    ends = TurnWrite(number=number, status="completed", usage='{"input":5}', settled=True)
    entries = (*[said(text, turn=number) for text in texts], NewEntry("turn_settled", "{}", turn=number))
    await store.ledger.append(tenant, session, Append(entries=entries, fence=held.fence, turn=ends, release=True))
    return number


@pytest.mark.req("X-11", "X-13", "S1-14")
async def test_a_fork_holds_what_it_shares_and_goes_on_by_itself(store, tenant):
    parent = await opened(store, tenant, entries=5)
    before = await store.sessions.get(tenant, parent)
    fork = await forked_off(store, tenant, parent, 3)
    await store.ledger.append(tenant, fork, Append(entries=(said("mine"),)))
    await store.ledger.append(tenant, parent, Append(entries=(said("theirs"),)))
    row = await store.sessions.get(tenant, fork)
    assert (row.head_seq, row.message_count, row.parent_session, row.parent_seq) == (5, 4, parent, 3)
    assert (await store.sessions.get(tenant, parent)).line == before.line == PLAIN
    theirs, mine = await all_of(store, tenant, parent), await all_of(store, tenant, fork)
    assert mine[:3] == theirs[:3]
    assert [entry.seq for entry in mine] == [1, 2, 3, 4, 5]
    assert [entry.message_index for entry in mine] == [0, 1, 2, None, 3]
    assert await store.ledger.entry(tenant, fork, 2) == theirs[1]
    window = await store.ledger.window(tenant, fork)
    assert [entry.seq for entry in window.messages] == [1, 2, 3, 5]
    assert (window.history_message_count, window.line) == (4, row.line)
    for session in (parent, fork):
        assert (await store.ledger.verify(tenant, session)).problems == ()
    assert (await store.ledger.verify(tenant, fork)).entries == 5


async def test_a_head_that_is_shared_reads_as_it_did_of_the_parent(store, tenant):
    parent = await opened(store, tenant)
    await store.ledger.append(tenant, parent, Append(entries=(NewEntry("state_changed", '{"n":1}'), said("a"), said("b"))))
    await store.ledger.append(tenant, parent, Append(entries=(NewEntry("rewound", "{}", line=rewound(PLAIN, 2, 4).encode()), said("c"))))
    await store.ledger.append(tenant, parent, Append(entries=(NewEntry("state_changed", '{"n":2}'), NewEntry("model_switched", "{}"))))
    fork = await forked_off(store, tenant, parent, 7)
    again = await forked_off(store, tenant, fork, 8)
    await store.ledger.append(tenant, again, Append(entries=(NewEntry("state_changed", '{"n":3}'),)))
    for child in (fork, again):
        for seq in range(1, 8):
            theirs, ours = await store.ledger.window(tenant, parent, at_seq=seq), await store.ledger.window(tenant, child, at_seq=seq)
            assert (ours.messages, ours.folds, ours.settings) == (theirs.messages, theirs.folds, theirs.settings), seq
            assert (ours.head_seq, ours.history_message_count) == (theirs.head_seq, theirs.history_message_count)
            along = EntryFilter(line=ours.line, at_seq=seq)
            assert await all_of(store, tenant, child, along) == await all_of(store, tenant, parent, EntryFilter(line=theirs.line, at_seq=seq))
            assert await store.ledger.settings(tenant, child, seq) == theirs.settings
            assert await store.states.read(tenant, child, "state_changed", seq) == await store.states.read(tenant, parent, "state_changed", seq)
    window = await store.ledger.window(tenant, again)
    assert {kind: entry.payload for kind, entry in window.settings.items()} == {
        "state_changed": '{"n":3}',
        "model_switched": "{}",
        "session_forked": "{}",
    }
    assert (await store.states.read(tenant, fork, "state_changed")).payload == '{"n":2}'
    assert (await store.states.read(tenant, again, "state_changed")).payload == '{"n":3}'
    for seq, payload in ((1, '{"n":1}'), (6, '{"n":2}'), (9, '{"n":2}')):
        assert (await store.states.read(tenant, again, "state_changed", seq)).payload == payload


@pytest.mark.req("X-11")
async def test_turns_that_are_shared_are_there_and_their_usage_and_calls_stay(store, tenant):
    parent = await opened(store, tenant)
    for number in (1, 2):
        await settled_turn(store, tenant, parent, f"answer {number}")
    call = CallWrite(uuid4(), new=True, turn=2, status="completed", record="{}", usage='{"input":9}')
    await store.ledger.append(tenant, parent, Append(call=call))
    end = (await store.sessions.get(tenant, parent)).head_seq
    fork = await forked_off(store, tenant, parent, end)
    early = await forked_off(store, tenant, fork, 3)
    await settled_turn(store, tenant, parent, "only theirs")
    assert await settled_turn(store, tenant, fork, "third") == 3
    row = await store.sessions.get(tenant, fork)
    assert (row.turn_count, row.last_turn) == (3, 3)
    assert (await store.sessions.get(tenant, early)).last_turn == 1
    assert '"calls" : 0' in row.usage or '"calls":0' in row.usage
    theirs = [await store.turns.get(tenant, parent, number) for number in (1, 2, 3)]
    for after in range(4):
        for limit in (1, 2, 9):
            found = await store.turns.list(tenant, fork, after=after, limit=limit)
            assert [turn.number for turn in found] == [number for number in (1, 2, 3) if number > after][:limit]
            views = await store.turns.views(tenant, fork, after=after, limit=limit)
            assert [view.row for view in views] == found
    shared, own = await store.turns.view(tenant, fork, theirs[1].turn_id), await store.turns.view(tenant, fork, 3)
    assert (shared.row.session, shared.row.usage, shared.calls) == (parent, None, ())
    assert theirs[1].usage is not None
    assert shared.entry_seqs == (4, 5, 6)
    assert (own.row.session, own.entry_seqs, own.row.usage) == (fork, (8, 9, 10), '{"input":5}')
    assert [entry.seq for entry in await store.ledger.turn_entries(tenant, fork, 2)] == [4, 5, 6]
    assert await store.turns.get(tenant, fork, theirs[2].turn_id) is None
    assert [turn.number for turn in await store.turns.list(tenant, early, limit=9)] == [1]
    assert await store.turns.get(tenant, early, 2) is None
    assert await store.calls.list(tenant, fork, limit=9) == []
    assert [turn.number for turn in await store.turns.list(tenant, fork, limit=9, follows=0)] == [1, 2, 3]


@pytest.mark.req("X-11")
async def test_no_fork_begins_inside_a_turn_and_none_waits_for_one(store, tenant):
    parent = await opened(store, tenant, entries=2)
    await settled_turn(store, tenant, parent, "done")
    held = await claimed(store, tenant, parent)
    await store.ledger.append(tenant, parent, Append(entries=(NewEntry("state_changed", "{}"),), beside=True))
    inside = {3, 4, 6, 7}
    for seq in range(1, 8):
        if seq in inside:
            with pytest.raises(Invalid) as refused:
                await forked_off(store, tenant, parent, seq)
            assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/at_seq", "inside-turn")]
        else:
            fork = await forked_off(store, tenant, parent, seq)
            row = await store.sessions.get(tenant, fork)
            assert (row.status, row.head_seq, row.fence) == ("idle", seq + 1, 0)
    for seq in (0, 8):
        with pytest.raises(NotFound):
            await forked_off(store, tenant, parent, seq)
    with pytest.raises(NotFound):
        await forked_off(store, tenant, uuid4(), 1)
    await store.ledger.append(tenant, parent, Append(entries=(said(turn=2),), fence=held.fence))


@pytest.mark.req("X-11")
async def test_a_checkpoint_of_the_past_stands_in_the_fork_too(store, tenant):
    parent = await opened(store, tenant, entries=6)
    line = covered(PLAIN, Covered("chk_1", 7, 4))
    await store.ledger.append(tenant, parent, Append(entries=(NewEntry("checkpoint", '{"n":1}', line=line.encode()), said("after"))))
    child = await forked_off(store, tenant, parent, 8)
    late, early = await forked_off(store, tenant, child, 9), await forked_off(store, tenant, child, 6)
    await store.ledger.append(tenant, late, Append(entries=(said("mine"),)))
    for session, seqs in ((child, [5, 6, 8]), (late, [5, 6, 8, 11]), (early, [1, 2, 3, 4, 5, 6])):
        window = await store.ledger.window(tenant, session)
        assert [entry.seq for entry in window.messages] == seqs
        assert (window.checkpoint is None) is (session == early)
    for session in (child, late):
        window = await store.ledger.window(tenant, session, at_seq=8)
        assert ([entry.seq for entry in window.messages], window.checkpoint.seq) == ([5, 6, 8], 7)
        assert window.line.covered == Covered("chk_1", 7, 4, str(parent))
        whole = await store.ledger.window(tenant, session, line=covered(window.session.line, None))
        assert ([entry.seq for entry in whole.messages][:7], whole.checkpoint) == ([1, 2, 3, 4, 5, 6, 8], None)
    own = covered((await store.sessions.get(tenant, late)).line, Covered("chk_2", 12, 9))
    await store.ledger.append(tenant, late, Append(entries=(NewEntry("checkpoint", '{"n":2}', line=own.encode()),)))
    window = await store.ledger.window(tenant, late)
    assert ([entry.seq for entry in window.messages], window.checkpoint.payload) == ([11], '{"n":2}')
    assert [entry.seq for entry in await all_of(store, tenant, late, EntryFilter(line=own, families=("m",)))] == [1, 2, 3, 4, 5, 6, 8, 11]
    assert (await store.ledger.verify(tenant, late)).problems == ()


async def test_blobs_are_found_through_a_fork_and_of_its_ancestry_alone(store, tenant):
    bodies = [b"grandparent", b"parent", b"own", b"a stranger's"]
    grand = await opened(store, tenant, entries=1)
    parent = await forked_off(store, tenant, grand, 1)
    fork = await forked_off(store, tenant, parent, 2)
    stranger = await opened(store, tenant, entries=1)
    digests = [blob_digest(body) for body in bodies]
    for session, body in zip((grand, parent, fork, stranger), bodies, strict=True):
        await store.blobs.put(tenant, session, NewBlob(blob_digest(body), "text/plain", body))
    held = await store.blobs.load(tenant, fork, digests)
    assert {digest: content for digest, (_, content) in held.items()} == dict(zip(digests[:3], bodies[:3], strict=True))
    assert set(await store.blobs.load(tenant, grand, digests)) == {digests[0]}
    await store.ledger.append(tenant, fork, Append(entries=(said("names it", blobs=(digests[0], digests[1])),)))
    assert (await store.ledger.verify(tenant, fork)).problems == ()
    await store.ledger.append(tenant, fork, Append(entries=(said("names another's", blobs=(digests[3],)),)))
    assert [problem.what for problem in (await store.ledger.verify(tenant, fork)).problems] == ["blob"]


async def test_what_was_changed_above_breaks_every_chain_below(store, tenant, migrate_url):
    parent = await opened(store, tenant, entries=4)
    fork = await forked_off(store, tenant, await forked_off(store, tenant, parent, 3), 4)
    admin = await connect(migrate_url)
    try:
        await admin.execute("SET session_replication_role = replica; UPDATE ledger.entries SET tokens = 99 WHERE seq = 2")
    finally:
        await admin.close()
    for session in (parent, fork):
        assert [(problem.seq, problem.what) for problem in (await store.ledger.verify(tenant, session)).problems] == [(2, "digest")]


@pytest.mark.req("X-11", "X-13")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_a_tree_of_forks_reads_as_its_copies_would(store, tenant, data):
    """Each session is held against a plain list of what it should hold: the parent's as of the seq, and its own."""
    first = await opened(store, tenant, entries=2)
    held: dict[UUID, list[Any]] = {first: await all_of(store, tenant, first)}
    lines: dict[UUID, list[list[int]]] = {first: [[1], [1, 2]]}
    for step in range(data.draw(st.integers(1, 10))):
        session = data.draw(st.sampled_from(list(held)))
        head = len(held[session])
        if data.draw(st.booleans()):
            at = data.draw(st.integers(1, head))
            fork = await forked_off(store, tenant, session, at)
            held[fork] = [*held[session][:at], await store.ledger.entry(tenant, fork, at + 1)]
            lines[fork] = [*lines[session][:at], [*lines[session][at - 1], at + 1]]
            continue
        entry, seqs = said(f"step {step}"), [*lines[session][head - 1], head + 1]
        if data.draw(st.booleans()):
            through = data.draw(st.integers(1, head))
            line: Line = rewound(await store.ledger.line_at(tenant, session, through), through, head + 1)
            entry, seqs = NewEntry("rewound", "{}", line=line.encode()), [*lines[session][through - 1], head + 1]
        await store.ledger.append(tenant, session, Append(entries=(entry,)))
        held[session].append(await store.ledger.entry(tenant, session, head + 1))
        lines[session].append(seqs)
    for session, entries in held.items():
        assert await all_of(store, tenant, session) == entries
        assert await all_of(store, tenant, session, EntryFilter(descending=True)) == entries[::-1]
        assert (await store.ledger.verify(tenant, session)).problems == ()
        row = await store.sessions.get(tenant, session)
        messages = [entry for entry in entries if entry.message_index is not None]
        assert row.message_count == len(messages) == messages[-1].message_index + 1
        for at in range(1, len(entries) + 1):
            window = await store.ledger.window(tenant, session, at_seq=at)
            read = await all_of(store, tenant, session, EntryFilter(line=window.line, at_seq=at))
            assert [entry.seq for entry in read] == lines[session][at - 1]
            assert list(window.messages) == [entry for entry in read if entry.message_index is not None]
            assert window.history_message_count == sum(entry.message_index is not None for entry in entries[:at])
