"""Floor 0: what a session is made of.

Kinds, parts, message bodies, stream deltas and the fold from deltas to an answer, the line, ids and
typed errors. Pure: no database, no HTTP, no clock, no chance, no event loop. Everything above may
import this package; it imports nothing of ours.
"""
