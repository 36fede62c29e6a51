"""What a turn says while it runs: events to whoever listens here, and to the delta log for every other replica and for recovery.

Readers pull by cursor: from memory where the turn runs and the cursor is recent, else from the log. A reader that is slow or gone
therefore holds nothing back and costs nothing.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from uuid import UUID

from app.config.limits import DELTA_READ_ROWS_MAX, FLUSH_ROWS_MAX, POLL_MS, STREAM_MEMORY_BYTES_MAX
from app.entries.errors import LedgerError, Unavailable
from app.storage.claim_rows import DeltaCursor, DeltaWrite
from app.storage.deltas import Deltas
from app.storage.types import EventRow

REST = frozenset({"turn.completed", "turn.failed", "turn.cancelled", "turn.interrupted", "turn.requires_action"})
TERMINAL = REST - {"turn.requires_action"}
REST_CHECK_POLLS = 8
T = TypeVar("T")


class TurnKey(NamedTuple):
    """What names a turn in memory and in the log."""

    tenant: UUID
    session: UUID
    turn: int


class Gone(LedgerError):
    """The events were purged; the entries say what happened."""

    code = "resume-gap"


class Event(NamedTuple):
    """One frame of a turn's stream. `data` is one line of JSON; where it is empty, `seq` names the entry that the edge puts there."""

    id: int
    name: str
    data: str
    seq: int = 0

    @property
    def internal(self) -> bool:
        return self.name.startswith("_")


def encode_events(events: list[Event]) -> str:
    """The delta log's form: a line an event. JSON text holds no line break, so nothing is escaped twice."""
    return "\n".join(f"{event.id} {event.name} {event.seq} {event.data}" for event in events)


def decode_events(body: str) -> list[Event]:
    """The events that `encode_events` wrote."""
    found = []
    for line in body.split("\n"):
        number, name, seq, data = line.split(" ", 3)
        found.append(Event(int(number), name, data, int(seq)))
    return found


