"""What the routes need of the services: the real ones, and protocols for what `main` puts together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from app.services.agents import Agents, Page
from app.services.entries import Entries
from app.services.input_queries import InputQuery, WhatIf
from app.services.keys import Keys
from app.services.replays import Replays
from app.services.session_changes import SessionChanges
from app.services.sessions import Sessions
from app.services.states import States
from app.services.transcripts import Transcripts
from app.services.turns.service import TurnService
from app.services.verify import Verifier
from app.telemetry.metrics import Metrics


class Readiness(Protocol):
    """What `/readyz` asks: every check by name, and whether it passed. Draining is a check that fails."""

    async def checks(self) -> Mapping[str, bool]: ...


class ModelInputs(Protocol):
    """Documents of http-api 6. Ids are texts; those that do not parse or are unknown raise `NotFound`."""

    async def etag(self, tenant: UUID, session_id: str, query: InputQuery) -> str: ...

    async def model_input(self, tenant: UUID, session_id: str, query: InputQuery, what_if: WhatIf | None) -> dict[str, Any]: ...

    async def source_map(self, tenant: UUID, session_id: str) -> dict[str, Any]: ...

    async def calls(self, tenant: UUID, session_id: str, turn_id: str | None, after: str | None, limit: int) -> Page: ...

    async def call(self, tenant: UUID, session_id: str, call_id: str) -> dict[str, Any]: ...

    async def call_input(self, tenant: UUID, session_id: str, call_id: str) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process."""

    agents: Agents
    sessions: Sessions
    changes: SessionChanges
    states: States
    entries: Entries
    transcripts: Transcripts
    verifier: Verifier
    keys: Keys
    replays: Replays
    turns: TurnService
    inputs: ModelInputs
    readiness: Readiness
    metrics: Metrics | None = None
