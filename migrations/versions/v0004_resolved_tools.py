"""What tool servers said of an agent's tools when it was put, kept in the revision."""

from migrations.sql import run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
