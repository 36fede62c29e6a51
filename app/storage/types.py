"""What goes into one append and what comes out, as frozen values; what reads give is in `rows`.

JSON documents travel as text (`str`) that was encoded by `entries.lossless`; None in a write means "leave it as it is", and
a field named `clear_…` empties.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.entries.kinds import KINDS
from app.entries.messages import Entry, NewEntry
from app.storage.rows import StoredAnswer

NEW_TURN = -1
"""Stands for the turn that the same append opens, in `NewEntry.turn`, `Claim.turn`, `CallWrite.turn`, `EventRow.turn` and `IdempotencyWrite.turn`."""

NO_TURN = 0
"""Stands for no turn where a claim, or a call, has none: a session that is held for a compaction alone."""

EVENT_IDS_PER_CLAIM = 1_000_000
"""The k-th claim of a turn (from 0) logs its events from k × this + 1 on, so that ids rise whoever writes."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Takes the session for a turn, under a new fence. `turn` is its number or `NEW_TURN`; the lease is counted from the lock."""

    turn: int
    holder: UUID
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class OpenSession:
    """The row of a new session. `Conflict("exists")` where the external id is taken for that user.

    `agent_follows`: the session adopts newer revisions of its agent. `user` and `external_id` must hold no NUL. With `parent` it is a fork
    of that session behind `parent_seq`, which is its head before its first entry; `Invalid` where a turn is under way there.
    """

    agent: str | None = None
    agent_revision: int | None = None
    agent_follows: bool = True
    model: str | None = None
    title: str | None = None
    metadata: str = "{}"
    user: str | None = None
    external_id: str | None = None
    parent: UUID | None = None
    parent_seq: int | None = None


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """Opens a turn (`new`) or changes one. The number of a new one is allotted under the lock.

    `follows` is a turn's number, 0 for the start. `input_offset` is the place of the input in `Append.entries`; `input_seq`
    names an input that exists. JSON texts: `options`, `error`, `pending` (a list), `usage`. `settled` stamps the time.
    """

    new: bool = False
    number: int | None = None
    turn_id: UUID | None = None
    status: str | None = None
    follows: int | None = None
    retry_of: int | None = None
    input_offset: int | None = None
    input_seq: int | None = None
    options: str | None = None
    error: str | None = None
    pending: str | None = None
    usage: str | None = None
    settled: bool = False


@dataclass(frozen=True, slots=True)
class CallWrite:
    """Opens a model call (`new`) or changes one. `record`, `attempts` and `usage` are JSON texts.

    `usage` (`{input, cached, cache_write, output, reasoning, …}`, null is unknown) is added to the session's totals the first
    time it is written. `dispatched` makes the call the session's last dispatched one and counts it in
    `SessionRow.dispatched_count`.
    """

    call_id: UUID
    new: bool = False
    turn: int | None = None
    step_index: int = 0
    purpose: str = "main"
    status: str | None = None
    head_seq: int | None = None
    record: str | None = None
    attempts: str | None = None
    usage: str | None = None
    answer_offset: int | None = None
    dispatched: bool = False


@dataclass(frozen=True, slots=True)
class SessionPatch:
    """Changes of a session's row. `last_turn` is the last turn of the current line (0: none; an opened turn sets it itself).

    `expected_meta`: the version of title and metadata that is changed; another one is a `HeadMismatch`.
    """

    agent: str | None = None
    agent_revision: int | None = None
    agent_follows: bool | None = None
    model: str | None = None
    clear_model: bool = False
    title: str | None = None
    clear_title: bool = False
    metadata: str | None = None
    pending_turn: int | None = None
    clear_pending: bool = False
    clear_dispatched: bool = False
    last_turn: int | None = None
    bump_meta: bool = False
    expected_meta: int | None = None


