"""A window of many pieces, as deep forks have, is read by one statement."""

from migrations.sql import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
