"""One model call: compiled at the head, made durable, sent, read to its end, and turned into what is appended."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from app.config.limits import MOVES_PER_TURN_MAX, TOKENS_ON_LOOP_CHARS_MAX
from app.config.upstreams import Upstream
from app.context.compile import compiler_version
from app.context.report import prefix_digest
from app.context.sources import Continuation
from app.entries import lossless
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, Delta, ToolCallStarted, Usage, to_event
from app.entries.errors import FenceLost, HeadMismatch, Invalid
from app.entries.ids import CALL, format_id
from app.entries.messages import Answer, Status
from app.entries.parts import ToolCall
from app.entries.trace import CallStatus, ModelCallFinished, ModelCallStarted, TurnError, usage_to_json
from app.formats.registry import FORMATS
from app.outbound.exchange import AttemptFailed, AttemptRecord, Channel, Deltas, Outgoing
from app.outbound.retry import Dispatch, RetryPolicy
from app.services.call_records import attempt_json, reader_of, record, refused, sections_of, taken_ids
from app.services.counting import ExactCounts
from app.services.inputs import Ask, Inputs, Prepared
from app.services.minting import new_uuid
from app.services.running import Running, patiently
from app.services.targets import Targets
from app.services.write import Draft, spoken
from app.storage.types import CallWrite, SessionPatch
from app.turn.moves import Call

log = logging.getLogger(__name__)

NATIVE_CHARS_MAX = 64
"""Of a provider's word for how an answer ended."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a call comes to: the drafts of its answer and its end, the change of its row (if it has one), and events that come before theirs."""

    drafts: list[Draft]
    write: CallWrite | None
    events: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Relay:
    """What was read of an answer so far."""

    fold: AnswerFold
    names: CallNames
    attempts: tuple[AttemptRecord, ...] = ()
    failed: TurnError | None = None
    stopped: bool = False


