"""Context Ledger: an append-only ledger of AI sessions, and what a model is sent, derived from it.

The packages are floors, each of which may import only what lies below it (`pyproject.toml`, `[tool.importlinter]`):
cli > testing > main > api | doors > services > outbound > storage | formats > context | turn > models > entries > config | telemetry.
"""
