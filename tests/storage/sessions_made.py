"""Sessions, entries and turns as the storage tests need them, said in one line each."""

from uuid import UUID, uuid4

import asyncpg

from app.entries.messages import Message, NewEntry, encode
from app.entries.parts import Text
from app.storage.store import Store
from app.storage.types import NEW_TURN, Append, Appended, Claim, OpenSession, TurnWrite

HOLDER = UUID(int=7)


def said(text: str = "hello", **fields) -> NewEntry:
    """A user's message."""
    return NewEntry("user_message", encode(Message((Text(text),))), **fields)


def stopped(turn: int | None = None) -> NewEntry:
    """An entry of a kind that may stand beside a claim."""
    return NewEntry("stop_requested", '{"reason":"cancel"}', turn=turn)


async def opened(store: Store, tenant: UUID, entries: int = 0, **fields) -> UUID:
    """A new session that holds that many messages."""
    session = uuid4()
    texts = tuple(said(f"message {number}") for number in range(entries))
    await store.ledger.append(tenant, session, Append(entries=texts, open=OpenSession(**fields)))
    return session


async def claimed(store: Store, tenant: UUID, session: UUID, lease_seconds: float = 30.0, holder: UUID = HOLDER, **fields) -> Appended:
    """A turn that is accepted and runs."""
    turn = TurnWrite(new=True, turn_id=uuid4(), status="running", input_offset=0)
    claim = Claim(NEW_TURN, holder, lease_seconds)
    return await store.ledger.append(tenant, session, Append(entries=(said(turn=NEW_TURN),), turn=turn, claim=claim, **fields))


async def fetch_as_admin(url: str, statement: str, *arguments) -> list[asyncpg.Record]:
    """One statement as the role that migrates, which here sees every tenant."""
    admin = await asyncpg.connect(url, statement_cache_size=0)
    try:
        return list(await admin.fetch(statement, *arguments))
    finally:
        await admin.close()
