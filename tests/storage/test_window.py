"""The window: what it holds, as of any head, and what it costs."""

import re
from uuid import UUID

import pytest

from app.entries.errors import Conflict
from app.entries.line import PLAIN, Covered, Line, cleared, covered, rewound
from app.entries.messages import NewEntry
from app.storage import ledger
from app.storage.rows import EntryFilter
from app.storage.types import Append
from tests.database.copies import connect
from tests.services.test_mismatches import ERASED, tampered
from tests.storage.sessions_made import opened, said

WINDOW = 200


async def test_it_holds_messages_folds_and_the_latest_settings_and_no_trace(store, tenant):
    session = await opened(store, tenant, entries=2)
    line = rewound(PLAIN, 1, 5)
    more = (
        NewEntry("state_changed", '{"n":1}'),
        NewEntry("model_call_started", "{}"),
        NewEntry("rewound", "{}", line=line.encode()),
        NewEntry("state_changed", '{"n":2}'),
        said("after"),
        NewEntry("turn_settled", "{}"),
    )
    await store.ledger.append(tenant, session, Append(entries=more))
    now = await store.ledger.window(tenant, session)
    assert [entry.seq for entry in now.messages] == [1, 7]
    assert [entry.kind for entry in now.folds] == ["rewound"]
    assert {kind: entry.payload for kind, entry in now.settings.items()} == {"state_changed": '{"n":2}'}
    assert (now.head_seq, now.history_message_count, now.line) == (8, 3, line)
    then = await store.ledger.window(tenant, session, at_seq=4)
    assert [entry.seq for entry in then.messages] == [1, 2]
    assert (then.head_seq, then.history_message_count, then.line, then.folds) == (4, 2, PLAIN, ())
    assert then.settings["state_changed"].payload == '{"n":1}'
    assert then.session.head_seq == 8
    assert (await store.ledger.window(tenant, session, at_seq=99)).head_seq == 8
    assert await store.ledger.line_at(tenant, session, 4) == PLAIN
    assert await store.ledger.line_at(tenant, session, 5) == line


@pytest.mark.req("S0-06")
async def test_a_long_window_is_read_to_its_head_in_pages_or_refused_whole(store, tenant, monkeypatch):
    session = await opened(store, tenant)
    for _ in range(3):
        await store.ledger.append(tenant, session, Append(entries=tuple(said(str(number)) for number in range(250))))
    for page in (100, 250, 750, 751):
        monkeypatch.setattr(ledger, "WINDOW_PAGE_ENTRIES", page)
        assert [entry.seq for entry in (await store.ledger.window(tenant, session)).messages] == list(range(1, 751))
    monkeypatch.setattr(ledger, "WINDOW_PAGE_ENTRIES", 100)
    monkeypatch.setattr(ledger, "WINDOW_MESSAGES_MAX", 300)
    with pytest.raises(Conflict) as refused:
        await store.ledger.window(tenant, session)
    assert refused.value.code == "window-too-large"


async def _covered(store, tenant) -> tuple[UUID, Line]:
    """Entries 1 … 6 said, the checkpoint 7 that stands for 1 … 4, and 8."""
    session = await opened(store, tenant, entries=6)
    line = covered(PLAIN, Covered("chk_1", 7, 4))
    more = (NewEntry("checkpoint", '{"n":1}', line=line.encode()), said("after"))
    await store.ledger.append(tenant, session, Append(entries=more))
    return session, line


async def test_it_begins_behind_what_a_checkpoint_covers_and_names_its_entry(store, tenant, monkeypatch):
    session, line = await _covered(store, tenant)
    for page in (1, 2, 1000):
        monkeypatch.setattr(ledger, "WINDOW_PAGE_ENTRIES", page)
        now = await store.ledger.window(tenant, session)
        assert [entry.seq for entry in now.messages] == [5, 6, 8]
        assert (now.line, now.history_message_count, now.checkpoint.payload) == (line, 7, '{"n":1}')
        assert [entry.kind for entry in now.folds] == ["checkpoint"]
        then = await store.ledger.window(tenant, session, at_seq=6)
        assert ([entry.seq for entry in then.messages], then.line, then.checkpoint) == ([1, 2, 3, 4, 5, 6], PLAIN, None)
    for chosen in (EntryFilter(), EntryFilter(line=line), EntryFilter(line=line, families=("m", "f"))):
        assert [entry.seq for entry in await store.ledger.entries(tenant, session, chosen, 100)] == list(range(1, 9)), "what a person saw"
    assert (await store.ledger.verify(tenant, session)).problems == ()


