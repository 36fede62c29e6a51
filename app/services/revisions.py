"""Agent revisions, decoded once: they never change, so a process keeps the ones it met."""

from collections import OrderedDict
from typing import Any
from uuid import UUID

from app.config.limits import AGENT_REVISIONS_CACHED_MAX
from app.context.agents.read import filled, read_agent
from app.context.sources import AgentRevision
from app.entries import lossless
from app.entries.errors import NotFound
from app.models.resolve import Limits
from app.storage.agents import Agents
from app.storage.rows import AgentRow


class Revisions:
    """Reads revisions; raises `NotFound` for one that does not exist."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._known: OrderedDict[tuple[UUID, str, int], AgentRevision] = OrderedDict()

    async def get(self, tenant: UUID, name: str, revision: int) -> AgentRevision:
        """One revision by its number."""
        key = (tenant, name, revision)
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return found
        return self._keep(tenant, await agent_row(self._agents, tenant, name, revision))

    async def latest(self, tenant: UUID, name: str) -> AgentRevision:
        """The newest revision, asked of the database each time."""
        row = await agent_row(self._agents, tenant, name)
        return self._known.get((tenant, name, row.revision)) or self._keep(tenant, row)

    def _keep(self, tenant: UUID, row: AgentRow) -> AgentRevision:
        found = decode_agent(row)
        self._known[tenant, row.name, row.revision] = found
        while len(self._known) > AGENT_REVISIONS_CACHED_MAX:
            self._known.popitem(last=False)
        return found


async def agent_row(agents: Agents, tenant: UUID, name: str, revision: int | None = None) -> AgentRow:
    """The row of a revision, by default the newest. Raises `NotFound`."""
    row = await agents.get(tenant, name, revision)
    if row is None:
        raise NotFound("There is no such agent or revision.")
    return row


def decode_agent(row: AgentRow) -> AgentRevision:
    """The revision that a row holds, with the limits that were frozen when it was put."""
    limits = Limits(**lossless.read(row.limits))
    return read_agent(row.name, row.revision, document_of(row), limits, "sha256:" + row.digest.hex())


def document_of(row: AgentRow) -> dict[str, Any]:
    """The document of a row, with what tool servers said of its tools when it was put: whoever has it needs to ask nobody."""
    resolved = [] if row.resolved_tools is None else lossless.loads(row.resolved_tools, 80)
    return filled(lossless.loads(row.document, 80), resolved)
