"""The ground beside telemetry: settings, limits and upstreams, read once at the start.

Every number that bounds a loop, queue, body or wait stands here. Nothing here opens a socket or reads the
environment by itself: the caller hands over the variables. It imports nothing of ours.
"""
