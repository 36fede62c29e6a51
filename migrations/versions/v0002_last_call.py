"""The newest dispatched call of a session, for the report of what a provider's cache can reuse."""

from migrations.sql import run

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Runs the frozen file."""
    run(revision)