class ModelCalls:
    """Makes the calls of running turns. `channel_of` gives the way to an upstream, `counts` the provider's own counts."""

    def __init__(
        self,
        inputs: Inputs,
        targets: Targets,
        channel_of: Callable[[Upstream], Channel],
        retry_of: Callable[[Upstream], RetryPolicy],
        counts: ExactCounts,
    ) -> None:
        self._inputs = inputs
        self._targets = targets
        self._channel_of = channel_of
        self._retry_of = retry_of
        self._counts = counts

    async def run(self, running: Running, move: Call) -> Ended | None:
        """Makes the call that `move` asks for; None where a request to end the turn came before anything left.

        Over the hard limit, without anything to send, or for a model that the operator no longer has, the call is refused.
        """
        uuid = new_uuid()
        for _ in range(MOVES_PER_TURN_MAX):
            try:
                prepared = await patiently(lambda: self._prepare(running, move))
            except Invalid:
                error = TurnError("upstream-error", "The model of this call is not configured any more; nothing was sent.")
                return Ended([_finished(running, ModelCallFinished(format_id(CALL, uuid), "refused", error=error))], None)
            running.head_seq = prepared.sources.head_seq
            refusal = refused(prepared)
            if refusal is not None:
                return self._refuse(running, move, prepared, uuid, refusal)
            if running.stop.is_set():
                return None
            try:
                await self._start(running, move, prepared, uuid)
            except HeadMismatch:  # something was appended beside the claim: what is sent has to hold it
                continue
            return await self._end(running, prepared, uuid, await self._relay(running, prepared, uuid))
        raise RuntimeError("the head of a session moved on without end")

    async def _prepare(self, running: Running, move: Call) -> Prepared:
        options = running.facts.options
        ask = Ask(
            pinned=running.agent,
            model=options.model,
            tool_choice=options.tool_choice,
            masked_tools=options.masked_tools,
            running_turn=running.number,
            repeats_seq=None if running.facts.retry_of is None else running.facts.input_seq,
            ephemeral=running.ephemeral,
            media=running.media,
            continuation=Continuation(move.reason, move.receipt_seq),
        )
        prepared = await self._inputs.prepare(running.facts.key.tenant, running.facts.key.session, ask)
        return await self._counts.weighed(prepared)

    def _refuse(self, running: Running, move: Call, prepared: Prepared, uuid: UUID, error: TurnError) -> Ended:
        finished = ModelCallFinished(format_id(CALL, uuid), "refused", error=error)
        write = CallWrite(
            uuid, True, running.number, move.step_index, "main", "refused", prepared.sources.head_seq,
            record(prepared, running, move), attempts="[]",
        )  # fmt: skip
        return Ended([_finished(running, finished)], write)

    async def _start(self, running: Running, move: Call, prepared: Prepared, uuid: UUID) -> None:
        """Makes the call durable before anything leaves; `HeadMismatch` when the input no longer is the head's."""
        call_id, target, request = format_id(CALL, uuid), prepared.target, prepared.compiled.request
        tools = prepared.compiled.declared
        started = ModelCallStarted(
            call_id,
            move.step_index,
            target.model.upstream,
            target.dialect,
            target.model.name,
            running.agent.name,
            running.agent.revision,
            digest=prepared.digest,
            prefix_digest=prefix_digest(request),
            target_digest=target.digest,
            message_count=prepared.compiled.message_count,
            tools=tools,
            reason=move.reason,
            receipt_seq=move.receipt_seq,
            compiler_version=compiler_version(prepared.sources.agent),
        )
        write = CallWrite(
            uuid, True, running.number, move.step_index, "main", "running", prepared.sources.head_seq,
            record(prepared, running, move), attempts="[]", dispatched=True,
        )  # fmt: skip
        continuation = {"reason": move.reason, "receipt_seq": move.receipt_seq}
        events = [
            _event("call.started", call_id=call_id, step_index=move.step_index, agent=running.agent.name, invocation=0, continuation=continuation),
            _event(
                "context.compiled",
                call_id=call_id,
                dialect=target.dialect,
                model=target.model.name,
                digest=prepared.digest,
                message_count=prepared.compiled.message_count,
                tools=list(tools),
                budget=prepared.budget.to_json(),
            ),
        ]
        drafts = [Draft(started.kind, started.encode(), running.number, agent=running.agent.name)]
        if (sections := sections_of(prepared)) is not None:
            drafts.append(Draft(sections.kind, sections.encode(), running.number, agent=running.agent.name))
        await running.commit(drafts, call=write, session=SessionPatch(), after=events)

    async def _relay(self, running: Running, prepared: Prepared, uuid: UUID) -> Relay:
        """Reads the answer in a task of its own, so that a stop ends it at once."""
        target = prepared.target
        upstream = self._targets.upstream(target.model.upstream)
        form = FORMATS[target.dialect]
        relay = Relay(AnswerFold(), CallNames(format_id(CALL, uuid), taken_ids(prepared)))
        outgoing = Outgoing(
            upstream,
            form,
            target.model,
            prepared.written.body,
            lambda: reader_of(prepared),
            prepared.window.session.dispatched_count,
        )
        if running.stop.is_set():
            relay.stopped = True
            return relay
        dispatch = Dispatch(self._channel_of(upstream), outgoing, self._retry_of(upstream))
        reading = asyncio.create_task(_read(dispatch, relay, running))
        stopping = asyncio.create_task(running.stop.wait())
        try:
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, stopping):
                task.cancel()
            await asyncio.wait({reading, stopping})
        relay.stopped = reading.cancelled()
        error = None if relay.stopped else reading.exception()
        if running.lost:
            raise FenceLost
        if error is not None:
            log.error("the answer of %s could not be read", format_id(CALL, uuid), exc_info=error)
            relay.failed = TurnError("upstream-error", "The provider's answer could not be read.")
        relay.attempts = dispatch.attempts
        return relay

    async def _end(self, running: Running, prepared: Prepared, uuid: UUID, relay: Relay) -> Ended:
        call_id, fold = format_id(CALL, uuid), relay.fold
        status, error = _status(running, relay)
        answer_status = Status.COMPLETED if status == "completed" else Status(status)
        answer = fold.answer(answer_status, prepared.target.model.name, call_id)
        usage, source = await self._usage(prepared, answer, fold)
        reason, native = (None, None) if fold.finished is None else (fold.finished.stop_reason, fold.finished.native[:NATIVE_CHARS_MAX] or None)
        finished = ModelCallFinished(call_id, status, reason, usage, source, error, len(relay.attempts), native, fold.figures())
        drafts = [_finished(running, finished)]
        if answer.parts:
            drafts.insert(0, Draft("assistant_message", answer, running.number, agent=running.agent.name))
        write = CallWrite(
            uuid,
            turn=running.number,
            status=status,
            attempts=lossless.dumps([attempt_json(attempt) for attempt in relay.attempts]),
            usage=None if usage is None else lossless.dumps(usage_to_json(usage, source)),
            answer_offset=0 if answer.parts else None,
        )
        whole = status == "completed"
        calls = [part for part in answer.parts if isinstance(part, ToolCall)] if whole else []
        return Ended(drafts, write, [_completed(call) for call in calls])

    async def _usage(self, prepared: Prepared, answer: Answer, fold: AnswerFold) -> tuple[Usage | None, Literal["reported", "estimated"] | None]:
        """What the provider reported; where it reported nothing and an answer came, an estimate that says so."""
        if fold.usage is not None:
            return fold.usage, "reported"
        if not answer.parts:
            return None, None
        texts, count = spoken(answer.parts), self._targets.counter(prepared.target.estimator).count

        def output() -> int:
            return sum(count(text) for text in texts)

        long = sum(map(len, texts)) > TOKENS_ON_LOOP_CHARS_MAX
        return Usage(input=prepared.budget.total, output=await asyncio.to_thread(output) if long else output()), "estimated"


