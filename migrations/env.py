"""What alembic runs: the connection and its transaction belong to `app.storage.migrate`."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema="ledger",
    on_version_apply=context.config.attributes["on_version_apply"],
)
with context.begin_transaction():
    context.run_migrations()
