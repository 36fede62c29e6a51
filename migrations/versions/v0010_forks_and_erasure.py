"""Windows of deep forks are read by one statement, and an erasure holds against what is under way beside it."""

from migrations.sql import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
