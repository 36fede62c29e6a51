"""Connections over a real socket that fail, stall, break or are left, and what that means for a call."""

import asyncio
import gc
from contextlib import aclosing

import pytest
from aiohttp import web

from app.config import limits
from app.config.upstreams import Timeouts
from app.outbound.exchange import Deltas
from app.outbound.providers import Provider
from app.outbound.retry import Dispatch, RetryPolicy
from tests.outbound.kit import HELLO, failures, hello, outgoing, provider, run, say, text, upstream

ONCE = RetryPolicy(retries_max=0)


@pytest.mark.req("S0-09", "T-30")
async def test_two_failures_and_then_an_answer_with_the_same_bytes(clients):
    async def third_time(request, n):
        return await hello(request, n) if n == 3 else web.json_response({"error": {"code": "server_error"}}, status=500)

    body = b'{"model":"m","messages":["same"]}'
    async with provider(third_time) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url), body), clients)
    assert seen.bodies == [body] * 3
    assert text(items) == "Hello"
    assert [failed.retry_in_ms for failed in failures(items)] == [250, 500]
    assert [(record.n, record.status, record.http_status) for record in dispatch.attempts] == [
        (1, "failed", 500),
        (2, "failed", 500),
        (3, "completed", 200),
    ]


@pytest.mark.req("T-30")
async def test_retry_after_is_honoured_up_to_a_cap(clients):
    waits = {1: "3", 2: str(limits.RETRY_AFTER_SECONDS_MAX + 1)}

    async def busy(request, n):
        return web.json_response({"error": {"code": "rate_limit_exceeded"}}, status=429, headers={"retry-after": waits[n]})

    async with provider(busy) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url, retries_max=9)), clients)
    assert [failed.retry_in_ms for failed in failures(items)] == [3000, None]
    assert failures(items)[-1].fault.code == "upstream-rate-limited"
    assert len(dispatch.attempts) == 2


@pytest.mark.parametrize(("status", "code"), [(400, "upstream-error"), (401, "upstream-auth"), (404, "upstream-error"), (413, "upstream-overflow")])
async def test_what_cannot_get_better_is_not_tried_again(clients, status, code):
    async def no(request, n):
        return web.json_response({"error": {"message": "no"}}, status=status, headers={"x-request-id": "req-9"})

    async with provider(no) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url)), clients)
    (failed,) = failures(items)
    assert (failed.fault.code, failed.retry_in_ms, failed.fault.http_status) == (code, None, status)
    assert dispatch.attempts[0].provider_request_id == "req-9"


@pytest.mark.req("X-92")
async def test_a_slow_first_byte_times_out_and_may_be_tried_again(clients):
    async def slow(request, n):
        await asyncio.sleep(30 if n == 1 else 0)
        return await hello(request, n)

    async with provider(slow) as seen:
        items, _ = await run(outgoing(upstream(seen.url, timeouts=Timeouts(2, 0.2))), clients)
    (failed,) = failures(items)
    assert failed.fault.retryable
    assert failed.fault.http_status is None
    assert text(items) == "Hello"


@pytest.mark.req("X-78", "X-92")
@pytest.mark.parametrize("how", ["ends", "breaks", "silent"])
async def test_nothing_is_sent_again_once_a_delta_was_seen(clients, how):
    async def half(request, n):
        if how == "ends":
            return await say(request, HELLO[0])
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(HELLO[0])
        if how == "silent":
            await asyncio.sleep(30)
        await asyncio.sleep(0.05)
        request.transport.abort()
        return response

    async with provider(half) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url, timeouts=Timeouts(2, 0.3))), clients)
    assert len(seen.bodies) == 1
    assert text(items) == "Hel"
    (failed,) = failures(items)
    assert (failed.fault.code, failed.retry_in_ms) == ("stream-truncated", None)
    assert dispatch.attempts[0].status == "failed"
    assert dispatch.attempts[0].http_status == 200


