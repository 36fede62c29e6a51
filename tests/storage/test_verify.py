"""The chain, recomputed by other code than the database's, and what it says of each kind of tampering."""

import struct
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from app.entries.messages import NewEntry
from app.storage.types import Append
from tests.database.copies import connect
from tests.storage.sessions_made import opened, said

pytestmark = [pytest.mark.req("S4-10", "X-02", "X-91")]
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def microseconds(at) -> int:
    return -(2**63) if at is None else (at - EPOCH) // timedelta(microseconds=1)


def payload_digest(row) -> bytes:
    """As the record of the decision words it: salt, payload, then each optional text behind a zero byte and its letter."""
    said = [row["salt"], row["payload"].encode()]
    said += [b"\0" + mark + row[name].encode() for mark, name in ((b"a", "attributes"), (b"l", "line"), (b"b", "blobs")) if row[name] is not None]
    return sha256(b"".join(said)).digest()


def link(prev: bytes, row) -> bytes:
    index = -1 if row["message_index"] is None else row["message_index"]
    flags = row["hidden"], row["include_in_context"]
    numbers = struct.pack(">qiqqii??", row["seq"], row["version"], row["turn"] or 0, index, row["invocation"], row["tokens"], *flags)
    times = struct.pack(">qq", microseconds(row["at"]), microseconds(row["recorded_at"]))
    text = f"{row['family']}{row['kind']} {row['agent'] or ''}".encode()
    return sha256(prev + numbers + times + row["payload_digest"] + text).digest()


async def varied(store, tenant):
    session = await opened(store, tenant, entries=2)
    at = datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=UTC)
    more = (
        said("imported", at=at, attributes='{"a" : 1}', agent="ä", invocation=3, tokens=9),
        NewEntry("rewound", "{}", line="[[1,2,null],[4,null,null]]"),
        said("hidden", hidden=True, include_in_context=False, blobs=("sha256:" + "0" * 64,)),
    )
    await store.ledger.append(tenant, session, Append(entries=more))
    return session


async def test_the_chain_follows_from_the_rows_alone(store, tenant, migrate_url):
    session = await varied(store, tenant)
    admin = await connect(migrate_url)
    try:
        rows = await admin.fetch("SELECT *, payload::text AS payload, attributes::text AS attributes FROM ledger.entries ORDER BY seq")
    finally:
        await admin.close()
    prev = bytes(32)
    for row in map(dict, rows):
        assert row["payload_digest"] == payload_digest(row)
        prev = link(prev, row)
        assert row["digest"] == prev
    assert len({row["salt"] for row in rows}) == len(rows) == 5
    verified = await store.ledger.verify(tenant, session)
    assert (verified.entries, verified.head_digest, verified.problems) == (5, prev, ())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE ledger.entries SET payload = '{\"parts\":[]}' WHERE seq = 2", "payload"),
        ("UPDATE ledger.entries SET attributes = NULL WHERE seq = 3", "payload"),
        ("UPDATE ledger.entries SET line = NULL WHERE seq = 4", "payload"),
        ("UPDATE ledger.entries SET hidden = NOT hidden WHERE seq = 3", "digest"),
        ("UPDATE ledger.entries SET include_in_context = NOT include_in_context WHERE seq = 3", "digest"),
        ("UPDATE ledger.entries SET kind = 'agent_message' WHERE seq = 3", "digest"),
        ("UPDATE ledger.entries SET turn = 7 WHERE seq = 3", "digest"),
        ("UPDATE ledger.entries SET at = at + interval '1 microsecond' WHERE seq = 3", "digest"),
        ("UPDATE ledger.entries SET message_index = 9 WHERE seq = 3", "message-index"),
        ("DELETE FROM ledger.entries WHERE seq = 2", "gap"),
        ("DELETE FROM ledger.entries WHERE seq = 5", "head"),
        ("UPDATE ledger.sessions SET head_digest = sha256('')", "head"),
    ],
)
async def test_what_somebody_changed_behind_our_back_is_named(change, what, store, tenant, migrate_url):
    session = await varied(store, tenant)
    admin = await connect(migrate_url)
    try:
        await admin.execute("SET session_replication_role = replica")  # a superuser who turns the triggers off
        await admin.execute(change)
    finally:
        await admin.close()
    assert (await store.ledger.verify(tenant, session)).problems[0].what == what


async def test_a_long_session_is_walked_in_pages_and_says_where_it_is(store, tenant):
    session = await opened(store, tenant)
    for _ in range(9):
        await store.ledger.append(tenant, session, Append(entries=(said(),) * 256))
    seen: list[int] = []
    verified = await store.ledger.verify(tenant, session, seen.append)
    assert (verified.entries, verified.problems) == (9 * 256, ())
    assert seen == [1000, 2000, 9 * 256]