@dataclass(slots=True)
class TurnStream:
    """The events of one turn that runs in this process."""

    key: TurnKey
    fence: int
    last_id: int
    lost: Callable[[], None] = field(default=lambda: None)
    recent: deque[Event] = field(default_factory=deque)
    recent_bytes: int = 0
    pending: list[Event] = field(default_factory=list)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False
    _waiters: dict[asyncio.Future[bool], float] = field(default_factory=dict)

    def emit(self, name: str, data: str, seq: int = 0) -> Event:
        """Adds an event for listeners and for the log."""
        event = self.event(name, data, seq)
        self.pending.append(event)
        self.show([event])
        return event

    def event(self, name: str, data: str, seq: int = 0) -> Event:
        """An event under the next id, neither shown nor logged yet."""
        self.last_id += 1
        return Event(self.last_id, name, data, seq)

    def show(self, events: list[Event]) -> None:
        """Gives events to the listeners in this process."""
        for event in events:
            self.recent.append(event)
            self.recent_bytes += len(event.data)
        while self.recent_bytes > STREAM_MEMORY_BYTES_MAX and len(self.recent) > 1 and self._oldest_logged():
            self.recent_bytes -= len(self.recent.popleft().data)
        self.wake()

    def _oldest_logged(self) -> bool:
        return not self.pending or self.recent[0].id < self.pending[0].id

    def take_rows(self, extra: list[Event]) -> tuple[EventRow, ...]:
        """The log rows of everything not logged yet and of `extra`, for an append that writes them with its entries."""
        events, self.pending = [*self.pending, *extra], []
        return (EventRow(events[-1].id, encode_events(events)),) if events else ()

    def reset(self, last_id: int, pending: list[Event]) -> None:
        """Takes back the ids and rows of an append that did not come about. Nothing is emitted while an append is under way."""
        self.last_id, self.pending = last_id, pending

    def told(self, events: list[Event]) -> None:
        """Shows the events that an append logged, with everything that was pending before them."""
        self.last_id, self.pending = events[-1].id if events else self.last_id, []
        self.show(events)

    async def flushed(self) -> None:
        """Waits for a flush that is under way: what an append releases, no later write may still belong to."""
        await self.idle.wait()

    def wake(self) -> None:
        for waiter in self._waiters:
            _answer(waiter, True)
        self._waiters.clear()

    def after(self, cursor: int) -> list[Event] | None:
        """The events beyond the cursor, oldest first; None where memory does not reach back to it."""
        if not self.recent:
            return [] if cursor >= self.last_id else None
        if cursor + 1 < self.recent[0].id:
            return None
        found: list[Event] = []
        for event in reversed(self.recent):
            if event.id <= cursor:
                break
            found.append(event)
        found.reverse()
        return found

    async def changed(self, seconds: float) -> bool:
        """Waits for the next event; False when none came within about that time. `tick` sees to that: a timer an event is dear."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters[waiter] = loop.time() + seconds
        try:
            return await waiter
        finally:
            self._waiters.pop(waiter, None)

    def tick(self, now: float) -> None:
        """Answers those who have waited long enough in vain."""
        for waiter, until in list(self._waiters.items()):
            if until <= now:
                _answer(waiter, False)


def _answer(waiter: "asyncio.Future[bool]", came: bool) -> None:
    if not waiter.done():
        waiter.set_result(came)


class Streams:
    """All turns that run in this process, the flusher of their events, and the reader of anyone's."""

    def __init__(self, deltas: Deltas, *, flush_ms: int, heartbeat_seconds: float, poll_ms: int = POLL_MS) -> None:
        self._deltas = deltas
        self.flush_seconds = flush_ms / 1000
        self.heartbeat_seconds = heartbeat_seconds
        self.poll_seconds = poll_ms / 1000
        self._running: dict[TurnKey, TurnStream] = {}
        self._flushing = asyncio.Lock()
        self._polls: list[tuple[TurnKey, int, asyncio.Future[bool]]] = []

    def open(self, key: TurnKey, fence: int, last_id: int) -> TurnStream:
        """A stream for a turn whose claim this process just took; its `lost` is called when the log refuses its fence."""
        stream = TurnStream(key, fence, last_id)
        stream.idle.set()
        self._running[key] = stream
        return stream

    def close(self, stream: TurnStream) -> None:
        """Ends a stream: listeners read what is left of it, also from memory, and then look into the log."""
        if self._running.get(stream.key) is stream:
            del self._running[stream.key]
        stream.closed = True
        stream.wake()

    def live(self, key: TurnKey) -> TurnStream | None:
        """The stream of a turn that runs in this process."""
        return self._running.get(key)

    async def flush(self) -> None:
        """Few statements for everything that is not logged yet. What could not be written stays pending."""
        async with self._flushing:  # of two at once the first to end would tell an append that both have
            pending = [stream for stream in self._running.values() if stream.pending]
            for first in range(0, len(pending), FLUSH_ROWS_MAX):
                await self._flush(pending[first : first + FLUSH_ROWS_MAX])

    async def _flush(self, streams: list[TurnStream]) -> None:
        taken = [(stream, stream.pending) for stream in streams if stream.pending]
        if not taken:
            return
        rows = []
        for stream, events in taken:
            stream.pending = []
            stream.idle.clear()
            rows.append(DeltaWrite(*stream.key, stream.fence, events[-1].id, encode_events(events)))
        try:
            refused = await self._deltas.put(rows)
        except BaseException:
            for stream, events in taken:
                stream.pending = [*events, *stream.pending]
            raise
        finally:
            for stream, _ in taken:
                stream.idle.set()
        for stream, _ in taken:
            if (stream.key.session, stream.fence) in refused:
                stream.lost()

    async def logged(self, key: TurnKey, after: int) -> list[Event]:
        """The logged events of a turn beyond a cursor, oldest first, at most one page.

        A flush or an append that was written without our hearing of it is written again as part of a later row: an id that
        came already is passed over.
        """
        found: list[Event] = []
        for row in await self._deltas.read([DeltaCursor(*key, after)], DELTA_READ_ROWS_MAX):
            for event in decode_events(row.body):
                if event.id > after:
                    found.append(event)
                    after = event.id
        return found

    async def events(self, key: TurnKey, after: int, at_rest: Callable[[], Awaitable[bool]]) -> AsyncIterator[list[Event]]:
        """The events of a turn beyond `after` until it rests (settled, or waiting for an action), as many at once as there are.

        An empty list stands for silence, also for that of a database that is away. `at_rest` is asked now and then where nothing
        runs here and the log says nothing new: True ends the stream.
        """
        cursor, rounds, stream = after, 0, self.live(key)
        while True:
            recent = None if stream is None else stream.after(cursor)
            found = await _quietly(self.logged(key, cursor), []) if recent is None else recent
            if found:
                cursor, rounds, last = found[-1].id, 0, found[-1].name
                shown = [event for event in found if not event.internal]
                if shown:
                    yield shown
                if last in TERMINAL or (last in REST and (recent is not None or not await _quietly(self.logged(key, cursor), []))):
                    return
            elif stream is not None and recent is not None and not stream.closed:
                if not await stream.changed(self.heartbeat_seconds):
                    yield []
            elif stream is not (stream := self.live(key)) and stream is not None:
                continue
            else:
                if rounds % REST_CHECK_POLLS == 0 and await _quietly(self._is_over(key, cursor, at_rest), False):
                    return
                rounds += 1
                if not await self._polled(key, cursor) and rounds % max(1, round(self.heartbeat_seconds / self.poll_seconds)) == 0:
                    yield []

    async def _is_over(self, key: TurnKey, cursor: int, at_rest: Callable[[], Awaitable[bool]]) -> bool:
        return await at_rest() and not await self.logged(key, cursor)

    async def tick(self) -> None:
        """Answers the readers of this process's turns that have waited for as long as they may."""
        now = asyncio.get_running_loop().time()
        for stream in self._running.values():
            stream.tick(now)

    async def _polled(self, key: TurnKey, cursor: int) -> bool:
        """Whether the log has more for a turn that runs elsewhere; one read in a round serves all who wait."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._polls.append((key, cursor, answer))
        return await answer

    async def poll(self) -> None:
        """Answers those who wait for turns that run on other replicas, all with one read."""
        waiting, self._polls = [poll for poll in self._polls if not poll[2].done()], []
        news: set[tuple[UUID, int]] = set()
        try:
            if waiting:
                rows = await self._deltas.read([DeltaCursor(*key, cursor) for key, cursor, _ in waiting], 1)
                news = {(row.session, row.turn) for row in rows}
        finally:
            for key, _, answer in waiting:
                if not answer.done():
                    answer.set_result((key.session, key.turn) in news)


async def _quietly(reading: Awaitable[T], otherwise: T) -> T:
    try:
        return await reading
    except Unavailable:
        return otherwise
