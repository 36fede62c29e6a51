"""Lines of our own export. The caller streams: head, then entries in order of seq with their blobs before them, then the end."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.entries import lossless
from app.entries.messages import Entry

VERSION = 1


def write_head(session: Mapping[str, Any]) -> bytes:
    """The first line of a session. `title` and `external_id` are read back; what else is there comes back as `facts`."""
    return _line({"context_ledger": VERSION, "session": dict(session)})


def write_blob(digest: str, media_type: str, data: bytes) -> bytes:
    """One blob."""
    return _line({"blob": digest, "media_type": media_type, "data": b64encode(data).decode()})


def write_entry(entry: Entry) -> bytes:
    """One entry, its texts as they are stored; an erased payload is null. `ledger.archive_line` in the database spells the same."""
    return _line(
        {
            "seq": entry.seq,
            "kind": entry.kind,
            "version": entry.version,
            "turn": entry.turn,
            "message_index": entry.message_index,
            "agent": entry.agent,
            "invocation": entry.invocation,
            "tokens": entry.tokens,
            "hidden": entry.hidden,
            "include_in_context": entry.include_in_context,
            "at": _time(entry.at),
            "recorded_at": _time(entry.recorded_at),
            "digest": entry.digest.hex(),
            "attributes": entry.attributes,
            "body": entry.payload,
        }
    )


def write_end(entries_count: int) -> bytes:
    """The last line of a session."""
    return _line({"end": {"entries": entries_count}})


def _line(value: dict[str, Any]) -> bytes:
    return lossless.dumps(value).encode() + b"\n"


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")