async def test_another_line_may_be_read_instead(store, tenant, monkeypatch):
    session, line = await _covered(store, tenant)
    other = covered(rewound(line, 6, 99), Covered("chk_1", 7, 5))
    expected = {PLAIN: [1, 2, 3, 4, 5, 6, 8], line: [5, 6, 8], other: [6], cleared(8): [8]}
    for page in (1, 2, 1000):
        monkeypatch.setattr(ledger, "WINDOW_PAGE_ENTRIES", page)
        for instead, seqs in expected.items():
            window = await store.ledger.window(tenant, session, line=instead)
            assert ([entry.seq for entry in window.messages], window.line) == (seqs, instead)
            assert (window.checkpoint is None) is (instead.covered is None)
            assert window.session.line == line
        before = await store.ledger.window(tenant, session, at_seq=6, line=line)
        assert [entry.seq for entry in before.messages] == [5, 6]


async def test_what_an_erased_checkpoint_stood_for_is_read_again_as_of_the_same_head(store, tenant, migrate_url, monkeypatch):
    session, _ = await _covered(store, tenant)
    await tampered(migrate_url, f"UPDATE ledger.entries SET {ERASED} WHERE seq = 7")
    fetch = store.ledger._pool.fetch
    read: list[object] = []

    async def cleared_behind_the_first(statement, *arguments):
        rows = await fetch(statement, *arguments)
        if "window" in statement and not read:
            read.append(arguments)
            await store.ledger.append(tenant, session, Append(entries=(NewEntry("cleared", "{}", line=cleared(9).encode()), said("anew"))))
        return rows

    monkeypatch.setattr(store.ledger._pool, "fetch", cleared_behind_the_first)
    window = await store.ledger.window(tenant, session)
    assert ([entry.seq for entry in window.messages], window.head_seq, window.line, window.checkpoint) == ([1, 2, 3, 4, 5, 6, 8], 8, PLAIN, None)


async def _cost(app, tenant, session, at_seq=None) -> tuple[int, int]:
    """Buffers that the window's statement touches, and sequential scans of entries that it makes."""
    window = "ledger.window_v2($1, $2, $3, NULL, ARRAY['state_changed', 'session_opened'], 1000, NULL)"
    statement = f"EXPLAIN (ANALYZE, BUFFERS, TIMING off) SELECT * FROM {window}"
    scans = "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'ledger.entries'::regclass"
    plan, scanned = "", 0
    for _ in range(8):  # until catalogue and generic plans are in this backend's memory
        async with app.transaction():
            before = await app.fetchval(scans)
            plan = "\n".join(row[0] for row in await app.fetch(statement, tenant, session, at_seq))
            scanned = await app.fetchval(scans) - before
    top = plan.split("Planning")[0]
    return sum(int(number) for number in re.findall(r"(?:hit|read)=(\d+)", top.split("\n", 2)[1])), scanned


@pytest.mark.req("X-91")
async def test_its_cost_is_the_windows_and_not_the_historys(store, tenant, migrate_url, database_url):
    admin, app = await connect(migrate_url), await connect(database_url)
    sessions: dict[int, UUID] = {}
    costs: dict[object, tuple[int, int]] = {}
    try:
        for history in (100, 100_000):
            session = sessions[history] = await opened(store, tenant)
            await _fill(admin, tenant, session, history)
            line = rewound(PLAIN, 0, history + 1)
            window = (NewEntry("cleared", "{}", line=line.encode()), *[said("x" * 400) for _ in range(WINDOW)])
            await store.ledger.append(tenant, session, Append(entries=window))
            assert len((await store.ledger.window(tenant, session)).messages) == WINDOW
        await admin.execute("REINDEX TABLE ledger.entries")  # where the ids of the two sessions happen to split pages is chance
        await admin.execute("VACUUM ANALYZE ledger.entries, ledger.sessions")
        for history, session in sessions.items():
            costs[history] = await _cost(app, tenant, session)
            costs["then", history] = await _cost(app, tenant, session, at_seq=history + WINDOW)
    finally:
        await app.close()
        await admin.close()
    for small, large in ((costs[100], costs[100_000]), (costs["then", 100], costs["then", 100_000])):
        assert small[1] == large[1] == 0
        assert abs(large[0] - small[0]) <= 0.2 * small[0], costs


async def _fill(admin, tenant, session, entries: int) -> None:
    """Many entries at once, as a superuser may; their digests are not what this test is about."""
    await admin.execute(
        "INSERT INTO ledger.entries (tenant_id, session_id, seq, message_index, recorded_at, salt, invocation, tokens, version, hidden,"
        " include_in_context, payload_digest, digest, family, kind, payload)"
        f" SELECT '{tenant}', '{session}', n, n - 1, now(), sha256(n::text::bytea), 0, 1, 1, false, true, sha256(''), sha256(''), 'm',"
        f" 'user_message', '{{\"parts\":[]}}' FROM generate_series(1, {entries}) n"
    )
    await admin.execute(f"UPDATE ledger.sessions SET head_seq = {entries}, message_count = {entries} WHERE session_id = '{session}'")
