"""The compactions of a turn: before a call that presses on its window, and after one that its provider found too large."""

from app.config.limits import APPEND_TRIES_MAX
from app.context.budget import raw_tail
from app.context.origins import InvalidOrigins
from app.entries.compactions import Trigger
from app.entries.errors import HeadMismatch, Invalid
from app.services.call_records import Step
from app.services.calls import ModelCalls
from app.services.compactions.attempts import Attempts
from app.services.compactions.choices import Choices
from app.services.compactions.jobs import Job
from app.services.compactions.requests import Asking
from app.services.inputs import Prepared
from app.services.minting import new_nonce, new_uuid
from app.services.running import Running, patiently
from app.turn.moves import Call, Compact
from app.turn.pressure import next_attempt


class Preflight:
    """A relief of main calls (`calls.Relief`). Everything that bounds it is told from the turn's entries."""

    def __init__(self, choices: Choices, attempts: Attempts) -> None:
        self._choices = choices
        self._attempts = attempts

    async def relieve(self, running: Running, step: Step, prepared: Prepared) -> bool:
        """Makes an attempt where compaction is due, may be tried and finds something. True: whatever came of it, the input is made anew."""
        if not prepared.budget.presses:
            return False
        attempt = next_attempt(running.life, step.move, fits=prepared.budget.fits)
        if attempt is None:
            return False
        try:
            return await self.attempted(running, step, prepared, "automatic", attempt)
        except HeadMismatch:  # something was appended beside the claim: what is weighed has to hold it
            return True

    async def attempted(self, running: Running, step: Step, prepared: Prepared, trigger: Trigger, attempt: int = 1) -> bool:
        """Makes an attempt, whatever comes of it. False: there is nothing to compact, or a hook is against it, and nothing is written. Raises
        `HeadMismatch`, and then nothing is either.

        A compaction after an overflow goes on without what the estimate says is recent: the estimate was wrong.
        """
        agent = step.agent
        choice = await self._choices.chosen(prepared, raw_tail(prepared.target, agent), newest_only=attempt > 1)
        if choice.would == "nothing_to_compact" and trigger == "overflow":
            choice = await self._choices.chosen(prepared, choice.keep_recent_tokens, newest_only=True)
        if choice.plan is None or choice.would != "compacted":
            return False
        driver = agent.compaction.driver
        asking = await self._attempts.reaching(prepared, driver, Asking(choice.plan, driver.model))
        job = Job(trigger, prepared, driver, choice, asking, attempt, step.move.step_index, step.run)
        if not await self._attempts.consent(job):
            return False
        key = running.facts.key
        asked = await patiently(lambda: self._attempts.asked(job, key.tenant, key.session, key.turn))
        await running.commit([asked.draft], call=asked.write, after=[asked.event])
        await self._attempts.ended(running, job, asked)
        return True


class Overflows:
    """Does `Compact` moves."""

    def __init__(self, calls: ModelCalls, preflight: Preflight) -> None:
        self._calls = calls
        self._preflight = preflight

    async def compact(self, running: Running, move: Compact) -> bool:
        """Compacts once for the call that was too large. False: nothing can be, and nothing was written."""
        life = running.life
        run = life.runs[move.run]
        failed = next(call for call in reversed(life.calls) if call.main and call.step_index == move.step_index)
        call = Call(move.step_index, failed.reason, failed.receipt_seq, move.run, failed.exposure)
        step = Step(call, run, running.agent_of(run), new_uuid(), new_nonce())
        for _ in range(APPEND_TRIES_MAX):
            try:
                prepared = await patiently(lambda: self._calls.prepare(running, step))
            except (Invalid, InvalidOrigins):
                return False
            running.head_seq = prepared.sources.head_seq
            try:
                return await self._preflight.attempted(running, step, prepared, "overflow")
            except HeadMismatch:
                continue
        raise RuntimeError("the head of a session moved on without end")
