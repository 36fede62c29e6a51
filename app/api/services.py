"""What the routes need of the services, as protocols: the edge is written against these, and `main` puts the real ones in."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from app.services.agents import Agents
from app.services.entries import Entries
from app.services.keys import Keys
from app.services.replays import Replays
from app.services.sessions import Sessions
from app.services.states import States
from app.services.transcripts import Transcripts
from app.services.turns.inputs import IdempotencyKey, TurnInput
from app.services.verify import Verifier


class Readiness(Protocol):
    """What `/readyz` asks: every check by name, and whether it passed."""

    async def checks(self) -> Mapping[str, bool]: ...


@dataclass(slots=True)
class Services:
    """The services of one process."""

    agents: Agents
    sessions: Sessions
    states: States
    entries: Entries
    transcripts: Transcripts
    verifier: Verifier
    keys: Keys
    replays: Replays
    turns: Any
    inputs: Any
    readiness: Readiness
    metrics: Any = None
