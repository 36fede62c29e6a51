"""From the driver's records to our values."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import orjson

from app.entries.errors import SessionErased
from app.entries.line import decode_line
from app.entries.messages import Entry
from app.storage.rows import AgentRow, CallRow, KeyRow, SessionRow, StoredAnswer, TurnRow, TurnView, Window
from app.storage.types import Appended


def appended(row: Any) -> Appended:
    """The answer of `append_v1`."""
    if row["replayed"]:
        return Appended(0, 0, b"", 0, row["stored_turn"], (), (), (), row["recorded_at"], replayed=True, stored=stored_answer(row))
    digests = tuple(row["digests"] or ())
    return Appended(
        first_seq=row["last_seq"] - len(digests) + 1,
        last_seq=row["last_seq"],
        head_digest=row["head_digest"],
        fence=row["fence"],
        turn_number=row["turn_number"],
        message_indexes=tuple(row["message_indexes"] or ()),
        payload_digests=tuple(row["payload_digests"] or ()),
        digests=digests,
        recorded_at=row["recorded_at"],
        last_event_n=row["last_event_n"] or 0,
    )


def appended_many(row: Any, counts: Sequence[int]) -> list[Appended | None]:
    """The answer of `append_many_v1`, an item an append of so many entries; None for one that was not written."""
    recorded_at = row["recorded_at"]
    indexes, payload_digests, digests = tuple(row["message_indexes"]), tuple(row["payload_digests"]), tuple(row["digests"])
    answers: list[Appended | None] = []
    end = 0
    for count, last_seq, fence in zip(counts, row["last_seqs"], row["fences"], strict=True):
        at, end = end, end + count
        answers.append(
            None
            if last_seq is None
            else Appended(
                last_seq - count + 1, last_seq, digests[end - 1], fence, None, indexes[at:end], payload_digests[at:end], digests[at:end], recorded_at
            )
        )
    return answers


def stored_answer(row: Any) -> StoredAnswer:
    return StoredAnswer(row["stored_digest"], row["stored_status"], row["stored_body"], row["stored_session"], row["stored_turn"], row["recorded_at"])


_FIELDS = len(Entry._fields) - 1
"""The columns of an entry that are taken as they stand; the last one, `blobs`, is a text."""

_entry: Callable[[tuple[Any, ...]], Entry] = partial(tuple.__new__, Entry)
"""Makes an `Entry` from all of its fields at once: a fifth of the time of naming each of seventeen."""


def entry(row: Any) -> Entry:
    """An entry from a row that begins with its columns, in the order of its fields."""
    blobs = row[_FIELDS]
    return _entry((*row[:_FIELDS], () if blobs is None else tuple(blobs.split(" "))))


def session(document: str) -> SessionRow:
    """A session as `session_document` spells it. Raises `SessionErased`."""
    row = orjson.loads(document)
    if row["erased_at"] is not None:
        raise SessionErased
    return SessionRow(
        tenant=UUID(row["tenant"]),
        session_id=UUID(row["session_id"]),
        head_seq=row["head_seq"],
        head_digest=bytes.fromhex(row["head_digest"]),
        agent=row["agent"],
        agent_revision=row["agent_revision"],
        agent_follows=row["agent_follows"],
        model=row["model"],
        title=row["title"],
        metadata=row["metadata"],
        user=row["user"],
        external_id=row["external_id"],
        line=decode_line(row["line"]),
        message_count=row["message_count"],
        turn_count=row["turn_count"],
        last_turn=row["last_turn"],
        meta_version=row["meta_version"],
        dispatched_call=None if row["dispatched_call"] is None else UUID(row["dispatched_call"]),
        dispatched_count=row["dispatched_count"],
        pending_turn=row["pending_turn"],
        running_turn=row["running_turn"],
        fence=row["fence"],
        lease_until=None if row["lease_until"] is None else datetime.fromisoformat(row["lease_until"]),
        stop_requested_at=None if row["stop_requested_at"] is None else datetime.fromisoformat(row["stop_requested_at"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        active_at=datetime.fromisoformat(row["active_at"]),
        usage=row["usage"],
        compaction_count=row["compaction_count"],
        parent_session=None if row["parent_session"] is None else UUID(row["parent_session"]),
        parent_seq=row["parent_seq"],
        prefix_key=row["prefix_key"] or "",
    )


def window_head(row: Any) -> Window:
    """The first row of a window; the entries are filled in by the reader."""
    return Window(session(row["document"]), row["seq"], decode_line(row["line"]), row["message_index"], (), (), {})


def turn(row: Any) -> TurnRow:
    return TurnRow(
        row["number"],
        row["turn_id"],
        row["status"],
        row["follows"],
        row["retry_of"],
        row["input_seq"],
        row["first_seq"],
        row["last_seq"],
        row["options"],
        row["error"],
        row["pending"],
        row["usage"],
        row["claims"],
        row["created_at"],
        row["settled_at"],
        row["session_id"],
    )


def turn_view(row: Any) -> TurnView:
    return TurnView(turn(row), row["follows_id"], row["retry_of_id"], tuple(row["siblings"]), tuple(row["calls"]), tuple(row["entry_seqs"]))


def call(row: Any) -> CallRow:
    return CallRow(
        row["call_id"],
        row["turn"],
        row["step_index"],
        row["purpose"],
        row["status"],
        row["head_seq"],
        row["record"],
        row["attempts"],
        row["usage"],
        row["answer_seq"],
        row["created_at"],
    )


def agent(row: Any) -> AgentRow:
    return AgentRow(
        row["name"], row["revision"], row["latest"], row["document"], row["limits"], row["digest"], row["created_at"], row["resolved_tools"]
    )


def key(row: Any) -> KeyRow:
    return KeyRow(row["key_id"], row["tenant_id"], row["name"], tuple(row["scopes"]), row["created_at"], row["revoked_at"])
