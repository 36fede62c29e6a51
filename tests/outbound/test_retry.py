"""When the same bytes are sent again, and how soon."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config import limits
from app.entries.deltas import Finished, OpaqueBlock, StreamFailed, TextDelta, Usage, UsageReport
from app.formats.protocols import UpstreamFault
from app.outbound.exchange import AttemptFailed, AttemptRecord, AttemptStarted, Deltas, Opened, Outgoing, Reply
from app.outbound.retry import Dispatch, RetryPolicy
from tests.outbound.kit import CHAT, Naps, outgoing, upstream


class Answers:
    """A channel that gives one list of deltas an attempt; a fault instead is raised."""

    def __init__(self, *answers: list | UpstreamFault) -> None:
        self.answers = answers
        self.bodies: list[bytes] = []

    @asynccontextmanager
    async def open(self, outgoing: Outgoing, attempt: int):
        self.bodies.append(outgoing.body)
        answer = self.answers[attempt - 1]
        if isinstance(answer, UpstreamFault):
            raise answer
        yield Reply(200, f"r{attempt}", _numbers(len(answer)))


async def _numbers(count):
    for number in range(count):
        yield bytes([number])


class Reader:
    """Gives, for the byte n, the n-th piece of its answer."""

    def __init__(self, pieces: list) -> None:
        self.pieces = pieces

    def feed(self, data: bytes) -> list:
        return list(self.pieces[data[0]])

    def end(self) -> list:
        return [StreamFailed("stream-truncated", "no mark", retryable=True)]


def dispatch(*answers, retries_max=2, naps=None, **more):
    readers = iter([answer for answer in answers if not isinstance(answer, UpstreamFault)])
    call = Outgoing(upstream("http://h/v1"), CHAT, outgoing(upstream("")).model, b"body", lambda: Reader(next(readers)))
    channel = Answers(*answers)
    sleep = Naps() if naps is None else naps
    return channel, Dispatch(channel, call, RetryPolicy(retries_max), chance=lambda: 0.0, sleep=sleep, **more)


def busy(after_ms=None, retryable=True, status=429):
    return UpstreamFault("upstream-rate-limited", "busy", retryable=retryable, retry_after_ms=after_ms, http_status=status)


TEXT, END, FAIL = [TextDelta(0, "a")], [Finished("finished", "stop")], [StreamFailed("upstream-error", "x", retryable=True)]


@pytest.mark.req("S0-09", "T-30")
async def test_the_order_of_items_and_the_records():
    times = iter([0.0, 0.1, 1.0, 1.25, 1.5])
    channel, call = dispatch(busy(2000), [TEXT, END], clock=lambda: next(times), now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    items = [item async for item in call.items()]
    assert [type(item) for item in items] == [AttemptStarted, AttemptFailed, AttemptStarted, Opened, Deltas, Deltas]
    assert items[1].retry_in_ms == 2000
    assert channel.bodies == [b"body", b"body"]
    assert call.attempts == (
        AttemptRecord(1, "failed", 429, None, datetime(2026, 1, 1, tzinfo=UTC), None, 100),
        AttemptRecord(2, "completed", 200, "r2", datetime(2026, 1, 1, tzinfo=UTC), 250, 500),
    )


@pytest.mark.req("X-78")
async def test_a_failure_in_the_stream_before_any_delta_is_tried_again():
    _, call = dispatch([[UsageReport(Usage(1))], FAIL], [TEXT, END])
    items = [item async for item in call.items()]
    assert [item.retry_in_ms for item in items if isinstance(item, AttemptFailed)] == [250]


@pytest.mark.req("X-78")
async def test_a_failure_after_a_delta_is_not():
    channel, call = dispatch([TEXT, FAIL], [TEXT, END])
    items = [item async for item in call.items()]
    assert items[-1].retry_in_ms is None
    assert len(channel.bodies) == 1


async def test_what_comes_together_with_a_failure_is_kept_back_while_there_is_another_attempt():
    mixed = [[OpaqueBlock(0, "f", "p", "{}"), *FAIL]]
    _, call = dispatch(mixed, mixed, mixed)
    items = [item async for item in call.items()]
    assert [type(item) for item in items[-2:]] == [Deltas, AttemptFailed]
    assert sum(isinstance(item, Deltas) for item in items) == 1
    assert items[-2].deltas == (OpaqueBlock(0, "f", "p", "{}"),)


async def test_a_stream_without_a_mark_is_truncated():
    _, call = dispatch([TEXT])
    items = [item async for item in call.items()]
    assert items[-1].fault.code == "stream-truncated"


async def test_nothing_after_the_end_matters():
    _, call = dispatch([[*TEXT, *END], FAIL])
    items = [item async for item in call.items()]
    assert isinstance(items[-1], Deltas)
    assert call.attempts[0].status == "completed"


async def test_a_caller_that_stops_at_the_end_has_a_completed_call():
    _, call = dispatch([[*TEXT, *END]])
    items = call.items()
    async for item in items:
        if isinstance(item, Deltas):
            break
    await items.aclose()
    assert call.attempts[0].status == "completed"


@pytest.mark.parametrize(
    ("fault", "attempt", "wait_ms"),
    [
        (busy(), 1, 250),
        (busy(), 2, 500),
        (busy(), 3, None),
        (busy(retryable=False), 1, None),
        (busy(0), 1, 0),
        (busy(1500), 1, 1500),
        (busy(limits.RETRY_AFTER_SECONDS_MAX * 1000), 1, limits.RETRY_AFTER_SECONDS_MAX * 1000),
        (busy(limits.RETRY_AFTER_SECONDS_MAX * 1000 + 1), 1, None),
    ],
)
@pytest.mark.req("T-30")
def test_waits(fault, attempt, wait_ms):
    assert RetryPolicy(2).wait_ms(attempt, fault, 0.0) == wait_ms


@given(st.integers(1, 40), st.floats(0, 1, exclude_max=True), st.none() | st.integers(0, 60_000))
def test_every_wait_is_bounded_and_never_shorter_than_asked(attempt, chance, asked):
    wait = RetryPolicy(100).wait_ms(attempt, busy(asked), chance)
    assert wait is not None
    assert (asked or 0) <= wait <= max(limits.RETRY_WAIT_SECONDS_MAX * 1000, (asked or 0) + 1000)
    capped = RetryPolicy(100, cap_ms=50).wait_ms(attempt, busy(asked), chance)
    assert capped is not None
    assert 0 <= capped <= 50
