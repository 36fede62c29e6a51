"""Agents: names, and the immutable revisions that are put under them."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.config.limits import AGENT_BYTES_MAX
from app.context.agents.check import check_document
from app.context.agents.read import filled, normalised, read_driver
from app.entries import lossless
from app.entries.errors import Fault, Invalid
from app.entries.wire import timestamp
from app.models.resolve import Limits, ModelChoice
from app.outbound.tool_servers.servers import ToolServers
from app.services.pages import Page
from app.services.remote_tools import resolved_tools, unknown_servers
from app.services.revisions import agent_row
from app.services.targets import Targets
from app.storage.agents import Agents as AgentRows
from app.storage.rows import AgentRow


class Agents:
    """Reads and puts agents; `revisions` decodes them for compiling."""

    def __init__(self, rows: AgentRows, targets: Targets, servers: ToolServers) -> None:
        self._rows = rows
        self._targets = targets
        self._servers = servers

    async def put(self, tenant: UUID, name: str, document: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The newest revision, and whether this document made it. Raises `Invalid` with every fault; nothing is stored then.

        Tool servers are asked for what the document leaves out of their tools: what they say is a part of the revision.
        """
        faults = await asyncio.to_thread(check_document, document)
        if not faults:
            faults = [*unknown_servers(self._servers, document.get("tools", ())), *await self._unknown_agents(tenant, name, document)]
        if faults:
            raise Invalid(faults)
        text = _bounded(document)
        model = document["model"]
        given = document.get("limits")
        explicit = None if given is None else Limits(int(given["context_window"]), int(given["max_output_tokens"]), "explicit")
        target = self._targets.resolve(ModelChoice(model["upstream"], model["name"], model.get("params", {})), explicit, limits_pointer="/limits")
        driver = read_driver(normalised(document)["compaction"]["driver"])
        if driver.model is not None:
            own = (driver.model.upstream, driver.model.name) == (target.model.upstream, target.model.name)
            self._targets.resolve(driver.model, target.limits if own else None, "/compaction/driver/model")
        resolved = await resolved_tools(self._servers, document.get("tools", ()))
        said = lossless.dumps(resolved) if resolved else None
        # Key order counts: it is the order of the declared tools' schemas in the bytes that a provider gets.
        digest = hashlib.sha256(_bounded(filled(document, resolved)).encode()).digest()
        row, created = await self._rows.put(tenant, name, text, lossless.dumps(target.limits.to_json()), digest, said)
        return agent_json(row), created

    async def get(self, tenant: UUID, name: str, revision: int | None = None) -> dict[str, Any]:
        """A revision, by default the newest. Raises `NotFound`."""
        return agent_json(await agent_row(self._rows, tenant, name, revision))

    async def list(self, tenant: UUID, after: str | None, limit: int) -> Page:
        """The newest revision of each agent, by name."""
        rows = await self._rows.list(tenant, after=after, limit=limit + 1)
        return Page([agent_json(row) for row in rows[:limit]], rows[limit - 1].name if len(rows) > limit else None)

    async def revisions(self, tenant: UUID, name: str, after: int, limit: int) -> Page:
        """Every revision, ascending. Raises `NotFound` for an unknown agent."""
        rows = await self._rows.revisions(tenant, name, after=after, limit=limit + 1)
        if not rows:
            await agent_row(self._rows, tenant, name)
        return Page([agent_json(row) for row in rows[:limit]], rows[limit - 1].revision if len(rows) > limit else None)

    async def _unknown_agents(self, tenant: UUID, name: str, document: dict[str, Any]) -> tuple[Fault, ...]:
        """A fault for each tool that is an agent which is not there; one may name itself."""
        named = {position: tool["executor"]["agent"] for position, tool in enumerate(document.get("tools", ())) if _kind(tool) == "agent"}
        known = {agent for agent in set(named.values()) if agent == name or await self._rows.get(tenant, agent) is not None}
        return tuple(
            Fault(f"/tools/{position}/executor/agent", "unknown-agent", "There is no agent of this name; put its document first.")
            for position, agent in named.items()
            if agent not in known
        )


def _kind(tool: Mapping[str, Any]) -> str:
    return str(tool.get("executor", {}).get("kind", "client"))


def _bounded(document: Mapping[str, Any]) -> str:
    """The document as text. Raises `Invalid` for one that is too large."""
    text = lossless.dumps(document)
    if len(text.encode()) > AGENT_BYTES_MAX:
        raise Invalid([Fault("", "too-large", f"An agent may hold {AGENT_BYTES_MAX} bytes, what tool servers say of its tools included.")])
    return text


def agent_json(row: AgentRow) -> dict[str, Any]:
    """The Agent resource: one revision."""
    return {
        "object": "agent",
        "name": row.name,
        "revision": row.revision,
        "document": lossless.loads(row.document, 80),
        "limits": lossless.loads(row.limits),
        "resolved_tools": [] if row.resolved_tools is None else lossless.loads(row.resolved_tools, 80),
        "digest": "sha256:" + row.digest.hex(),
        "created_at": timestamp(row.created_at),
    }
