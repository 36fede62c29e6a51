"""One model call: compiled at the head, made durable, sent, read to its end, and turned into what is appended."""

from collections.abc import Awaitable, Callable, Sequence

from app.config.limits import MOVES_PER_TURN_MAX
from app.config.upstreams import Upstream
from app.context.compile import compiler_version
from app.context.origins import InvalidOrigins
from app.context.report import prefix_digest
from app.context.sources import Continuation
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames
from app.entries.errors import HeadMismatch, Invalid
from app.entries.ids import commitment
from app.entries.trace import ModelCallFinished, ModelCallStarted, TurnError
from app.formats.registry import FORMATS
from app.outbound.exchange import Channel, Outgoing
from app.outbound.retry import Dispatch, RetryPolicy
from app.services.call_ends import CallEnds, Ended
from app.services.call_records import Step, event, reader_of, record, refused, taken_ids, unprepared
from app.services.counting import ExactCounts
from app.services.inputs import Ask, Inputs, Prepared
from app.services.minting import new_nonce, new_uuid
from app.services.observing import observe, sections_of
from app.services.relays import Relay
from app.services.running import Running, patiently
from app.services.states import States
from app.services.targets import Targets
from app.storage.types import CallWrite, SessionPatch
from app.turn.moves import Call

Relief = Callable[[Running, Step, Prepared], Awaitable[bool]]
"""What makes an input lighter before it is sent: appends what a budget decides (a pruning, a checkpoint) and says whether anything changed, so
that the input is made anew. One that has to ask a model first stops when `running.stop` is set."""


