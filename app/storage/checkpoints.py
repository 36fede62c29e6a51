"""Checkpoints of a session's whole ledger, the ancestors of a fork included, with the lines that they set."""

from dataclasses import dataclass
from uuid import UUID

from app.entries.compactions import Checkpoint
from app.entries.line import Line, decode_line
from app.entries.messages import Entry
from app.storage import decode
from app.storage.pool import Pool

_FOLDS = "SELECT * FROM ledger.folds_v1($1, $2, $3, $4, $5, $6, $7, $8)"

CheckpointRows = list["CheckpointRow"]


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """The entry of a checkpoint, the session that holds it, and the line that it set, as that session spells it."""

    entry: Entry
    session: UUID
    line: Line


class Checkpoints:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list(
        self, tenant: UUID, session: UUID, limit: int, *, after_seq: int = 0, at_seq: int | None = None, descending: bool = False
    ) -> CheckpointRows:
        """At most `limit` checkpoints behind `after_seq` (exclusive) up to `at_seq` (inclusive), by their seq."""
        return await self._read(tenant, session, None, after_seq, at_seq, descending, limit)

    async def get(self, tenant: UUID, session: UUID, checkpoint_id: str, at_seq: int | None = None) -> CheckpointRow | None:
        """The checkpoint of that id, erased or not; None where there is none up to `at_seq`."""
        rows = await self._read(tenant, session, checkpoint_id, 0, at_seq, False, 1)
        return rows[0] if rows else None

    async def _read(
        self, tenant: UUID, session: UUID, checkpoint_id: str | None, after_seq: int, at_seq: int | None, descending: bool, limit: int
    ) -> CheckpointRows:
        rows = await self._pool.fetch(_FOLDS, tenant, session, Checkpoint.kind, checkpoint_id, after_seq, at_seq, descending, limit)
        return [CheckpointRow(decode.entry(row), row["session_id"], decode_line(row["line"])) for row in rows]
