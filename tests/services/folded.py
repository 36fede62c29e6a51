"""Checkpoints as an append makes them, put into sessions that a service serves."""

from uuid import UUID

from app.entries.compactions import Checkpoint
from app.entries.deltas import Usage
from app.entries.ids import CHECKPOINT, SESSION, format_id, parse_id
from app.entries.line import Covered, covered
from app.entries.messages import NewEntry
from app.entries.summaries import Fact, Summary
from app.services.minting import new_uuid
from app.services.scope import LOCAL_TENANT
from app.storage.store import Store
from app.storage.types import Append


async def checkpoint(store: Store, session_id: str, first_kept_seq: int, told: str = "They said hello.", tenant: UUID = LOCAL_TENANT) -> str:
    """The id of a new checkpoint of the session's current line, in force: it covers what lies before that user message."""
    session = parse_id(SESSION, session_id)
    assert session is not None
    row = await store.sessions.get(tenant, session)
    assert row is not None
    made = format_id(CHECKPOINT, new_uuid())
    seq, through = row.head_seq + 1, first_kept_seq - 1
    kept = await store.ledger.entry(tenant, session, first_kept_seq)
    assert kept is not None
    assert kept.message_index is not None
    body = Checkpoint(
        checkpoint_id=made,
        requested_seq=row.head_seq,
        covers_through_seq=through,
        first_kept_seq=first_kept_seq,
        first_kept_index=kept.message_index,
        history_message_count=row.message_count,
        summary=Summary({"summary": (Fact(told, (2,)),)}, 1, through, "5a"),
        artifact="sha256:" + "0" * 64,
        driver="model",
        trigger="manual",
        tokens_before=900,
        tokens_after=300,
        upstream="scripted",
        model="scripted",
        usage=Usage(input=800, output=20),
        usage_source="reported",
    )
    line = covered(row.line, Covered(made, seq, through))
    entry = NewEntry(Checkpoint.kind, body.encode(), line=line.spelled())
    await store.ledger.append(tenant, session, Append(entries=(entry,), expected_head=row.head_seq))
    return made
