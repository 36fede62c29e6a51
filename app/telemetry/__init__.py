"""The ground beside config: logs with redaction, metrics, the id of the request at hand. It imports nothing of ours.

No prompt text and no secret passes through here: callers log ids, counts and codes; redaction is the second wall, not the first.
"""
