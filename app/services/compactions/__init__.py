"""Compaction: older messages give way to a summary of them, and only where the whole request is smaller for it (http-api 7).

`choices` says what would be done, `requests` what a summary is asked for with, `attempts` makes one from its durable request to its
checkpoint or its failure. `preflight` and `overflows` are the occasions of a turn; a manual one holds the session without a turn.
"""
