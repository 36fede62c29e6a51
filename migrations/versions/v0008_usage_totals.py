"""What the calls of a session used, and folds by their kind."""

from migrations.sql import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
