"""Floor 5: what the service does, out of pure decisions below and the shells that reach Postgres and providers.

Order inside: `turns` over `calls`, `transfers`; those over `inputs`, `streams`; all over `write`. Knows no web framework and
no SQL; every wait, queue and loop has its limit in `config`.
"""
