"""How well the input of calls was estimated, for `context-ledger models --accuracy`."""

from migrations.sql import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Runs the frozen file."""
    run(revision)
