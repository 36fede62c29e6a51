"""What reads give, as frozen values; what writes take is in `types`, what claims and the delta log give in `claim_rows`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.entries.line import Line
from app.entries.messages import Entry


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What was answered under an idempotency key. `session` and `turn` say what a replay attaches to."""

    request_digest: bytes
    status: int
    body: str | None
    session: UUID | None
    turn: int | None
    created_at: datetime

    def answers(self, request_digest: bytes) -> bool:
        """Whether it is the answer to a request of that digest."""
        return self.request_digest in (request_digest, ERASED_DIGEST)


ERASED_DIGEST = bytes(32)
"""Of a request whose digest was erased: any request with its key is taken for it."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as it stands. `model`, `metadata` and `usage` are JSON texts; `running_turn` and `fence` come from its claim.

    `usage`: `{"input", "cached", "cache_write", "output", "reasoning", "calls"}`, all integers, of the main calls alone;
    `compaction_count` counts those for summaries. `fence` is the last fence given, whether a claim stands or not; `running_turn` is None
    without one, `lease_until` and `stop_requested_at` too. A fork left `parent_session` behind `parent_seq`. `prefix_key` is never shown:
    the digests that bind providers' blocks are made under it (hex; empty in an older session).
    """

    tenant: UUID
    session_id: UUID
    head_seq: int
    head_digest: bytes
    agent: str | None
    agent_revision: int | None
    agent_follows: bool
    model: str | None
    title: str | None
    metadata: str
    user: str | None
    external_id: str | None
    line: Line
    message_count: int
    turn_count: int
    last_turn: int
    meta_version: int
    dispatched_call: UUID | None
    dispatched_count: int
    pending_turn: int | None
    running_turn: int | None
    fence: int
    lease_until: datetime | None
    stop_requested_at: datetime | None
    created_at: datetime
    active_at: datetime
    usage: str
    compaction_count: int = 0
    parent_session: UUID | None = None
    parent_seq: int | None = None
    prefix_key: str = field(default="", repr=False)

    @property
    def status(self) -> Literal["busy", "pending", "idle"]:
        """Busy while claimed, pending while a turn waits for an action."""
        if self.running_turn is not None:
            return "busy"
        return "idle" if self.pending_turn is None else "pending"


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn. `follows` is a turn's number, 0 for the start; `options`, `error`, `pending`, `usage` are JSON texts or None.

    Its entries lie between `first_seq` and `last_seq` (the head after it settled; None while it has not). `claims` counts who
    held it: the next holder logs events from `claims` × `EVENT_IDS_PER_CLAIM` + 1 on. `session` holds it: the one that was asked, or one of
    a fork's ancestry, with which the usage stays.
    """

    number: int
    turn_id: UUID
    status: str
    follows: int
    retry_of: int | None
    input_seq: int | None
    first_seq: int
    last_seq: int | None
    options: str | None
    error: str | None
    pending: str | None
    usage: str | None
    claims: int
    created_at: datetime
    settled_at: datetime | None
    session: UUID


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn with the ids of what it names (`follows_id` None: the start), its calls by time, and the seqs of its entries."""

    row: TurnRow
    follows_id: UUID | None
    retry_of_id: UUID | None
    siblings: tuple[UUID, ...]
    calls: tuple[UUID, ...]
    entry_seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallRow:
    """A model call. `record`, `attempts`, `usage` are JSON texts; `answer_seq` is the entry that it became."""

    call_id: UUID
    turn: int
    step_index: int
    purpose: str
    status: str
    head_seq: int
    record: str
    attempts: str | None
    usage: str | None
    answer_seq: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """Calls whose input was counted in one way: reported over estimated, on average and for 95 of 100; `within`: covered with the band."""

    upstream: str
    model: str
    method: str
    estimator: str
    error_band: float
    calls: int
    within: int
    mean_ratio: float
    p95_ratio: float


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One revision of an agent. `document`, `limits` and `resolved_tools` (what tool servers said of tools that the document leaves
    undescribed) are JSON texts, `digest` is of the document with that filled in; `latest` the newest revision's number."""

    name: str
    revision: int
    latest: int
    document: str
    limits: str
    digest: bytes
    created_at: datetime
    resolved_tools: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An API key without its secret."""

    key_id: UUID
    tenant: UUID
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions a list shows; None: any. `metadata` pairs must all match as text."""

    agent: str | None = None
    user: str | None = None
    external_id: str | None = None
    status: Literal["busy", "pending", "idle"] | None = None
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SessionCursor:
    """The last session of the page before."""

    active_at: datetime
    session_id: UUID


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries a read gives. `line` None: all lines (the current one is `SessionRow.line`).

    `after_seq` and `before_seq` are exclusive, `at_seq` is inclusive.
    `families`: letters of `entries.kinds.Family`; `hidden` False leaves hidden entries out.
    """

    line: Line | None = None
    families: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    after_seq: int = 0
    before_seq: int | None = None
    at_seq: int | None = None
    hidden: bool = True
    descending: bool = False

    def behind(self, seq: int) -> "EntryFilter":
        """The same filter for what comes after that entry, in its order."""
        return replace(self, before_seq=seq) if self.descending else replace(self, after_seq=seq)


@dataclass(frozen=True, slots=True)
class Lines:
    """A run of entries as NDJSON: each line ends in a line break. `last_seq` is where to go on after.

    `has_blobs`: at least one of them names a blob, which stands as a reference here.
    """

    last_seq: int
    entries: int
    has_blobs: bool
    text: str


@dataclass(frozen=True, slots=True)
class Window:
    """What a compile reads of a session, all as of `head_seq`: the line, its messages and folds, the latest of each settings kind.

    `session` is the row as of now, `checkpoint` the entry that the line names; `history_message_count` is of the ledger up to the head.
    """

    session: SessionRow
    head_seq: int
    line: Line
    history_message_count: int
    messages: tuple[Entry, ...]
    folds: tuple[Entry, ...]
    settings: Mapping[str, Entry]
    checkpoint: Entry | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """What a fork shares: how many messages and turns came before its own entries, and its whole ledger as a line."""

    message_count: int
    turn_count: int
    whole: Line


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the chain does not explain. `what` is one of `gap`, `digest`, `payload`, `message-index`, `blob`, `head`."""

    seq: int
    what: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of walking a session's chain: entries seen, the digest at their end, and at most `PROBLEMS_MAX` problems."""

    entries: int
    head_digest: bytes
    problems: tuple[Problem, ...]