@dataclass(frozen=True, slots=True)
class UserStateWrite:
    """The state that the sessions of the session's user share, whole, as JSON text; None: as it is, which the append's entries tell of.

    `expected_version` is that of what it was made from (0: there was none); another one is a `HeadMismatch` with a head that need not have
    moved: read both again.
    """

    expected_version: int
    state: str | None = None


@dataclass(frozen=True, slots=True)
class IdempotencyWrite:
    """Consumes a key of a route with the append. `turn` (a number or `NEW_TURN`) is what a replay attaches to."""

    route: str
    key: str
    request_digest: bytes
    status: int
    body: str | None = None
    turn: int | None = None
    session: UUID | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event for the delta log, logged with the append. `turn`: None is the claim's turn."""

    n: int
    body: str
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class NewBlob:
    """Bytes to store; `digest` is `sha256:<hex>` of them and checked by the database."""

    digest: str
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Append:
    """Everything that one append does, or nothing of it.

    Who may write: without `fence`, `takeover_fence` and `beside` a session that carries no claim (else `SessionBusy`, or
    `ClaimExpired` when the claim ran out); with `fence` its holder, also after the lease until another claims (else
    `FenceLost`); with `takeover_fence` anybody, when that claim ran out or ignores a stop (else `SessionBusy`); `beside` anybody.
    `claim` raises the fence; with `release` as well nothing stays claimed. A takeover says either `claim` or `release`.
    `stop_turn` asks the holder of that turn to stop (`FenceLost` when it holds the session no more).
    `settles` changes a second turn on the way: the one that a new turn's claim, a stop or a takeover ends.
    `refuse_pending` raises `PendingAction` while `SessionRow.pending_turn` is set.
    """

    entries: tuple[NewEntry, ...] = ()
    expected_head: int | None = None
    fence: int | None = None
    takeover_fence: int | None = None
    beside: bool = False
    refuse_pending: bool = False
    claim: Claim | None = None
    release: bool = False
    stop_turn: int | None = None
    open: OpenSession | None = None
    turn: TurnWrite | None = None
    settles: TurnWrite | None = None
    call: CallWrite | None = None
    session: SessionPatch | None = None
    user_state: UserStateWrite | None = None
    idempotency: IdempotencyWrite | None = None
    events: tuple[EventRow, ...] = ()
    blobs: tuple[NewBlob, ...] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did. The tuples run along `Append.entries`; `last_seq` and `head_digest` are the head after it.

    `turn_number` is that of the opened or claimed turn, else None. `fence` is the session's fence after it. `last_event_n` is the
    greatest event id that the turn of a new claim may have used before (0 for a new turn): events go on behind it.
    `replayed`: nothing was written, and `stored` is the answer kept under the key.
    """

    first_seq: int
    last_seq: int
    head_digest: bytes
    fence: int
    turn_number: int | None
    message_indexes: tuple[int | None, ...]
    payload_digests: tuple[bytes, ...]
    digests: tuple[bytes, ...]
    recorded_at: datetime
    last_event_n: int = 0
    replayed: bool = False
    stored: StoredAnswer | None = None


def committed(entries: tuple[NewEntry, ...], appended: Appended) -> list[Entry]:
    """The entries as the ledger now holds them, made from an append and its answer without reading them back.

    `NEW_TURN` becomes the number of the opened turn. Not for a replayed append, which wrote nothing.
    """
    return [
        Entry(
            seq=appended.first_seq + at,
            kind=new.kind,
            version=KINDS[new.kind].version,
            turn=appended.turn_number if new.turn == NEW_TURN else new.turn,
            message_index=appended.message_indexes[at],
            agent=new.agent,
            invocation=new.invocation,
            tokens=new.tokens,
            hidden=new.hidden,
            include_in_context=new.include_in_context,
            attributes=new.attributes,
            payload=new.payload,
            payload_digest=appended.payload_digests[at],
            digest=appended.digests[at],
            at=new.at,
            recorded_at=appended.recorded_at,
            blobs=new.blobs,
        )
        for at, new in enumerate(entries)
    ]
