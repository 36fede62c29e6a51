"""Floor 3: wire formats and file formats, one folder each, strangers to one another.

A format has those of the directions that it supports: a neutral request to bytes, recorded bytes to messages, stream
bytes to deltas, deltas to stream bytes; errors and validity beside them. Pure: no database, no HTTP, no clock, no
chance, no event loop, no pydantic. May import `context`, `turn`, `models`, `entries`, `config`.
"""