async def _read(dispatch: Dispatch, relay: Relay, running: Running) -> None:
    async with aclosing(dispatch.items()) as items:
        async for item in items:
            match item:
                case Deltas(deltas):
                    for delta in deltas:
                        _say(delta, relay, running)
                case AttemptFailed(n, fault, retry_in_ms):
                    error = TurnError(fault.code, fault.detail, fault.http_status)
                    name, data = _event("attempt.failed", attempt=n, error=error.to_json(), retry_in_ms=retry_in_ms)
                    running.stream.emit(name, data)
                    if retry_in_ms is None:
                        relay.failed = error
                case _:
                    pass


def _say(delta: Delta, relay: Relay, running: Running) -> None:
    if isinstance(delta, ToolCallStarted):
        delta = relay.names.name(delta)
    relay.fold.add(delta)
    event = to_event(delta)
    if event is not None:
        name, data = event
        running.stream.emit(name, lossless.dumps({"type": name, **data}))


def _status(running: Running, relay: Relay) -> tuple[CallStatus, TurnError | None]:
    if relay.stopped and relay.fold.finished is None:
        return ("interrupted", None) if running.draining else ("cancelled", None)
    failed = relay.fold.failed
    if relay.failed is not None:
        return "failed", relay.failed
    if failed is not None:
        return "failed", TurnError(failed.code, failed.detail)
    if relay.fold.finished is None:
        return "failed", TurnError("stream-truncated", "The provider's stream ended before its answer was whole.")
    return "completed", None


def _finished(running: Running, finished: ModelCallFinished) -> Draft:
    return Draft(finished.kind, finished.encode(), running.number, agent=running.agent.name)


def _event(event: str, **data: Any) -> tuple[str, str]:
    return event, lossless.dumps({"type": event, **data})


def _completed(call: ToolCall) -> tuple[str, str]:
    data = {"type": "tool_call.completed", "tool_call_id": call.tool_call_id, "name": call.name, "arguments": call.arguments}
    return "tool_call.completed", lossless.dumps(data)
