"""The state that the sessions of one user share."""

from migrations.sql import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
