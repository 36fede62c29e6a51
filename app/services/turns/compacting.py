"""Compaction on request: it holds the session without a turn, so nobody writes beside it (X-50)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.config.limits import APPEND_TRIES_MAX
from app.context.agents.long_sessions import check_driver
from app.context.agents.read import read_driver
from app.context.budget import raw_tail
from app.context.fields import Check
from app.context.sources import Driver
from app.entries.errors import HeadMismatch, Invalid, Unavailable
from app.entries.ids import SESSION, format_id
from app.services.compactions.attempts import Attempts
from app.services.compactions.choices import Choice, Choices
from app.services.compactions.jobs import Asked, Compacted, Job
from app.services.compactions.requests import Asking
from app.services.counting import ExactCounts
from app.services.inputs import Ask, Inputs, Prepared
from app.services.running import Facts, Options, Running, policy_of
from app.services.streams import Event, TurnKey, TurnStream
from app.services.turns.desk import Desk
from app.services.turns.endings import REFUSING, Endings
from app.storage.rows import SessionRow
from app.storage.types import NO_TURN, Append, Claim, EventRow, committed


@dataclass(frozen=True, slots=True)
class CompactionInput:
    """The body of `POST /sessions/{id}/compactions`; None: as the agent has it."""

    instructions: str | None = None
    keep_recent_tokens: int | None = None
    driver: Mapping[str, Any] | None = None
    expected_head: int | None = None


class Unheard(TurnStream):
    """The events of a compaction that belongs to no turn: there is nobody to hear them, and no log to read them from."""

    __slots__ = ()

    def emit(self, name: str, data: str, seq: int = 0) -> Event:
        return Event(0, name, data, seq)

    def take_rows(self, extra: list[Event]) -> tuple[EventRow, ...]:
        return ()

    def show(self, events: list[Event]) -> None:
        return


class Compactions:
    """The doors of manual compaction. An idle session is held by a claim of no turn while a summary is made."""

    def __init__(self, desk: Desk, endings: Endings, inputs: Inputs, counts: ExactCounts, choices: Choices, attempts: Attempts) -> None:
        self._desk = desk
        self._endings = endings
        self._inputs = inputs
        self._counts = counts
        self._choices = choices
        self._attempts = attempts

    async def plan(self, tenant: UUID, session_id: str, keep_recent_tokens: int | None) -> dict[str, Any]:
        """What a compaction would do now. Reads alone, and asks no provider. Raises `NotFound`."""
        session = await self._desk.views.session(tenant, session_id)
        prepared = await self._inputs.prepare(tenant, session.session_id, Ask())
        choice, driver = await self._chosen(prepared, keep_recent_tokens), prepared.sources.agent.compaction.driver
        found = None if choice.plan is None else (await self._attempts.reaching(prepared, driver, Asking(choice.plan, driver.model))).found
        return plan_json(session_id, prepared, replace(choice, plan=found))

    async def compact(self, tenant: UUID, session_id: str, wanted: CompactionInput) -> dict[str, Any]:
        """Makes one attempt and says what came of it. Where nothing is to be compacted, nothing is written.

        Raises `NotFound`, `Invalid` for a driver that cannot be used, `HeadMismatch`, and `SessionBusy` or `PendingAction` for a session that
        is not idle. A client that leaves does not end it.
        """
        driver = None if wanted.driver is None else _driver(wanted.driver)
        for left in reversed(range(APPEND_TRIES_MAX)):
            self._desk.check_open()
            session = await self._desk.views.session(tenant, session_id)
            session = await self._endings.make_room(tenant, session, REFUSING)
            prepared = await self._inputs.prepare(tenant, session.session_id, Ask())
            if wanted.expected_head not in (None, prepared.sources.head_seq):
                raise HeadMismatch(prepared.sources.head_seq)
            prepared = await self._counts.weighed(prepared)
            if driver is not None:
                self._attempts.check(prepared, driver)
            choice = await self._chosen(prepared, wanted.keep_recent_tokens)
            if choice.plan is None or choice.would != "compacted":
                return Compacted(choice.would, prepared.budget.total).to_json()
            using = driver or prepared.sources.agent.compaction.driver
            asking = await self._attempts.reaching(prepared, using, Asking(choice.plan, using.model, wanted.instructions))
            job = Job("manual", prepared, using, choice, asking)
            if not await self._attempts.consent(job):
                return Compacted("failed", prepared.budget.total).to_json()
            try:
                return (await self._made(tenant, session, job)).to_json()
            except HeadMismatch:
                if wanted.expected_head is not None or not left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _chosen(self, prepared: Prepared, keep_recent_tokens: int | None) -> Choice:
        keep = raw_tail(prepared.target, prepared.sources.agent) if keep_recent_tokens is None else keep_recent_tokens
        return await self._choices.chosen(prepared, keep)

    async def _made(self, tenant: UUID, session: SessionRow, job: Job) -> Compacted:
        """Claims the session with the request, and waits for its end. Raises `HeadMismatch` where nothing was written."""
        desk = self._desk
        asked = await self._attempts.asked(job, tenant, session.session_id, NO_TURN)
        entries, blobs = await desk.writer.prepare([asked.draft])
        append = Append(
            entries=entries,
            blobs=blobs,
            expected_head=job.main.sources.head_seq,
            refuse_pending=True,
            claim=Claim(NO_TURN, desk.holder, desk.lease_seconds),
            call=asked.write,
        )
        appended = await desk.claim(tenant, session, append)
        key = TurnKey(tenant, session.session_id, NO_TURN)
        stream = Unheard(key, appended.fence, 0)
        stream.idle.set()
        agent = job.main.sources.agent
        facts = Facts(key, format_id(SESSION, session.session_id), UUID(int=0), 0, None, None, Options())
        running = Running(
            facts, policy_of(agent, facts.options), agent, appended.fence, appended.last_seq, stream, desk.writer, committed(entries, appended)
        )  # fmt: skip
        found: list[Compacted] = []
        task = desk.hold(running, self._held(running, job, asked, found))
        await asyncio.shield(task)
        if not found:
            raise Unavailable("The compaction was given up; the session is as it was before. Send the request again.")
        return found[0]

    async def _held(self, running: Running, job: Job, asked: Asked, found: list[Compacted]) -> None:
        found.append(await self._attempts.ended(running, job, asked, release=True))


def _driver(given: Mapping[str, Any]) -> Driver:
    check = Check()
    check_driver(check, given, "/driver")
    if check.faults:
        raise Invalid(check.faults)
    return read_driver(given)


def plan_json(session_id: str, prepared: Prepared, choice: Choice) -> dict[str, Any]:
    """What a compaction would do. Tokens before it are of the whole request, those covered and kept of the window's messages."""
    found = choice.plan
    return {
        "object": "compaction_plan",
        "session_id": session_id,
        "head_seq": prepared.sources.head_seq,
        "would": choice.would,
        "keep_recent_tokens": choice.keep_recent_tokens,
        "tokens_before": prepared.budget.total,
        "covers_through_seq": None if found is None else found.covers_through_seq,
        "first_kept_seq": None if found is None else found.first_kept_seq,
        "turns": 0 if found is None else found.turns,
        "covered_tokens": 0 if found is None else found.covered_tokens,
        "kept_tokens": None if found is None else found.kept_tokens,
    }
