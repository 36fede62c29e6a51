"""The chain, recomputed by other code than the database's, and what it says of each kind of tampering."""

import struct
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from app.entries.messages import NewEntry
from app.storage.types import Append, NewBlob
from tests.database.copies import connect
from tests.storage.sessions_made import fetch_as_admin, opened, said

pytestmark = [pytest.mark.req("S4-10", "X-02", "X-91")]
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
BLOB = NewBlob("sha256:" + sha256(b"picture").hexdigest(), "image/png", b"picture")
ERASED = "erased_at = now(), payload = NULL, salt = NULL, attributes = NULL"


def moment(at) -> bytes:
    return struct.pack(">q", (at - EPOCH) // timedelta(microseconds=1))


def payload_digest(row) -> bytes:
    """Salt, payload, then the attributes behind a zero byte and a letter, if there are any."""
    said = row["salt"] + row["payload"].encode()
    return sha256(said if row["attributes"] is None else said + b"\0a" + row["attributes"].encode()).digest()


def link(prev: bytes, row) -> bytes:
    index = -1 if row["message_index"] is None else row["message_index"]
    flags = row["hidden"], row["include_in_context"]
    numbers = struct.pack(">qiqqii??", row["seq"], row["version"], row["turn"] or 0, index, row["invocation"], row["tokens"], *flags)
    some = [(b"t", row["at"] and moment(row["at"]))]
    some += [(mark, None if row[name] is None else row[name].encode()) for mark, name in ((b"a", "agent"), (b"l", "line"), (b"b", "blobs"))]
    optional = b"".join(b"\0" + mark + text for mark, text in some if text is not None)
    kind = f"{row['family']}{row['kind']}".encode()
    return sha256(prev + numbers + moment(row["recorded_at"]) + row["payload_digest"] + kind + optional).digest()


async def varied(store, tenant):
    """A session of five entries that between them fill every column."""
    session = await opened(store, tenant, entries=2)
    await store.blobs.put(tenant, session, BLOB)
    at = datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=UTC)
    more = (
        said("imported", at=at, attributes='{"a" : 1}', agent="ä", invocation=3, tokens=9),
        NewEntry("rewound", "{}", line="[[1,2,null],[4,null,null]]"),
        said("hidden", hidden=True, include_in_context=False, blobs=(BLOB.digest,)),
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


async def found_after(statement, store, tenant, migrate_url):
    """What `verify` says first of a session with which a superuser who turns the triggers off did that."""
    session = await varied(store, tenant)
    admin = await connect(migrate_url)
    try:
        await admin.execute("SET session_replication_role = replica")
        assert (await admin.execute(statement)).split()[-1] != "0"
    finally:
        await admin.close()
    problems = (await store.ledger.verify(tenant, session)).problems
    return problems[0].what if problems else None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("entries SET payload = '{\"parts\":[]}' WHERE seq = 2", "payload"),
        ("entries SET payload = '{}', salt = NULL WHERE seq = 2", "payload"),
        ("entries SET payload = NULL WHERE seq = 2", "payload"),
        ("entries SET payload = '{}', erased_at = now() WHERE seq = 2", "payload"),
        ("entries SET salt = sha256(salt) WHERE seq = 2", "payload"),
        ("entries SET attributes = NULL WHERE seq = 3", "payload"),
        ("entries SET attributes = '{}' WHERE seq = 2", "payload"),
        ("entries SET payload_digest = sha256('') WHERE seq = 2", "payload"),
        ("entries SET digest = sha256('') WHERE seq = 2", "digest"),
        ("entries SET line = NULL WHERE seq = 4", "digest"),
        ("entries SET line = '[[1,null,null]]' WHERE seq = 2", "digest"),
        (f"entries SET line = '[[1,null,null]]', {ERASED} WHERE seq = 4", "digest"),
        (f"entries SET blobs = NULL, {ERASED} WHERE seq = 5", "digest"),
        ("entries SET blobs = 'sha256:x' WHERE seq = 5", "digest"),
        ("entries SET blobs = '' WHERE seq = 2", "digest"),
        ("entries SET hidden = NOT hidden WHERE seq = 3", "digest"),
        ("entries SET include_in_context = NOT include_in_context WHERE seq = 3", "digest"),
        ("entries SET kind = 'agent_message' WHERE seq = 3", "digest"),
        ("entries SET version = version + 1 WHERE seq = 3", "digest"),
        ("entries SET invocation = invocation + 1 WHERE seq = 3", "digest"),
        ("entries SET tokens = tokens + 1 WHERE seq = 3", "digest"),
        ("entries SET agent = 'a' WHERE seq = 3", "digest"),
        ("entries SET agent = '' WHERE seq = 2", "digest"),
        ("entries SET turn = 7 WHERE seq = 3", "digest"),
        ("entries SET at = at + interval '1 microsecond' WHERE seq = 3", "digest"),
        ("entries SET at = '-infinity' WHERE seq = 2", "digest"),
        ("entries SET recorded_at = recorded_at + interval '1 microsecond' WHERE seq = 5", "digest"),
        ("entries SET family = 't' WHERE seq = 4", "digest"),
        ("entries SET message_index = 9 WHERE seq = 3", "message-index"),
        ("entries SET message_index = NULL WHERE seq = 3", "message-index"),
        ("entries SET message_index = -1 WHERE seq = 4", "message-index"),
        ("entries SET seq = 9 WHERE seq = 5", "head"),
        ("sessions SET head_digest = sha256('')", "head"),
        ("sessions SET head_seq = 4", "head"),
        ("sessions SET line = NULL", "head"),
        ("sessions SET message_count = 3", "head"),
        ("blobs SET digest = sha256('other'), body = 'other', byte_length = 5", "blob"),
    ],
)
async def test_what_somebody_changed_behind_our_back_is_named(change, what, store, tenant, migrate_url):
    assert await found_after(f"UPDATE ledger.{change}", store, tenant, migrate_url) == what


