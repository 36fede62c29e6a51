"""Which source of a call is not what it was: the digest chain and the revision's digest say it, asked only where an input differs."""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from app.services.inputs import Prepared
from app.storage.store import Store

_OF_SETTINGS: Mapping[str, str] = MappingProxyType(
    {"state_changed": "state", "skill_loaded": "skills", "agent_adopted": "agent", "session_opened": "agent", "model_switched": "target"}
)
"""What an entry of a settings kind is a source of."""


class Mismatches:
    """Reads and compares; writes nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def broken(self, tenant: UUID, session: UUID, head_seq: int) -> list[int]:
        """The entries up to there that are not what the chain says of them, ascending. O(history)."""
        verified = await self._store.ledger.verify(tenant, session)
        return sorted({problem.seq for problem in (verified.problems if verified else ()) if problem.seq <= head_seq})

    async def named(self, tenant: UUID, session: UUID, prepared: Prepared, mismatch: Mapping[str, Any]) -> dict[str, Any]:
        """The mismatch with the entry that causes it, where one that the input was made of is broken; with the agent where its document is.

        A source that is off by itself (`target`: the operator's configuration has changed) keeps its name without an entry.
        """
        window, agent = prepared.window, prepared.sources.agent
        broken = await self.broken(tenant, session, window.head_seq)
        messages = {entry.seq for entry in window.messages}
        others = (*window.settings.values(), *window.folds)  # each skill that was loaded is a source, not the latest alone
        settings = {entry.seq: _OF_SETTINGS[entry.kind] for entry in others if entry.kind in _OF_SETTINGS}
        source = mismatch["source"]
        if source in ("entries", "body") and (seq := next((seq for seq in broken if seq in messages), None)) is not None:
            return {"source": "entries", "seq": seq}
        for seq in broken:
            if seq in settings and (settings[seq] == "target") == (source == "target"):
                return {"source": settings[seq], "seq": seq}
        row = None if source == "target" else await self._store.agents.get(tenant, agent.name, agent.revision)
        if row is not None and hashlib.sha256(row.document.encode()).digest() != row.digest:
            return {"source": "agent"}
        return dict(mismatch)
