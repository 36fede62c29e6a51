"""The arguments of `append_v1` and `append_many_v1`, made from an `Append` or several: arrays that run along the entries, and JSON for what is rare.

The JSON (`p_more`) holds numbers, ids and flags alone. Every text that a user or a model may have written goes as a parameter of
its own (`p_documents`), because Postgres refuses some of what JSON can spell (NUL, lone surrogates) once it unpacks it.
"""

from collections.abc import Sequence
from os import urandom
from typing import Any
from uuid import UUID

import orjson

from app.entries.kinds import KINDS
from app.entries.messages import NewEntry
from app.storage.types import Append, CallWrite, IdempotencyWrite, OpenSession, SessionPatch, TurnWrite

APPEND = f"SELECT * FROM ledger.append_v1({', '.join(f'${at + 1}' for at in range(28))})"
APPEND_MANY = f"SELECT * FROM ledger.append_many_v1({', '.join(f'${at + 1}' for at in range(19))})"

SALT_BYTES = 16
"""Made here: a Postgres without OpenSSL opens /dev/urandom for each, and this is a twentieth of an append."""

_DOCUMENTS = (
    "agent",
    "model",
    "title",
    "metadata",
    "user",
    "external_id",
    "options",
    "error",
    "pending",
    "usage",
    "record",
    "attempts",
    "call_usage",
    "route",
    "key",
    "body",
    "settles_options",
    "settles_error",
    "settles_pending",
    "settles_usage",
    "user_state",
)
"""Places in `p_documents`, from 1 in SQL."""


def digest_bytes(digest: str) -> bytes:
    """The 32 bytes of `sha256:<hex>`. Raises `ValueError` for anything else."""
    return bytes.fromhex(digest.removeprefix("sha256:"))


def arguments(tenant: UUID, session: UUID, append: Append) -> tuple[Any, ...]:
    """The arguments in the order of the function's parameters; an array that would hold defaults alone is None."""
    entries = append.entries
    more, documents = _more(append)
    events, blobs = append.events, append.blobs
    return (
        tenant,
        session,
        *_columns(entries),
        _column(entries, "line", None),
        append.expected_head,
        append.fence,
        append.beside,
        append.refuse_pending,
        None if more is None else orjson.dumps(more).decode(),
        documents,
        [event.n for event in events] if events else None,
        [event.turn for event in events] if events else None,
        [event.body for event in events] if events else None,
        [digest_bytes(blob.digest) for blob in blobs] if blobs else None,
        [blob.media_type for blob in blobs] if blobs else None,
        [blob.body for blob in blobs] if blobs else None,
    )


def many_arguments(tenant: UUID, appends: Sequence[tuple[UUID, Append]]) -> tuple[Any, ...]:
    """The arguments of `append_many_v1` for plain appends: session and append each."""
    return (
        tenant,
        [session for session, _ in appends],
        [append.expected_head for _, append in appends],
        [append.fence for _, append in appends],
        "".join([str(append.beside + 2 * append.refuse_pending) for _, append in appends]),
        [place for place, (_, append) in enumerate(appends, 1) for _ in append.entries],
        *_columns([entry for _, append in appends for entry in append.entries]),
    )


def _columns(entries: Sequence[NewEntry]) -> tuple[Any, ...]:
    return (
        [entry.kind for entry in entries],
        "".join([KINDS[entry.kind].family for entry in entries]),
        [KINDS[entry.kind].version for entry in entries],
        [entry.turn for entry in entries],
        [entry.tokens for entry in entries],
        [entry.payload for entry in entries],
        [urandom(SALT_BYTES) for _ in entries],
        _flags(entries),
        _column(entries, "agent", None),
        _column(entries, "invocation", 0),
        _column(entries, "attributes", None),
        [entry.at and entry.at.isoformat() for entry in entries] if any(entry.at for entry in entries) else None,
        [" ".join(entry.blobs) or None for entry in entries] if any(entry.blobs for entry in entries) else None,
    )


def _column(entries: Sequence[NewEntry], field: str, default: object) -> list[Any] | None:
    values = [getattr(entry, field) for entry in entries]
    return values if any(value != default for value in values) else None


