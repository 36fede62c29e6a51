"""${message}."""

from migrations.sql import run

revision = "${up_revision}"
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    run(revision)
