"""The erasure of sessions and users, and the redaction of entries."""

from migrations.sql import run

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
