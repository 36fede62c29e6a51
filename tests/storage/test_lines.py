"""Lines that the database spells are those that `entries.wire` spells."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.entries.line import PLAIN, rewound
from app.entries.messages import Entry, NewEntry
from app.entries.wire import entry_json
from app.storage import ledger
from app.storage.rows import EntryFilter
from app.storage.types import Append
from tests.database.copies import connect
from tests.storage.sessions_made import opened, said

AGENTS = ("a", "A.b-c_9", 'quo"te\\back/slash', "\b\f\n\r\t\x01\x1f\x7f\x80", "\u2028\u2029 é 👩\u200d👧 \ufeff", "")
TIMES = (
    datetime(2024, 2, 29, 23, 59, 59, 999999, UTC),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(1969, 7, 20, 20, 17, 40, 120, UTC),
)
PAYLOADS = ('{"parts":[]}', '{ "parts" : [ 1e2 , -0.0, 18446744073709551617 ],\t"a":"\\ud800\\u0000"}', "[\n]", '"é\U0001f469"', "null")


@pytest.mark.req("S1-11")
async def test_each_field_is_spelled_alike(store, tenant):
    session = await opened(store, tenant)
    odd = [NewEntry("user_message", '{"parts":[]}', agent=agent, at=at) for agent in AGENTS for at in TIMES]
    odd += [NewEntry("state_changed", payload, invocation=7, hidden=True, attributes=payload) for payload in PAYLOADS]
    odd += [NewEntry("tool_result", PAYLOADS[1], tokens=2**31 - 1, include_in_context=False, blobs=("sha256:" + "0" * 64,))]
    await store.ledger.append(tenant, session, Append(entries=tuple(odd)))
    chosen = EntryFilter()
    entries = await store.ledger.entries(tenant, session, chosen, 1000)
    assert [entry.at for entry in entries] == [entry.at for entry in odd]
    expected = [entry_json(entry) for entry in entries]
    (found,) = await store.ledger.lines(tenant, session, chosen, 1000)
    assert found.text == "".join(line + "\n" for line in expected)
    assert (found.entries, found.last_seq, found.has_blobs) == (len(odd), len(odd), True)


async def test_the_filter_and_the_line_choose_the_same_entries(store, tenant, monkeypatch):
    session = await opened(store, tenant, entries=6)
    line = rewound(rewound(PLAIN, 2, 7), 7, 9)
    mark = NewEntry("rewound", "{}", line=line.encode())
    await store.ledger.append(tenant, session, Append(entries=(mark, said("left"), said("on", hidden=True), said("it"))))
    for chosen in (
        EntryFilter(),
        EntryFilter(line=line),
        EntryFilter(line=line, hidden=False),
        EntryFilter(families=("m",), after_seq=2, before_seq=9),
        EntryFilter(line=line, kinds=("user_message",), at_seq=9),
        EntryFilter(kinds=("tool_result",)),
        EntryFilter(after_seq=99),
    ):
        for limit in (1, 2, 3, 1000):
            entries = await store.ledger.entries(tenant, session, chosen, limit)
            for run in (1, 2, 200):
                monkeypatch.setattr(ledger, "LINES_RUN_ENTRIES", run)
                runs = await store.ledger.lines(tenant, session, chosen, limit)
                assert "".join(one.text for one in runs) == "".join(entry_json(entry) + "\n" for entry in entries)
                assert sum(one.entries for one in runs) == len(entries)
                assert not any(one.has_blobs or one.entries > run for one in runs)
                assert [one.last_seq for one in runs[-1:]] == [entry.seq for entry in entries[-1:]]


async def test_large_entries_end_a_page_early_and_none_is_left_out(store, tenant, monkeypatch):
    monkeypatch.setattr(ledger, "LINES_RUN_ENTRIES", 2)
    monkeypatch.setattr(ledger, "LINES_PAGE_BYTES", 3_000)
    session = await opened(store, tenant)
    await store.ledger.append(tenant, session, Append(entries=tuple(said("x" * 1_000) for _ in range(9))))
    chosen, seen = EntryFilter(), []
    while runs := await store.ledger.lines(tenant, session, chosen, 1000):
        seen.append([run.entries for run in runs])
        chosen = chosen.behind(runs[-1].last_seq)
    assert seen == [[2, 2], [2, 2], [1]]


async def test_a_row_begins_with_the_fields_of_an_entry(store, tenant, migrate_url):
    admin = await connect(migrate_url)
    try:
        columns = "SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'ledger.entry_rows'::regclass AND attnum > 0"
        assert tuple((await admin.fetchval(columns))[: len(Entry._fields)]) == Entry._fields
        names = "SELECT proargnames FROM pg_proc WHERE proname = 'window_v1'"
        assert tuple((await admin.fetchval(names))[6 : 6 + len(Entry._fields)]) == Entry._fields
    finally:
        await admin.close()
