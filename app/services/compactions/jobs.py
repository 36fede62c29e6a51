"""What one attempt is about, what is durable before it, and what came of it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.context.compaction.plan import Plan
from app.context.sources import Driver
from app.entries.compactions import Outcome, Trigger
from app.entries.ids import CALL, format_id
from app.services.call_records import event
from app.services.compactions.choices import Choice
from app.services.compactions.hooks import CompactionFacts
from app.services.compactions.requests import Asking
from app.services.consequences import of_run
from app.services.inputs import Prepared
from app.services.write import Draft
from app.storage.types import CallWrite
from app.turn.life import RunLife


@dataclass(frozen=True, slots=True)
class Job:
    """What one attempt is about. `main` is the request that is to become smaller; `choice` says what of it is to give way, `asking` what does now,
    and how the summary is asked for. `run` and `step_index` are those of the call that waits for it, None for a manual one.
    """

    trigger: Trigger
    main: Prepared
    driver: Driver
    choice: Choice
    asking: Asking
    attempt: int = 1
    step_index: int | None = None
    run: RunLife | None = None

    @property
    def found(self) -> Plan:
        return self.asking.found

    @property
    def piece(self) -> bool:
        """Whether the summarizer can be told of a part alone of what is to give way."""
        return self.found != self.choice.plan

    @property
    def facts(self) -> CompactionFacts:
        budget, found = self.main.budget, self.found
        return CompactionFacts(
            self.main.sources.session_id, self.trigger, self.driver.kind, found.covers_through_seq, found.first_kept_seq, found.turns,
            budget.total, budget.input_limit,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What is durable before anybody is asked: the entry, its call's row, the event. `request`: None where nothing can be asked."""

    draft: Draft
    event: tuple[str, str]
    call: UUID | None = None
    write: CallWrite | None = None
    request: Prepared | None = None

    @property
    def call_id(self) -> str | None:
        return None if self.call is None else format_id(CALL, self.call)


@dataclass(frozen=True, slots=True)
class Compacted:
    """What an attempt came to. Tokens are of the whole request; `tokens_after` is None where no summary was measured."""

    outcome: Outcome
    tokens_before: int
    covers_through_seq: int | None = None
    checkpoint_id: str | None = None
    tokens_after: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "checkpoint_id": self.checkpoint_id,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "covers_through_seq": self.covers_through_seq,
        }


def drafted(job: Job, kind: str, payload: str, turn: int) -> Draft:
    """An entry of the run that waits for the compaction, or of no turn."""
    draft = Draft(kind, payload, turn or None)
    return draft if job.run is None else of_run(draft, job.run)


def completed(job: Job, done: Compacted) -> tuple[str, str]:
    """The event that tells of a summary that was measured, applied or not."""
    return event(
        "COMPACTION_COMPLETED",
        applied=done.outcome == "compacted",
        outcome=done.outcome,
        checkpoint_id=done.checkpoint_id,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        covers_through_seq=job.found.covers_through_seq,
        first_kept_seq=job.found.first_kept_seq,
    )
