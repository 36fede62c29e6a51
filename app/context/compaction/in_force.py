"""The checkpoint that stands for the oldest messages of a line."""

from app.context.sources import InForce
from app.entries.compactions import Checkpoint
from app.entries.messages import Entry


def checkpoint_in_force(entry: Entry | None) -> InForce | None:
    """What an entry of kind `checkpoint` says; None without one, and for one that was erased."""
    if entry is None or entry.payload is None:
        return None
    return InForce(entry.seq, Checkpoint.decode(entry.payload), entry.digest)
