"""The rows that an append writes beside its entries, all or nothing."""

from hashlib import sha256
from uuid import uuid4

import orjson
import pytest

from app.entries.errors import Invalid, LedgerError
from app.entries.line import rewound
from app.entries.messages import NewEntry
from app.storage.claim_rows import DeltaCursor
from app.storage.rows import EntryFilter
from app.storage.types import Append, CallWrite, EventRow, NewBlob, SessionPatch, TurnWrite
from tests.storage.sessions_made import claimed, opened, said

NASTY = '{"text":"\\u0000 \\ud800","big":123456789012345678901234567890,"one":1.0,"twice":1e2}'


@pytest.mark.req("S2-38", "S0-06", "X-91")
async def test_answer_call_turn_usage_and_events_are_committed_together_or_not_at_all(store, tenant):
    session = await opened(store, tenant)
    held = await claimed(store, tenant, session)
    call = uuid4()
    start = CallWrite(call, new=True, turn=1, status="running", record=NASTY, dispatched=True)
    await store.ledger.append(tenant, session, Append(entries=(NewEntry("model_call_started", NASTY, turn=1),), fence=held.fence, call=start))
    finish = Append(
        entries=(NewEntry("assistant_message", '{"parts":[],"status":"completed"}', turn=1),),
        fence=held.fence,
        call=CallWrite(call, status="completed", usage='{"input":7,"cached":null,"output":2}', attempts="[1]", answer_offset=0),
        turn=TurnWrite(number=1, status="completed", usage="{}", settled=True),
        events=(EventRow(2, "turn.completed"), EventRow(3, "twice")),
        release=True,
    )
    broken = Append(**{name: getattr(finish, name) for name in finish.__slots__} | {"turn": TurnWrite(number=9, status="completed")})
    with pytest.raises(LedgerError):
        await store.ledger.append(tenant, session, broken)
    assert (await store.calls.get(tenant, session, call)).status == "running"
    assert await store.deltas.read([DeltaCursor(tenant, session, 1)], 10) == []
    await store.ledger.append(tenant, session, finish)
    row, kept = await store.sessions.get(tenant, session), await store.calls.get(tenant, session, call)
    turn = await store.turns.get(tenant, session, 1)
    assert (row.dispatched_call, row.dispatched_count, row.status, row.head_seq) == (call, 1, "idle", 3)
    assert orjson.loads(row.usage) == {"input": 7, "cached": 0, "cache_write": 0, "output": 2, "reasoning": 0, "calls": 1}
    assert (kept.status, kept.answer_seq, kept.record, kept.head_seq) == ("completed", 3, NASTY, 1)
    assert (turn.status, turn.input_seq, turn.first_seq, turn.last_seq) == ("completed", 1, 1, 3)
    assert [entry.seq for entry in await store.ledger.turn_entries(tenant, session, 1)] == [1, 2, 3]
    assert [event.n for event in await store.deltas.read([DeltaCursor(tenant, session, 1, 2)], 10)] == [3]


@pytest.mark.parametrize("purpose", ["main", "compaction"])
async def test_the_sessions_totals_are_of_main_calls_and_those_for_summaries_are_counted(store, tenant, purpose):
    session = await opened(store, tenant)
    used = '{"input":7,"output":2}'
    for at_once in (True, False):
        call = CallWrite(uuid4(), new=True, turn=1, purpose=purpose, status="running", record="{}", usage=used if at_once else None)
        await store.ledger.append(tenant, session, Append(call=call))
        if not at_once:
            for status in ("completed", "failed"):
                await store.ledger.append(tenant, session, Append(call=CallWrite(call.call_id, status=status, usage=used)))
    row = await store.sessions.get(tenant, session)
    usage = orjson.loads(row.usage)
    assert row.compaction_count == (2 if purpose == "compaction" else 0)
    assert (usage["input"], usage["output"], usage["calls"]) == ((14, 4, 2) if purpose == "main" else (0, 0, 0))