@pytest.mark.req("X-78")
async def test_a_stream_that_breaks_before_its_first_delta_is_tried_again(clients):
    async def second_time(request, n):
        return await say(request, *(HELLO if n == 2 else (b": waking up\n\n",)))

    async with provider(second_time) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url)), clients)
    assert text(items) == "Hello"
    assert [record.status for record in dispatch.attempts] == ["failed", "completed"]


async def test_redirects_are_not_followed(clients):
    async def elsewhere(request, n):
        return web.Response(status=307, headers={"location": "http://127.0.0.1:9/elsewhere?key=1"})

    async with provider(elsewhere) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert len(seen.bodies) == 1
    (failed,) = failures(items)
    assert (failed.retry_in_ms, failed.fault.http_status) == (None, 307)
    assert "redirect" in failed.fault.detail


async def test_nobody_listens(clients):
    items, dispatch = await run(outgoing(upstream("http://127.0.0.1:9/v1")), clients)
    assert [failed.retry_in_ms is None for failed in failures(items)] == [False, False, True]
    assert {failed.fault.detail for failed in failures(items)} == {"The connection to the provider failed."}
    assert all(record.http_status is None for record in dispatch.attempts)


async def test_a_huge_error_body_is_read_in_part(clients):
    async def huge(request, n):
        response = web.StreamResponse(status=400)
        await response.prepare(request)
        for _ in range(64):
            await response.write(b"x" * 2**20)
        return response

    async with provider(huge) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert failures(items)[0].fault.http_status == 400


async def test_an_endless_answer_is_cut(clients, monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_BYTES_MAX", 1000)

    async def endless(request, n):
        return await say(request, *[HELLO[0]] * 100, pause=0.001)

    async with provider(endless) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert failures(items)[0].fault.code == "upstream-error"
    assert len(text(items)) < 100


@pytest.mark.req("X-92")
async def test_cancelling_closes_the_connection_at_once(clients):
    async def drip(request, n):
        return await say(request, *[HELLO[0]] * 1000, pause=0.05)

    async with provider(drip) as seen:
        first = asyncio.Event()
        call = outgoing(upstream(seen.url))
        dispatch = Dispatch(Provider(clients), call, ONCE)

        async def read():
            async for item in dispatch.items():
                if isinstance(item, Deltas):
                    first.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(first.wait(), 5)
        assert [record.status for record in dispatch.attempts] == ["running"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(seen.left.wait(), 2)
    assert dispatch.attempts[0].status == "cancelled"
    assert dispatch.attempts[0].ended_ms is not None


async def test_cancelling_before_the_answer_begins(clients):
    reached = asyncio.Event()

    async def never(request, n):
        reached.set()
        await asyncio.sleep(30)
        return web.Response()

    async with provider(never) as seen:
        task = asyncio.create_task(run(outgoing(upstream(seen.url)), clients))
        await asyncio.wait_for(reached.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(seen.left.wait(), 2)
    gc.collect()


@pytest.mark.req("X-92")
async def test_a_caller_that_leaves_early_closes_the_connection(clients):
    async def drip(request, n):
        return await say(request, *[HELLO[0]] * 1000, pause=0.05)

    async with provider(drip) as seen:
        dispatch = Dispatch(Provider(clients), outgoing(upstream(seen.url)), ONCE)
        async with aclosing(dispatch.items()) as items:
            async for item in items:
                if isinstance(item, Deltas):
                    break
        await asyncio.wait_for(seen.left.wait(), 2)
    assert dispatch.attempts[0].status == "cancelled"


async def test_connections_are_used_again_and_more_than_a_hundred_at_once(clients):
    peers = set()
    together = asyncio.Barrier(130)

    async def meet(request, n):
        peers.add(request.transport.get_extra_info("peername"))
        if n <= 130:
            await together.wait()
        return await hello(request, n)

    async with provider(meet) as seen:
        call = outgoing(upstream(seen.url, timeouts=Timeouts(10, 10)))
        found = await asyncio.gather(*[run(call, clients) for _ in range(130)])
        assert all(text(items) == "Hello" for items, _ in found)
        for _ in range(5):
            await run(call, clients)
    assert len(peers) == 130