def _flags(entries: Sequence[NewEntry]) -> str | None:
    """A digit an entry: 1 is hidden, 2 is left out of context, 3 is both; None when all are 0."""
    digits = "".join([str(entry.hidden + 2 * (not entry.include_in_context)) for entry in entries])
    return digits if digits.strip("0") else None


def _more(append: Append) -> tuple[dict[str, Any] | None, list[str | None] | None]:
    more: dict[str, Any] = _given(
        takeover=append.takeover_fence,
        release=append.release or None,
        stop_turn=append.stop_turn,
    )
    texts: dict[str, str | None] = {}
    if append.claim is not None:
        more["claim"] = {"turn": append.claim.turn, "holder": str(append.claim.holder), "lease_seconds": append.claim.lease_seconds}
    if append.open is not None:
        more["open"] = _open(append.open, texts)
    if append.session is not None:
        more["session"] = _session(append.session, texts)
    if append.turn is not None:
        more["turn"] = _turn(append.turn, texts, "")
    if append.settles is not None:
        more["settles"] = _turn(append.settles, texts, "settles_")
    if append.call is not None:
        more["call"] = _call(append.call, texts)
    if append.user_state is not None:
        more["user_state"] = {"expected_version": append.user_state.expected_version}
        texts["user_state"] = append.user_state.state
    if append.idempotency is not None:
        more["idempotency"] = _idempotency(append.idempotency, texts)
    return more or None, [texts.get(name) for name in _DOCUMENTS] if texts else None


def _given(**values: Any) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items() if value is not None}


def _open(row: OpenSession, texts: dict[str, str | None]) -> dict[str, Any]:
    texts |= {"agent": row.agent, "model": row.model, "title": row.title, "metadata": row.metadata}
    texts |= {"user": row.user, "external_id": row.external_id}
    return _given(agent_revision=row.agent_revision, agent_follows=row.agent_follows, parent=row.parent, parent_seq=row.parent_seq)


def _session(patch: SessionPatch, texts: dict[str, str | None]) -> dict[str, Any]:
    texts |= _given(agent=patch.agent, model=patch.model, title=patch.title, metadata=patch.metadata)
    return _given(
        agent_revision=patch.agent_revision,
        agent_follows=patch.agent_follows,
        clear_model=patch.clear_model or None,
        clear_title=patch.clear_title or None,
        pending_turn=patch.pending_turn,
        clear_pending=patch.clear_pending or None,
        clear_dispatched=patch.clear_dispatched or None,
        last_turn=patch.last_turn,
        bump_meta=patch.bump_meta or None,
        expected_meta=patch.expected_meta,
    )


def _turn(turn: TurnWrite, texts: dict[str, str | None], place: str) -> dict[str, Any]:
    named = {"options": turn.options, "error": turn.error, "pending": turn.pending, "usage": turn.usage}
    texts |= {place + name: document for name, document in named.items()}
    return _given(
        new=turn.new or None,
        number=turn.number,
        turn_id=turn.turn_id,
        status=turn.status,
        follows=turn.follows,
        retry_of=turn.retry_of,
        input_offset=turn.input_offset,
        input_seq=turn.input_seq,
        settled=turn.settled or None,
    )


def _call(call: CallWrite, texts: dict[str, str | None]) -> dict[str, Any]:
    texts |= {"record": call.record, "attempts": call.attempts, "call_usage": call.usage}
    return _given(
        call_id=call.call_id,
        new=call.new or None,
        turn=call.turn,
        step_index=call.step_index,
        purpose=call.purpose,
        status=call.status,
        head_seq=call.head_seq,
        answer_offset=call.answer_offset,
        dispatched=call.dispatched or None,
    )


def _idempotency(write: IdempotencyWrite, texts: dict[str, str | None]) -> dict[str, Any]:
    texts |= {"route": write.route, "key": write.key, "body": write.body}
    return _given(request_digest=write.request_digest.hex(), status=write.status, session=write.session, turn=write.turn)