@pytest.mark.req("S0-06", "X-02")
async def test_json_comes_back_as_it_was(store, tenant):
    session = await opened(store, tenant, metadata=NASTY, model=NASTY, title="title \u2028 \U0001f600")
    await store.ledger.append(tenant, session, Append(entries=(NewEntry("state_changed", NASTY, attributes=NASTY),)))
    entry = (await store.ledger.window(tenant, session)).settings["state_changed"]
    row = await store.sessions.get(tenant, session)
    assert (entry.payload, entry.attributes, row.metadata, row.model, row.title) == (NASTY, NASTY, NASTY, NASTY, "title \u2028 \U0001f600")


@pytest.mark.req("X-86")
async def test_text_that_cannot_be_stored_is_an_invalid_request_and_shows_nowhere(store, tenant):
    session = await opened(store, tenant)
    for title in ("secret \0", "secret \ud800"):
        with pytest.raises(Invalid) as refused:
            await store.ledger.append(tenant, session, Append(session=SessionPatch(title=title)))
        assert "secret" not in repr(refused.value) + repr(refused.value.faults)
        assert refused.value.__context__ is None
    with pytest.raises(LedgerError) as failed:
        await store.ledger.append(tenant, session, Append(entries=(NewEntry("user_message", '{"secret": ]'),)))
    assert "secret" not in repr(failed.value)
    assert failed.value.__context__ is None


async def test_a_patch_changes_what_it_names_and_clears_what_it_says(store, tenant):
    session = await opened(store, tenant, agent="a", agent_revision=1, title="t", model='{"name":"m"}')
    await store.ledger.append(tenant, session, Append(session=SessionPatch(agent_revision=2, agent_follows=False, bump_meta=True, last_turn=0)))
    row = await store.sessions.get(tenant, session)
    assert (row.agent, row.agent_revision, row.agent_follows, row.title, row.meta_version) == ("a", 2, False, "t", 1)
    await store.ledger.append(tenant, session, Append(session=SessionPatch(clear_title=True, clear_model=True, metadata='{"x":1}')))
    row = await store.sessions.get(tenant, session)
    assert (row.title, row.model, row.metadata, row.meta_version) == (None, None, '{"x":1}', 1)


async def test_a_blob_is_stored_once_for_its_session_and_must_be_what_its_digest_says(store, tenant):
    session, other = await opened(store, tenant), await opened(store, tenant)
    body = b"\x00bytes"
    blob = NewBlob("sha256:" + sha256(body).hexdigest(), "image/png", body)
    entry = said(blobs=(blob.digest,))
    for _ in range(2):
        await store.ledger.append(tenant, session, Append(entries=(entry,), blobs=(blob,)))
    assert await store.blobs.load(tenant, session, [blob.digest]) == {blob.digest: ("image/png", body)}
    assert await store.blobs.load(tenant, other, [blob.digest]) == {}
    assert await store.blobs.put(tenant, other, blob)
    assert not await store.blobs.put(tenant, other, blob)
    with pytest.raises(LedgerError):
        await store.ledger.append(tenant, session, Append(entries=(entry,), blobs=(NewBlob(blob.digest, "image/png", b"other"),)))


async def test_an_entry_that_carries_a_line_sets_the_sessions(store, tenant):
    session = await opened(store, tenant, entries=4)
    line = rewound((await store.sessions.get(tenant, session)).line, 2, 5)
    await store.ledger.append(tenant, session, Append(entries=(NewEntry("rewound", "{}", line=line.encode()), said("again"))))
    assert (await store.sessions.get(tenant, session)).line == line
    found = await store.ledger.entries(tenant, session, EntryFilter(line=line), 10)
    assert [entry.seq for entry in found] == [1, 2, 5, 6]
    assert (await store.ledger.verify(tenant, session)).problems == ()