@pytest.mark.parametrize(
    ("change", "what"), [("entries WHERE seq = 1", "gap"), ("entries WHERE seq = 2", "gap"), ("entries WHERE seq = 5", "head"), ("blobs", "blob")]
)
async def test_what_somebody_took_out_behind_our_back_is_noticed(change, what, store, tenant, migrate_url):
    assert await found_after(f"DELETE FROM ledger.{change}", store, tenant, migrate_url) == what


async def test_bytes_of_a_blob_that_the_disk_changed_are_named(store, tenant, migrate_url):
    checks = "SELECT string_agg('DROP CONSTRAINT ' || conname, ', ') FROM pg_constraint WHERE conrelid = 'ledger.blobs'::regclass AND contype = 'c'"
    dropped = (await fetch_as_admin(migrate_url, checks))[0][0]
    await fetch_as_admin(migrate_url, f"ALTER TABLE ledger.blobs {dropped}")
    assert await found_after("UPDATE ledger.blobs SET body = set_byte(body, 0, 0)", store, tenant, migrate_url) == "blob"


async def test_what_was_erased_is_no_problem(store, tenant, migrate_url):
    assert await found_after(f"UPDATE ledger.entries SET {ERASED} WHERE seq = 3", store, tenant, migrate_url) is None
    assert await found_after("UPDATE ledger.blobs SET erased_at = now(), body = NULL", store, tenant, migrate_url) is None


async def test_every_column_of_an_entry_is_tried_above(migrate_url):
    names = await fetch_as_admin(
        migrate_url, "SELECT attname FROM pg_attribute WHERE attrelid = 'ledger.entries'::regclass AND attnum > 0 AND NOT attisdropped"
    )
    tried = " ".join(change for change, _ in test_what_somebody_changed_behind_our_back_is_named.pytestmark[0].args[1])
    assert [name for (name,) in names if f"{name} = " not in tried] == ["tenant_id", "session_id"]


async def test_large_blobs_are_walked_in_smaller_pages(store, tenant):
    session = await opened(store, tenant)
    for number in range(4):
        body = bytes([number]) * 20 * 2**20
        blob = NewBlob("sha256:" + sha256(body).hexdigest(), "image/png", body)
        await store.ledger.append(tenant, session, Append(entries=(said(blobs=(blob.digest,)), said()), blobs=(blob,)))
    seen: list[int] = []
    assert (await store.ledger.verify(tenant, session, seen.append)).problems == ()
    assert seen == [7, 8]


async def test_a_long_session_is_walked_in_pages_and_says_where_it_is(store, tenant):
    session = await opened(store, tenant)
    for _ in range(9):
        await store.ledger.append(tenant, session, Append(entries=(said(),) * 256))
    seen: list[int] = []
    verified = await store.ledger.verify(tenant, session, seen.append)
    assert (verified.entries, verified.problems) == (9 * 256, ())
    assert seen == [1000, 2000, 9 * 256]
