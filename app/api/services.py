"""What the routes need of the services of one process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.services.agents import Agents
from app.services.checkpoints import Checkpoints
from app.services.clearing import Clearing
from app.services.diffs import Diffs
from app.services.entries import Entries
from app.services.erasures import Deletions, Redactions
from app.services.explain import Explain
from app.services.explanations import Explanations
from app.services.forks import Forks
from app.services.keys import Keys
from app.services.media import Uploads
from app.services.model_list import ModelList
from app.services.plans import Plans
from app.services.replays import Replays
from app.services.session_changes import SessionChanges
from app.services.sessions import Sessions
from app.services.skill_snapshots import SkillSnapshots
from app.services.states import States
from app.services.transcripts import Transcripts
from app.services.transfers.exports import Exports
from app.services.transfers.imports import Imports
from app.services.turns.compacting import Compactions
from app.services.turns.service import TurnService
from app.services.usage import Usage
from app.services.verify import Verifier
from app.telemetry.metrics import Metrics


class Readiness(Protocol):
    """What `/readyz` asks: every check by name, and whether it passed. Draining is a check that fails."""

    async def checks(self) -> Mapping[str, bool]: ...


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process."""

    agents: Agents
    models: ModelList
    sessions: Sessions
    changes: SessionChanges
    forks: Forks
    checkpoints: Checkpoints
    clearing: Clearing
    states: States
    plans: Plans
    usage: Usage
    entries: Entries
    transcripts: Transcripts
    uploads: Uploads
    verifier: Verifier
    keys: Keys
    replays: Replays
    skill_snapshots: SkillSnapshots
    turns: TurnService
    compactions: Compactions
    inputs: Explain
    diffs: Diffs
    explanations: Explanations
    imports: Imports
    exports: Exports
    deletions: Deletions
    redactions: Redactions
    readiness: Readiness
    metrics: Metrics | None = None
