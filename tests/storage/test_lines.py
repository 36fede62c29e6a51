"""Lines that the database spells are those that `entries.wire` and the export's writer spell, and all of them come, page by page."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.entries.errors import Unavailable
from app.entries.line import PLAIN, rewound
from app.entries.messages import Entry, NewEntry
from app.entries.wire import entry_json
from app.formats.jsonl.write import write_entry
from app.storage import ledger
from app.storage import line_pages as paging
from app.storage.line_pages import line_pages
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
    (archived,) = await store.ledger.archive_lines(tenant, session, replace(chosen, at_seq=len(odd)), 1000)
    assert archived.text.encode() == b"".join(write_entry(entry) for entry in entries)
    assert (archived.entries, archived.last_seq, archived.has_blobs) == (len(odd), len(odd), True)


async def test_what_was_erased_is_null_in_every_spelling(store, tenant, migrate_url):
    session = await opened(store, tenant)
    await store.ledger.append(tenant, session, Append(entries=(said(attributes='{"a":1}'), said())))
    erased = "UPDATE ledger.entries SET payload = NULL, attributes = NULL, salt = NULL, erased_at = now() WHERE seq = 1"
    admin = await connect(migrate_url)
    try:
        await admin.execute(f"SET session_replication_role = replica; {erased}")
    finally:
        await admin.close()
    chosen = EntryFilter(at_seq=2)
    entries = await store.ledger.entries(tenant, session, chosen, 10)
    assert entries[0].payload is None
    (found,), (archived,) = [await read(tenant, session, chosen, 10) for read in (store.ledger.lines, store.ledger.archive_lines)]
    assert found.text == "".join(entry_json(entry) + "\n" for entry in entries)
    assert archived.text.encode() == b"".join(write_entry(entry) for entry in entries)


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
                narrower = EntryFilter(chosen.line, after_seq=chosen.after_seq, at_seq=9)
                archived = await store.ledger.archive_lines(tenant, session, narrower, limit)
                stored = await store.ledger.entries(tenant, session, narrower, limit)
                assert "".join(one.text for one in archived).encode() == b"".join(write_entry(entry) for entry in stored)


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
    for read in (store.ledger.lines, store.ledger.archive_lines):
        pages = [[run.entries for run in runs] async for runs in line_pages(read, tenant, session, EntryFilter(at_seq=9))]
        assert pages == [[2, 2], [2, 2], [1]]


async def test_a_long_reading_comes_whole_and_in_order_and_ends_with_its_reader(store, tenant, monkeypatch):
    monkeypatch.setattr(paging, "LINES_PAGE_ENTRIES", 3)
    session = await opened(store, tenant, entries=10)
    asked: list[int] = []

    async def read(tenant, session, chosen, limit):
        asked.append(chosen.after_seq)
        return await store.ledger.lines(tenant, session, chosen, limit)

    for limit, expected in ((None, 10), (1, 1), (6, 6), (7, 7), (99, 10)):
        for chosen in (EntryFilter(), EntryFilter(at_seq=10)):
            runs = [run async for page in line_pages(read, tenant, session, chosen, limit) for run in page]
            entries = await store.ledger.entries(tenant, session, chosen, expected)
            assert "".join(run.text for run in runs) == "".join(entry_json(entry) + "\n" for entry in entries)
    asked.clear()
    before = asyncio.all_tasks()
    async with aclosing(line_pages(read, tenant, session, EntryFilter())) as pages:
        await anext(pages)
        assert asked == [0, 3], "the next page is under way before this one is used, also by a reader that never waits"
    assert asyncio.all_tasks() == before
    assert (await store.sessions.get(tenant, session)).head_seq == 10, "the pool still serves"


async def test_a_page_that_cannot_be_read_fails_the_reading_behind_what_was_read(store, tenant):
    session = await opened(store, tenant, entries=4)

    async def read(tenant, session, chosen, limit):
        if chosen.after_seq:
            raise Unavailable("The database went away.")
        return await store.ledger.lines(tenant, session, chosen, 3)

    pages = line_pages(read, tenant, session, EntryFilter(at_seq=4))
    assert [run.last_seq for run in await anext(pages)] == [3]
    with pytest.raises(Unavailable):
        await anext(pages)


async def test_a_row_begins_with_the_fields_of_an_entry(store, tenant, migrate_url):
    admin = await connect(migrate_url)
    try:
        columns = "SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'ledger.entry_rows'::regclass AND attnum > 0"
        assert tuple((await admin.fetchval(columns))[: len(Entry._fields)]) == Entry._fields
        names = "SELECT proargnames FROM pg_proc WHERE proname = 'window_v2'"
        assert tuple((await admin.fetchval(names))[7 : 7 + len(Entry._fields)]) == Entry._fields
    finally:
        await admin.close()
