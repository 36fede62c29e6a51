"""The first schema: sessions, entries, turns, calls, claims, deltas, idempotency, blobs, agents, keys."""

from migrations.sql import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Runs the frozen files. There is no way down: the ledger only grows."""
    run(revision)
