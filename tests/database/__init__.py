"""The tests' Postgres: one server for a run of pytest, one migrated template in it, one copy of that a test.

By default it is the embedded server, in a process of its own that all pytest workers share. With CONTEXT_LEDGER_TEST_DATABASE_URL (the
app role) and CONTEXT_LEDGER_TEST_MIGRATE_DATABASE_URL (a role that may create databases and roles, without a pooler between) any other
server serves the same tests.
"""
