"""Floor 3: Postgres, and the only package that speaks SQL.

Reads and writes what the ledger is made of, one statement a call, in AUTOCOMMIT. It knows an entry's family letter and never
what a kind means. It may import `entries`, `config` and `telemetry`, and nothing of formats, services or the web. No prompt
text, parameter or secret may leave it in an error or a log.
"""
