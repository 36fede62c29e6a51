"""The loop over the attempts of one call: the same bytes again, and only while nobody has seen anything of an answer.

Which failures may be tried again is the format's knowledge (`read_error`; OpenAI's SDK repeats 408, 409, 429 and 5xx, wire-format
notes 1.4); how often and how soon is decided here.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from app.config import limits
from app.entries.deltas import Delta, Finished, StreamFailed, UsageReport
from app.formats.protocols import UpstreamFault
from app.outbound.exchange import AttemptFailed, AttemptRecord, AttemptStarted, Channel, Deltas, Item, Opened, Outgoing, Reply

# How long a connection is read after the answer's end, so that it can be used again instead of being closed.
_DRAIN_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits in milliseconds. A provider that asks for more than `retry_after_ms_max` is not asked again; `cap_ms` bounds every wait."""

    retries_max: int = 2
    first_wait_ms: int = 500
    wait_ms_max: int = limits.RETRY_WAIT_SECONDS_MAX * 1000
    retry_after_ms_max: int = limits.RETRY_AFTER_SECONDS_MAX * 1000
    cap_ms: int | None = None

    def wait_ms(self, attempt: int, fault: UpstreamFault, chance: float) -> int | None:
        """The wait after a failed attempt (from 1), or None where the call has failed. `chance` in [0, 1) spreads many callers out."""
        if not fault.retryable or attempt > self.retries_max:
            return None
        asked = fault.retry_after_ms
        if asked is not None and asked > self.retry_after_ms_max:
            return None
        doubled = min(self.wait_ms_max, self.first_wait_ms * 2 ** min(attempt - 1, 30))
        wait = int(doubled * (0.5 + 0.5 * chance)) if asked is None else asked + int(min(1000.0, 0.1 * asked) * chance)
        return wait if self.cap_ms is None else min(wait, self.cap_ms)


class Dispatch:
    """One call on its way. Iterate `items()` once; `attempts` tells at any time, also after a cancellation, what was tried.

    Cancelling the task that iterates closes the connection at once. Who leaves the loop early closes the iterator
    (`contextlib.aclosing`). `chance` gives numbers in [0, 1), `clock` seconds that only rise, `now` the time in UTC.
    """

    def __init__(
        self,
        channel: Channel,
        outgoing: Outgoing,
        policy: RetryPolicy,
        *,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._channel, self._outgoing, self._policy = channel, outgoing, policy
        self._chance, self._sleep, self._clock, self._now = chance, sleep, clock, now
        self._records: list[AttemptRecord] = []
        self._began = 0.0
        self._seen = self._finished = False
        self._withheld: tuple[Delta, ...] = ()

    @property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        """The attempts so far, in order."""
        return tuple(self._records)

    async def items(self) -> AsyncGenerator[Item, None]:
        """What happens, in order: for each attempt `AttemptStarted`, `Opened`, `Deltas`…, and `AttemptFailed` where it failed."""
        while True:
            n = self._begin()
            try:
                yield AttemptStarted(n)
                async with self._channel.open(self._outgoing, n) as reply:
                    self._note(http_status=reply.http_status, provider_request_id=reply.provider_request_id)
                    yield Opened(n, reply.http_status, reply.provider_request_id)
                    async with aclosing(self._read(reply)) as pieces:
                        async for deltas in pieces:
                            yield Deltas(deltas)
            except UpstreamFault as caught:
                fault = caught
            except (asyncio.CancelledError, GeneratorExit):
                self._end("completed" if self._finished else "cancelled")
                raise
            else:
                self._end("completed")
                return
            self._end("failed", fault)
            # Once a delta was seen nothing is sent again: the caller may have shown it, or acted on it.
            wait_ms = None if self._seen else self._policy.wait_ms(n, fault, self._chance())
            if wait_ms is None and self._withheld:
                yield Deltas(self._withheld)
            self._withheld = ()
            yield AttemptFailed(n, fault, wait_ms)
            if wait_ms is None:
                return
            await self._sleep(wait_ms / 1000)

    async def _read(self, reply: Reply) -> AsyncGenerator[tuple[Delta, ...], None]:
        """The deltas of one attempt. What comes in one piece with a failure, and nothing before it, is withheld: nobody has seen it."""
        reader = self._outgoing.new_reader()
        left = limits.ANSWER_BYTES_MAX
        async for chunk in reply.chunks:
            left -= len(chunk)
            if left < 0:
                raise UpstreamFault("upstream-error", f"The answer is longer than {limits.ANSWER_BYTES_MAX} bytes.", http_status=reply.http_status)
            deltas, failed = _split(reader.feed(chunk))
            if failed is not None and not self._seen:
                self._withheld = deltas
            elif deltas:
                self._saw(deltas)
                yield deltas
            if failed is not None:
                raise _fault(failed, reply)
            if self._finished:
                await _drain(reply.chunks)
                return
        deltas, failed = _split(reader.end())
        if not self._seen and failed is not None:
            self._withheld = deltas
        elif deltas:
            self._saw(deltas)
            yield deltas
        if not self._finished:
            raise _fault(failed or StreamFailed("stream-truncated", "The answer ended without its terminal mark.", retryable=True), reply)

    def _saw(self, deltas: tuple[Delta, ...]) -> None:
        self._finished = self._finished or any(isinstance(delta, Finished) for delta in deltas)
        if not self._seen and any(not isinstance(delta, (UsageReport, Finished)) for delta in deltas):
            self._seen = True
            self._note(first_delta_ms=self._elapsed_ms())

    def _begin(self) -> int:
        self._began = self._clock()
        n = len(self._records) + 1
        self._records.append(AttemptRecord(n, "running", None, None, self._now()))
        return n

    def _end(self, status: Literal["completed", "failed", "cancelled"], fault: UpstreamFault | None = None) -> None:
        self._note(status=status, ended_ms=self._elapsed_ms())
        last = self._records[-1]
        if fault is not None and last.http_status is None:
            self._note(http_status=fault.http_status, provider_request_id=fault.provider_request_id)

    def _note(self, **found: Any) -> None:
        self._records[-1] = replace(self._records[-1], **found)

    def _elapsed_ms(self) -> int:
        return int((self._clock() - self._began) * 1000)


def _split(deltas: list[Delta]) -> tuple[tuple[Delta, ...], StreamFailed | None]:
    """What was said, and the failure that ends it."""
    if deltas and isinstance(deltas[-1], StreamFailed):
        return tuple(deltas[:-1]), deltas[-1]
    return tuple(deltas), None


def _fault(failed: StreamFailed, reply: Reply) -> UpstreamFault:
    return UpstreamFault(
        failed.code,
        failed.detail,
        retryable=failed.retryable,
        retry_after_ms=failed.retry_after_ms,
        http_status=reply.http_status,
        provider_request_id=reply.provider_request_id,
    )


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Reads to the end of a body that is over, within bounds: the answer is whole whatever comes, or fails, now."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except (TimeoutError, UpstreamFault):
        return
