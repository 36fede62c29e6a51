"""Agents: names, and the immutable revisions that are put under them."""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.config.limits import AGENT_BYTES_MAX
from app.context.agents.check import check_document
from app.entries import lossless
from app.entries.errors import Fault, Invalid, NotFound
from app.entries.wire import timestamp
from app.models.resolve import Limits, ModelChoice
from app.services.targets import Targets
from app.storage.agents import Agents as AgentRows
from app.storage.rows import AgentRow


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: the resources, and where the next page begins (None: there is none)."""

    data: list[dict[str, Any]]
    next: str | int | None


class Agents:
    """Reads and puts agents; `revisions` decodes them for compiling."""

    def __init__(self, rows: AgentRows, targets: Targets) -> None:
        self._rows = rows
        self._targets = targets

    async def put(self, tenant: UUID, name: str, document: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The newest revision, and whether this document made it. Raises `Invalid` with every fault; nothing is stored then."""
        faults = await asyncio.to_thread(check_document, document)
        if faults:
            raise Invalid(faults)
        text = lossless.dumps(document)
        if len(text.encode()) > AGENT_BYTES_MAX:
            raise Invalid([Fault("", "too-large", f"An agent may hold {AGENT_BYTES_MAX} bytes.")])
        model = document["model"]
        given = document.get("limits")
        explicit = None if given is None else Limits(int(given["context_window"]), int(given["max_output_tokens"]), "explicit")
        target = self._targets.resolve(ModelChoice(model["upstream"], model["name"], model.get("params", {})), explicit, limits_pointer="/limits")
        # Key order counts: it is the order of the declared tools' schemas in the bytes that a provider gets.
        row, created = await self._rows.put(tenant, name, text, lossless.dumps(target.limits.to_json()), hashlib.sha256(text.encode()).digest())
        return agent_json(row), created

    async def get(self, tenant: UUID, name: str, revision: int | None = None) -> dict[str, Any]:
        """A revision, by default the newest. Raises `NotFound`."""
        return agent_json(await self._row(tenant, name, revision))

    async def list(self, tenant: UUID, after: str | None, limit: int) -> Page:
        """The newest revision of each agent, by name."""
        rows = await self._rows.list(tenant, after=after, limit=limit + 1)
        return Page([agent_json(row) for row in rows[:limit]], rows[limit - 1].name if len(rows) > limit else None)

    async def revisions(self, tenant: UUID, name: str, after: int, limit: int) -> Page:
        """Every revision, ascending. Raises `NotFound` for an unknown agent."""
        rows = await self._rows.revisions(tenant, name, after=after, limit=limit + 1)
        if not rows:
            await self._row(tenant, name, None)
        return Page([agent_json(row) for row in rows[:limit]], rows[limit - 1].revision if len(rows) > limit else None)

    async def _row(self, tenant: UUID, name: str, revision: int | None) -> AgentRow:
        row = await self._rows.get(tenant, name, revision)
        if row is None:
            raise NotFound("There is no such agent or revision.")
        return row


def agent_json(row: AgentRow) -> dict[str, Any]:
    """The Agent resource: one revision."""
    return {
        "object": "agent",
        "name": row.name,
        "revision": row.revision,
        "document": lossless.loads(row.document, 80),
        "limits": lossless.loads(row.limits),
        "digest": "sha256:" + row.digest.hex(),
        "created_at": timestamp(row.created_at),
    }
