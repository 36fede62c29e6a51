"""Compactions whose holder is gone: each request gets its end, and its call too."""

from app.entries import lossless
from app.entries.compactions import CompactionFailed, CompactionRequested
from app.entries.ids import CALL, parse_id
from app.entries.messages import Entry
from app.services.call_records import lost_attempt_json
from app.services.write import Draft
from app.storage.types import CallWrite


def given_up(requested: Entry) -> Draft:
    """The end of a compaction that nobody makes any more, as an entry of the run that asked for it."""
    failed = CompactionFailed(requested.seq, "failed", "interrupted")
    return Draft(failed.kind, failed.encode(), requested.turn, requested.hidden, agent=requested.agent, invocation=requested.invocation)


def abandoned(requested: Entry) -> CallWrite | None:
    """The end of the row of its call; None for a driver that called nobody."""
    call_id = CompactionRequested.decode(requested.payload or "").call_id
    uuid = None if call_id is None else parse_id(CALL, call_id)
    if uuid is None:
        return None
    return CallWrite(uuid, turn=requested.turn or 0, status="abandoned", attempts=lossless.dumps([lost_attempt_json(1, "abandoned")]))
