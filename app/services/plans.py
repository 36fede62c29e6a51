"""The plan of a session, as its model keeps it."""

from typing import Any
from uuid import UUID

from app.entries.settings import PlanChanged, plan_in_force
from app.services.session_ids import session_row
from app.storage.rows import EntryFilter
from app.storage.store import Store


class Plans:
    """Reads plans; only a model's controls change one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def view(self, tenant: UUID, session_id: str) -> dict[str, Any]:
        """The Plan resource: the plan that holds, and what the last control came to. Raises `NotFound`."""
        row = await session_row(self._store.sessions, tenant, session_id)
        chosen = EntryFilter(line=None, kinds=(PlanChanged.kind,), descending=True)
        found = await self._store.ledger.entries(tenant, row.session_id, chosen, 1)
        change, seq = plan_in_force(found[0] if found else None, row.line)
        view: dict[str, Any] = {"object": "plan", "session_id": session_id, "seq": seq, "plan": None, "last_change": None}
        if change is None:
            return view
        told = {"operation": change.operation, "accepted": change.accepted, "feedback": change.feedback, "call_id": change.call_id}
        return view | {"plan": None if change.plan is None else change.plan.to_json(), "last_change": told}
