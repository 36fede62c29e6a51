"""The receipt of an erasure: what is gone, what stays by contract, and what still holds the rest, and until when."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.entries.ids import SESSION, format_id
from app.entries.wire import timestamp
from app.storage.erasures import Remains

KEPT_OF_USER = (
    "The digest chain: of each entry seq, kind, times, flags, token count, agent name and digests; payload digests had salts, which are gone.",
    "Names of blobs, which are unsalted digests of their bytes, with media type and size: who has a file can tell that it was there.",
    "The session's id, counters, sums of usage, and the ids and figures of its turns and calls.",
)
KEPT_OF_SESSION = (
    *KEPT_OF_USER,
    "State that the user's sessions share, and what other sessions of the user recorded of it: erase the user.",
)
KEPT_OF_ENTRY = (
    "The entry's place in the digest chain with its kind, times, flags and token count; its payload digest had a salt, which is gone.",
    "Ids and names of its tool calls.",
    "Names of its blobs, which are unsalted digests of their bytes: who has a file can tell that it was there.",
    "What it was made of, what other messages say again, and title and metadata of the session: redact or change each of them.",
)


def receipt(
    sessions: Sequence[UUID], erased_at: datetime, erased: Mapping[str, int], kept: Sequence[str], remains: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The receipt as a resource."""
    return {
        "object": "erasure_receipt",
        "session_ids": [format_id(SESSION, session) for session in sessions],
        "erased_at": timestamp(erased_at),
        "erased": dict(erased),
        "kept": list(kept),
        "remains": [dict(one) for one in remains],
    }


def remaining(found: Remains) -> list[dict[str, Any]]:
    """What still holds erased rows: where, until when in words, and what the server says of it."""
    vacuumed = "not every one was vacuumed yet" if found.vacuumed_at is None else f"the oldest last vacuum was at {timestamp(found.vacuumed_at)}"
    vacuum = "autovacuum is on" if found.autovacuum else "autovacuum is off: run VACUUM on the tables of the schema ledger"
    slots = f"{found.slots} replication slots" if found.slots else "no replication slot"
    archive = "archiving is off" if found.archive_mode == "off" else "archived segments stay as long as the operator keeps them"
    return [
        _row("dead_rows", "the next vacuum of each table, once no older transaction runs", f"{vacuum}; {vacuumed}."),
        _row("free_pages", "the pages are written over or the file system gives them away", "A vacuum frees the room and does not write it over."),
        _row(
            "wal",
            "the segments are recycled, some checkpoints from now",
            f"wal_level {found.wal_level}, a checkpoint each {found.checkpoint_timeout} or {found.max_wal_size}, {found.wal_keep} kept; {archive}.",
        ),
        _row("replicas", "they have replayed the erasure and vacuumed", f"{slots} on this server."),
        _row("backups", "the operator's retention of dumps and base backups ends", "The service does not know them."),
        _row("exports", "whoever made them deletes them", "Copies that clients read, model providers' logs among them, are not reached."),
    ]


def _row(where: str, until: str, detail: str) -> dict[str, Any]:
    return {"where": where, "until": until, "detail": detail}
