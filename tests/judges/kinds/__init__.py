"""Kinds of difference between a recorded request and ours, a module a vendor; see `kind.py`."""
