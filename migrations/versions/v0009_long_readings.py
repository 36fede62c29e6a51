"""Long readings: an export's lines as the database spells them, and settings that are found without reading what was said."""

from migrations.sql import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Runs the frozen files."""
    run(revision)
