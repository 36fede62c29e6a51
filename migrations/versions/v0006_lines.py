"""Windows behind what a checkpoint covers, and forks that share their prefix."""

from migrations.sql import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