class ModelCalls:
    """Makes the calls of running turns. `channel_of` gives the way to an upstream, `counts` the provider's own
    counts; `reliefs` are tried in order."""

    def __init__(
        self,
        inputs: Inputs,
        targets: Targets,
        channel_of: Callable[[Upstream], Channel],
        retry_of: Callable[[Upstream], RetryPolicy],
        counts: ExactCounts,
        states: States,
        reliefs: Sequence[Relief] = (),
    ) -> None:
        self._inputs = inputs
        self._targets = targets
        self._channel_of = channel_of
        self._retry_of = retry_of
        self._counts = counts
        self._states = states
        self._reliefs = reliefs
        self._ends = CallEnds(targets)

    async def run(self, running: Running, move: Call) -> Ended | None:
        """Makes the call that `move` asks for; None where a request to end the turn came before anything left.

        Over the hard limit, without anything to send, or for a model that the operator no longer has, the call is refused.
        """
        run = running.life.runs[move.run]
        step = Step(move, run, running.agent_of(run), new_uuid(), new_nonce())
        for _ in range(MOVES_PER_TURN_MAX):
            await observe(self._states, running, step.agent)
            try:
                prepared = await patiently(lambda: self.prepare(running, step))
            except (Invalid, InvalidOrigins) as error:
                return Ended([step.draft(running, ModelCallFinished(step.call_id, "refused", error=unprepared(error)))], None)
            running.head_seq = prepared.sources.head_seq
            if await self._relieved(running, step, prepared):
                if running.stop.is_set():
                    return None
                continue
            refusal = refused(prepared)
            if refusal is not None:
                return self._refuse(running, step, prepared, refusal)
            if running.stop.is_set():
                return None
            try:
                await self._start(running, step, prepared)
            except HeadMismatch:  # something was appended beside the claim: what is sent has to hold it
                continue
            return await self._ends.ended(running, step, prepared, await self._relay(running, step, prepared))
        raise RuntimeError("the head of a session moved on without end")

    async def _relieved(self, running: Running, step: Step, prepared: Prepared) -> bool:
        for relief in self._reliefs:
            if not running.stop.is_set() and await relief(running, step, prepared):
                return True
        return False

    async def prepare(self, running: Running, step: Step) -> Prepared:
        """The input of a call at the head, weighed by the provider where the operator wants that. Raises `Invalid` and `InvalidOrigins`.

        The turn's overrides of model and choice are for the agent that it began with; what it masks is masked for every agent."""
        options, move = running.facts.options, step.move
        first = step.run.index == 0
        ask = Ask(
            pinned=step.agent,
            model=options.model if first else None,
            tool_choice=options.tool_choice if first else None,
            masked_tools=options.masked_tools,
            running_turn=running.number,
            repeats_seq=None if running.facts.retry_of is None else running.facts.input_seq,
            ephemeral=running.ephemeral,
            media=running.media,
            continuation=Continuation(move.reason, move.receipt_seq, move.exposure, move.repairs_left, move.recoveries_left),
            invocation=step.invocation,
        )
        prepared = await self._inputs.prepare(running.facts.key.tenant, running.facts.key.session, ask)
        return await self._counts.weighed(prepared)

    def _refuse(self, running: Running, step: Step, prepared: Prepared, error: TurnError) -> Ended:
        finished = ModelCallFinished(step.call_id, "refused", error=error)
        write = CallWrite(
            step.uuid, True, running.number, step.move.step_index, "main", "refused", prepared.sources.head_seq,
            record(prepared, nonce=step.nonce), attempts="[]",
        )  # fmt: skip
        return Ended([step.draft(running, finished)], write)

    async def _start(self, running: Running, step: Step, prepared: Prepared) -> None:
        """Makes the call durable before anything leaves; `HeadMismatch` when the input no longer is the head's."""
        target, compiled, move, agent = prepared.target, prepared.compiled, step.move, step.agent
        tools = compiled.declared
        started = ModelCallStarted(
            step.call_id,
            move.step_index,
            target.model.upstream,
            target.dialect,
            target.model.name,
            agent.name,
            agent.revision,
            digest=commitment(step.nonce, prepared.digest),
            prefix_digest=commitment(step.nonce, prefix_digest(compiled.request)),
            target_digest=target.digest,
            message_count=compiled.message_count,
            tools=tools,
            reason=move.reason,
            receipt_seq=move.receipt_seq,
            compiler_version=compiler_version(prepared.sources.agent),
            allowed=compiled.allowed,
            exposure=move.exposure,
            pressed=prepared.budget.presses,
        )
        write = CallWrite(
            step.uuid, True, running.number, move.step_index, "main", "running", prepared.sources.head_seq,
            record(prepared, nonce=step.nonce), attempts="[]", dispatched=True,
        )  # fmt: skip
        continuation = {"reason": move.reason, "receipt_seq": move.receipt_seq}
        events = [
            event(
                "call.started",
                call_id=step.call_id,
                step_index=move.step_index,
                agent=agent.name,
                invocation=step.run.index,
                continuation=continuation,
            ),
            event(
                "context.compiled",
                call_id=step.call_id,
                dialect=target.dialect,
                model=target.model.name,
                digest=prepared.digest,
                message_count=compiled.message_count,
                tools=list(tools),
                budget=prepared.budget.to_json(),
            ),
        ]
        sections = sections_of(prepared, step.call_id)
        drafts = [step.draft(running, body) for body in (started, sections) if body is not None]
        await running.commit(drafts, call=write, session=SessionPatch(), after=events)

    async def _relay(self, running: Running, step: Step, prepared: Prepared) -> Relay:
        target = prepared.target
        upstream = self._targets.upstream(target.model.upstream)
        relay = Relay(AnswerFold(), CallNames(step.call_id, taken_ids(prepared)), step.agent.plan_enabled)
        if running.stop.is_set():
            relay.stopped = True
            return relay
        outgoing = Outgoing(
            upstream,
            FORMATS[target.dialect],
            target.model,
            prepared.written.body,
            lambda: reader_of(prepared),
            prepared.window.session.dispatched_count,
        )
        await relay.read(Dispatch(self._channel_of(upstream), outgoing, self._retry_of(upstream)), running)
        return relay
