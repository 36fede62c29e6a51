"""The Entry resource of the contract, as JSON text: stored fragments are joined, never parsed and spelled again.

`ledger.entry_line` in the database spells the same, for long readings.
"""

from datetime import UTC, datetime

import orjson

from app.entries.messages import Entry


def timestamp(at: datetime) -> str:
    """RFC 3339 in UTC with microseconds and `Z`."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def read_timestamp(value: object) -> datetime | None:
    """The moment that a text with an offset names (ISO 8601), in UTC; None for anything else, and outside of the years 1 to 9999."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        return found.astimezone(UTC) if found is not None and found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _string(value: str | None) -> str:
    return "null" if value is None else orjson.dumps(value).decode()


def _flag(value: bool) -> str:
    return "true" if value else "false"


def entry_json(entry: Entry, body: str | None = None) -> str:
    """The Entry as one line of JSON. `body` replaces the stored payload where its blobs were put back inline; an erased one is null."""
    index = "null" if entry.message_index is None else str(entry.message_index)
    turn = "null" if entry.turn is None else str(entry.turn)
    at = timestamp(entry.at or entry.recorded_at)
    return (
        f'{{"seq":{entry.seq},"kind":"{entry.kind}","turn":{turn},"message_index":{index},"agent":{_string(entry.agent)},'
        f'"invocation":{entry.invocation},"at":"{at}","digest":"sha256:{entry.digest.hex()}","tokens":{entry.tokens},'
        f'"hidden":{_flag(entry.hidden)},"include_in_context":{_flag(entry.include_in_context)},'
        f'"attributes":{entry.attributes or "{}"},"body":{body or entry.payload or "null"}}}'
    )
