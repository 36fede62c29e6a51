"""Reading a summary: as any answer is read, but told to listeners as what it is, and within a time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.config.limits import SUMMARY_SECONDS_MAX
from app.config.upstreams import Upstream
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, Delta, TextDelta, Usage
from app.entries.messages import Answer, Status
from app.entries.parts import Text, ToolCall
from app.entries.trace import CallStatus, TurnError
from app.formats.registry import FORMATS
from app.outbound.exchange import AttemptFailed, AttemptRecord, Channel, Outgoing
from app.outbound.retry import Dispatch, RetryPolicy
from app.services.call_ends import CallEnds
from app.services.call_records import event, reader_of
from app.services.inputs import Prepared
from app.services.relays import Relay
from app.services.running import Running
from app.services.targets import Targets


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a summary's call. `reason`: a word of `compaction_failed` for why no summary is made of it, None where one may be."""

    text: str
    status: CallStatus
    reason: str | None
    attempts: tuple[AttemptRecord, ...]
    usage: Usage | None = None
    usage_source: Literal["reported", "estimated"] | None = None


class SummaryRelay(Relay):
    """Tells of a summary by `COMPACTION_DELTA`; what else there is of it is nobody's."""

    def _say(self, delta: Delta, running: Running) -> None:
        self.fold.add(delta)
        if isinstance(delta, TextDelta):
            running.stream.emit(*event("COMPACTION_DELTA", text=delta.text))

    def _fail(self, failed: AttemptFailed, running: Running) -> None:
        if failed.retry_in_ms is None:
            self.failed = TurnError(failed.fault.code, failed.fault.detail, failed.fault.http_status)


class SummaryCalls:
    """Makes the calls of summaries: no tools, the upstream's own retries, cancelled by whatever ends the turn."""

    def __init__(self, targets: Targets, channel_of: Callable[[Upstream], Channel], retry_of: Callable[[Upstream], RetryPolicy]) -> None:
        self._targets = targets
        self._channel_of = channel_of
        self._retry_of = retry_of
        self._ends = CallEnds(targets)

    async def made(self, running: Running, request: Prepared, call_id: str, ordinal: int) -> Said:
        """The answer to that request, read to its end. Raises `FenceLost` where another took the turn."""
        target = request.target
        upstream: Upstream = self._targets.upstream(target.model.upstream)
        relay = SummaryRelay(AnswerFold(), CallNames(call_id, set()))
        outgoing = Outgoing(upstream, FORMATS[target.dialect], target.model, request.written.body, lambda: reader_of(request), ordinal, "compaction")
        dispatch = Dispatch(self._channel_of(upstream), outgoing, self._retry_of(upstream))
        late = False
        if running.stop.is_set():
            relay.stopped = True
        else:
            try:
                async with asyncio.timeout(SUMMARY_SECONDS_MAX):
                    await relay.read(dispatch, running)
            except TimeoutError:
                late = True
        status, error = ("failed", None) if late else relay.status(running.draining)
        whole = status == "completed"
        answer = relay.fold.answer(Status.COMPLETED if whole else Status(status), target.model.name, call_id)
        usage, source = await self._ends.usage(request, answer, relay.fold)
        reason = "timeout" if late else _reason(status, error, answer)
        return Said(_text(answer), status, reason, dispatch.attempts, usage, source)


def _reason(status: CallStatus, error: TurnError | None, answer: Answer) -> str | None:
    """The first of what is wrong, in the order of http-api 7: an error, a cut, a tool call, nothing said."""
    if status in ("cancelled", "interrupted"):
        return "cancelled"
    if status != "completed":
        return "truncated" if error is not None and error.code == "stream-truncated" else "upstream"
    if answer.stop_reason == "length":
        return "truncated"
    if answer.stop_reason == "refused":
        return "upstream"
    if any(isinstance(part, ToolCall) for part in answer.parts) or answer.stop_reason == "tool_calls":
        return "tool_call"
    return None if _text(answer).strip() else "blank"


def _text(answer: Answer) -> str:
    return "".join([part.text for part in answer.parts if isinstance(part, Text)])
