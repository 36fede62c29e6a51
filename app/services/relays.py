"""Reading one answer: bytes → deltas → listeners, until its end, a failure or a stop."""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, field

from app.entries import lossless
from app.entries.answer import AnswerFold
from app.entries.deltas import CallNames, Delta, ToolCallDelta, ToolCallStarted, to_event
from app.entries.errors import FenceLost
from app.entries.plans import CONTROLS
from app.entries.trace import CallStatus, TurnError
from app.outbound.exchange import AttemptFailed, AttemptRecord, Deltas
from app.outbound.retry import Dispatch
from app.services.call_records import event
from app.services.running import Running

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Relay:
    """What was read of an answer so far. `controlled`: the agent has a plan, and calls of its controls are no calls to a listener."""

    fold: AnswerFold
    names: CallNames
    controlled: bool = False
    attempts: tuple[AttemptRecord, ...] = ()
    failed: TurnError | None = None
    stopped: bool = False
    _unheard: set[int] = field(default_factory=set)

    def hides(self, name: str) -> bool:
        """Whether a call of that name is none to a listener."""
        return self.controlled and name in CONTROLS

    async def read(self, dispatch: Dispatch, running: Running) -> None:
        """Reads the answer in a task of its own, so that a stop ends it at once. Raises `FenceLost` where another took the turn."""
        reading = asyncio.create_task(self._read(dispatch, running))
        stopping = asyncio.create_task(running.stop.wait())
        try:
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, stopping):
                task.cancel()
            await asyncio.wait({reading, stopping})
        self.stopped = reading.cancelled()
        error = None if self.stopped else reading.exception()
        if running.lost:
            raise FenceLost
        if error is not None:
            log.error("the answer of %s could not be read", self.names.call_id, exc_info=error)
            self.failed = TurnError("upstream-error", "The provider's answer could not be read.")
        self.attempts = dispatch.attempts

    async def _read(self, dispatch: Dispatch, running: Running) -> None:
        async with aclosing(dispatch.items()) as items:
            async for item in items:
                match item:
                    case Deltas(deltas):
                        for delta in deltas:
                            self._say(delta, running)
                    case AttemptFailed() as failed:
                        self._fail(failed, running)
                    case _:
                        pass

    def _fail(self, failed: AttemptFailed, running: Running) -> None:
        error = TurnError(failed.fault.code, failed.fault.detail, failed.fault.http_status)
        running.stream.emit(*event("attempt.failed", attempt=failed.n, error=error.to_json(), retry_in_ms=failed.retry_in_ms))
        if failed.retry_in_ms is None:
            self.failed = error

    def _say(self, delta: Delta, running: Running) -> None:
        if isinstance(delta, ToolCallStarted):
            delta = self.names.name(delta)
            if self.hides(delta.name):
                self._unheard.add(delta.part)
        self.fold.add(delta)
        if self._unheard and isinstance(delta, (ToolCallStarted, ToolCallDelta)) and delta.part in self._unheard:
            return
        found = to_event(delta)
        if found is not None:
            name, data = found
            running.stream.emit(name, lossless.dumps({"type": name, **data}))

    def status(self, draining: bool) -> tuple[CallStatus, TurnError | None]:
        """How the call ended, and why where it failed."""
        fold = self.fold
        if self.stopped and fold.finished is None:
            return ("interrupted", None) if draining else ("cancelled", None)
        if self.failed is not None:
            return "failed", self.failed
        if fold.failed is not None:
            return "failed", TurnError(fold.failed.code, fold.failed.detail)
        if fold.finished is None:
            return "failed", TurnError("stream-truncated", "The provider's stream ended before its answer was whole.")
        return "completed", None
