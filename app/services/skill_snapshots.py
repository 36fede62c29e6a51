"""The read of stored skill snapshots, texts included: complete originals stay readable here, and never in a source map (S2-10)."""

from typing import Any
from uuid import UUID

from app.context.snapshots import skill_snapshots
from app.entries.folds import SkillLoaded
from app.entries.messages import Entry
from app.entries.wire import timestamp
from app.services.pages import Page
from app.services.session_ids import session_row
from app.storage.rows import EntryFilter
from app.storage.store import Store


class SkillSnapshots:
    """Reads the snapshots of a session's current line."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, tenant: UUID, session_id: str, after: int, limit: int) -> Page:
        """Snapshots behind that seq, in their order. Raises `NotFound`."""
        row = await session_row(self._store.sessions, tenant, session_id)
        chosen = EntryFilter(line=row.line, kinds=(SkillLoaded.kind,), after_seq=after, at_seq=row.head_seq)
        entries = await self._store.ledger.entries(tenant, row.session_id, chosen, limit + 1)
        return Page([_json(entry) for entry in entries[:limit]], entries[limit - 1].seq if len(entries) > limit else None)


def _json(entry: Entry) -> dict[str, Any]:
    """A snapshot as it is listed; one that was erased keeps its place alone."""
    place = {"object": "skill_snapshot", "seq": entry.seq, "turn": entry.turn, "at": timestamp(entry.at or entry.recorded_at)}
    body = next((one.body for one in skill_snapshots([entry])), None)
    if body is None:
        return {**place, "name": None, "revision": None, "text": None, "placement": None, "anchor": None, "selected_by": None}
    anchor = {"seq": body.anchor_seq} if body.placement == "user" else {"user_turn": body.user_turn}
    said = {"name": body.name, "revision": body.revision, "text": body.text, "placement": body.placement}
    return {**place, **said, "anchor": anchor, "selected_by": body.selected_by}
