"""Erasure: what empties sessions and entries for good, run by the database as the one role that may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import urandom
from typing import Any
from uuid import UUID

from app.entries.ids import SESSION, format_id
from app.entries.kinds import KINDS
from app.entries.messages import NewEntry
from app.storage import decode
from app.storage.append_arguments import SALT_BYTES
from app.storage.pool import Pool
from app.storage.rows import SessionRow

_ERASE = "SELECT * FROM ledger.erase_v2($1, $2, $3, $4, $5)"
_MORE = "SELECT * FROM ledger.erase_more_v1($1, $2, $3, $4, $5, $6)"
_BEGUN = "SELECT * FROM ledger.erasures_begun_v1($1, $2)"
_FAMILY = "SELECT * FROM ledger.family_v1($1, $2, $3, $4)"
_REDACT = "SELECT * FROM ledger.redact_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"
_REMAINS = "SELECT * FROM ledger.remains_v1()"


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure took away, by its name in the receipt, and when."""

    sessions: tuple[UUID, ...]
    erased_at: datetime
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Emptied:
    """A step of an erasure, which goes on behind `last_seq`. None: the session is empty."""

    last_seq: int | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Relative:
    """A session of a family. `sharing`: it holds the entry that is asked about too, as its own or as its parent's."""

    row: SessionRow
    sharing: bool


@dataclass(frozen=True, slots=True)
class Redact:
    """What one redaction does. `emptied`: session and seq of each entry; `appended`: session and entry, along their sessions' heads.

    `since`: the first entry that held the text, `seq` or one before it. `figures`: routes, as LIKE patterns, whose kept answers stay.
    `artifact_type`: blobs of that media type go where no entry names them any more, also such as never had an entry.
    """

    seq: int
    since: int
    figures: Sequence[str]
    family: Sequence[Relative]
    emptied: Sequence[tuple[UUID, int]]
    appended: Sequence[tuple[UUID, NewEntry]]
    artifact_type: str


@dataclass(frozen=True, slots=True)
class Remains:
    """What the server tells of erased rows: `vacuumed_at` is the oldest last vacuum of the tables that held them, None where one had none."""

    vacuumed_at: datetime | None
    autovacuum: bool
    wal_level: str
    wal_keep: str
    max_wal_size: str
    checkpoint_timeout: str
    archive_mode: str
    slots: int


class Erasures:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, tenant: UUID, session: UUID | None, user: str | None, limit: int, expected_head: int | None = None) -> Erased:
        """Takes a session, or all of a user's, out of sight; `empty` takes the rest away.

        Raises `NotFound`, `SessionErased`, `SessionBusy`, `ClaimExpired`, `Conflict("has-forks")`, `Conflict` for more than `limit` sessions, and
        `HeadMismatch` for another head, or where a session was opened meanwhile with what the user's sessions shared.
        """
        row = (await self._pool.fetch(_ERASE, tenant, session, user, limit, expected_head))[0]
        return Erased(tuple(row["sessions"]), row["erased_at"], _counts(row, ("turns", "calls", "deltas", "answers", "states")))

    async def empty(self, tenant: UUID, session: UUID, after_seq: int, limit: int, summary_kind: str) -> Emptied:
        """Empties at most `limit` entries behind a seq of a session whose erasure has begun, and behind the last one its turns, calls and blobs."""
        row = (await self._pool.fetch(_MORE, tenant, session, after_seq, limit, summary_kind, format_id(SESSION, session)))[0]
        return Emptied(row["last_seq"], _counts(row, ("entries", "summaries", "blobs", "answers")))

    async def begun(self, older_than_seconds: float, limit: int) -> list[tuple[UUID, UUID]]:
        """Tenant and id of sessions whose erasure began that long ago and did not come to its end, the oldest first."""
        return [(row[0], row[1]) for row in await self._pool.fetch(_BEGUN, older_than_seconds, limit)]

    async def family(self, tenant: UUID, session: UUID, seq: int, limit: int) -> list[Relative]:
        """At most `limit` of the sessions with one origin, by id; none for an unknown session."""
        rows = await self._pool.fetch(_FAMILY, tenant, session, seq, limit)
        return [Relative(decode.session(row["document"]), row["sharing"]) for row in rows]

    async def redact(self, tenant: UUID, session: UUID, redact: Redact) -> Erased:
        """Empties entries and appends those that tell of it, or nothing of it.

        Raises `HeadMismatch` where a session of the family moved on or was forked, `SessionBusy`, `ClaimExpired`, `PendingAction`, `SessionErased`.
        """
        entries = [entry for _, entry in redact.appended]
        row = (
            await self._pool.fetch(
                _REDACT,
                tenant,
                session,
                redact.seq,
                redact.since,
                [format_id(SESSION, one.row.session_id) for one in redact.family if one.sharing],
                redact.figures,
                [one.row.session_id for one in redact.family],
                [one.row.head_seq if one.sharing else None for one in redact.family],
                [at for at, _ in redact.emptied],
                [seq for _, seq in redact.emptied],
                redact.artifact_type,
                [at for at, _ in redact.appended],
                [entry.kind for entry in entries],
                [KINDS[entry.kind].family for entry in entries],
                [KINDS[entry.kind].version for entry in entries],
                [entry.payload for entry in entries],
                [urandom(SALT_BYTES) for _ in entries],
                [entry.line for entry in entries],
            )
        )[0]
        return Erased((session,), row["erased_at"], _counts(row, ("entries", "blobs", "deltas", "answers", "calls", "turns")))

    async def remains(self) -> Remains:
        """What still holds erased rows, as far as the server tells."""
        return Remains(*(await self._pool.fetch(_REMAINS))[0])


def _counts(row: Any, names: Sequence[str]) -> dict[str, int]:
    return {name: row[name] for name in names}
