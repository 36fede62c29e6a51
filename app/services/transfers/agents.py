"""The agents that imported sessions follow: the one that was named, the revisions that an export brings, or a first document."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.entries import lossless
from app.entries.errors import Conflict, Invalid, NotFound
from app.services.agents import Agents
from app.storage.agents import Agents as AgentRows
from app.storage.rows import AgentRow

DEFAULT_AGENT = "imported"
DEFAULT_DOCUMENT: dict[str, Any] = {
    "model": {"upstream": "scripted", "name": "scripted"},
    "limits": {"context_window": 200_000, "max_output_tokens": 8_192},
}
"""What imported sessions follow where nobody names an agent: the built-in upstream, until another document is put under the name."""


@dataclass(frozen=True, slots=True)
class Following:
    """Finds and makes agents. `may_put`: whether the one who imports may write agents; without that an export's are only looked for."""

    agents: Agents
    rows: AgentRows
    may_put: bool = True

    async def named(self, tenant: UUID, name: str | None, dry_run: bool) -> AgentRow | None:
        """The newest revision of the named agent, else of the default one, which is made where it is missing. Raises `NotFound`.

        None: a dry run that would make it.
        """
        row = await self.rows.get(tenant, name or DEFAULT_AGENT)
        if row is None and name is not None:
            raise NotFound(f"There is no agent {name[:64]}; put its document first.")
        if row is None and not dry_run:
            await self.agents.put(tenant, DEFAULT_AGENT, DEFAULT_DOCUMENT)
            row = await self.rows.get(tenant, DEFAULT_AGENT)
        return row

    async def exported(self, tenant: UUID, agents: Mapping[str, Any], dry_run: bool) -> None:
        """Makes every revision that an export brings, under the same number.

        Raises `Conflict("agent-differs")` where a revision of that number says something else, `Invalid` for a document that
        cannot stand here (an upstream that is not configured, for one), `NotFound` where it is missing and may not be put.
        """
        for name, documents in agents.items():
            if not isinstance(documents, list):
                raise Invalid([], "The export lists an agent without its documents.", "unreadable-import")
            for revision, document in enumerate(documents, 1):
                row = await self.rows.get(tenant, name, revision)
                if row is not None:
                    if row.digest != hashlib.sha256(lossless.dumps(document).encode()).digest():
                        raise Conflict(
                            f"Revision {revision} of the agent {name[:64]} says something else here; import with another agent named.",
                            "agent-differs",
                        )
                elif not self.may_put:
                    raise NotFound(f"There is no revision {revision} of the agent {name[:64]} here; put it first, or import with an agent named.")
                elif not dry_run:
                    await self.agents.put(tenant, name, document)
