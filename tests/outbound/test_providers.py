"""Providers over a real socket: what is sent, what comes back, and what each way of failing means."""

import asyncio
import gc
from contextlib import aclosing

import httpx
import pytest
from aiohttp import web

from app.config import limits
from app.config.secret import Secret
from app.config.upstreams import Timeouts
from app.entries.deltas import Finished, TextDelta
from app.formats.protocols import UpstreamFault
from app.outbound.client import Clients
from app.outbound.exchange import AttemptStarted, Deltas, Opened
from app.outbound.providers import Provider, request_headers
from app.outbound.retry import Dispatch, RetryPolicy
from tests.outbound.kit import CHAT, HELLO, KEY, failures, hello, outgoing, provider, run, say, text, upstream

ONCE = RetryPolicy(retries_max=0)


@pytest.mark.req("S0-03", "X-90")
async def test_a_call_is_posted_whole_and_its_answer_read(clients):
    body = '{"model":"m","messages":[{"role":"user","content":"\u2028 \\ud800 é"}]}'.encode()
    async with provider(hello) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url), body), clients)
    assert seen.bodies == [body]
    assert seen.paths == ["/v1/chat/completions"]
    assert seen.headers[0]["authorization"] == f"Bearer {KEY}"
    assert seen.headers[0]["content-type"] == "application/json"
    assert seen.headers[0]["host"] == seen.url.removeprefix("http://").removesuffix("/v1")
    assert "cookie" not in seen.headers[0]
    assert items[:2] == [AttemptStarted(1), Opened(1, 200, "req-1")]
    assert text(items) == "Hello"
    assert isinstance(items[-1], Deltas)
    assert isinstance(items[-1].deltas[-1], Finished)
    (record,) = dispatch.attempts
    assert (record.n, record.status, record.http_status, record.provider_request_id) == (1, "completed", 200, "req-1")
    assert record.first_delta_ms is not None
    assert record.ended_ms is not None
    assert record.first_delta_ms <= record.ended_ms


@pytest.mark.req("X-90")
async def test_a_canned_transport_sees_path_body_and_headers():
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())

    class Pieces(httpx.AsyncByteStream):
        async def __aiter__(self):
            for piece in HELLO:
                yield piece

    class Canned(Clients):
        def of(self, upstream):
            return httpx.AsyncClient(transport=httpx.MockTransport(answer))

    items, _ = await run(outgoing(upstream("https://api.example.com/v1", allow_private_network=False), b"{}"), Canned())
    assert text(items) == "Hello"
    (request,) = requests
    assert (request.method, str(request.url), request.content) == ("POST", "https://api.example.com/v1/chat/completions", b"{}")
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.req("S0-08")
async def test_interleaved_calls_share_nothing(clients):
    both = asyncio.Barrier(2)

    async def meet(request, n):
        await both.wait()
        return await hello(request, n)

    bodies = [b'{"tools":[{"name":"a"}]}', b'{"messages":[]}']
    async with provider(meet) as seen:
        await asyncio.gather(*[run(outgoing(upstream(seen.url), body), clients) for body in bodies])
    assert sorted(seen.bodies) == sorted(bodies)


@pytest.mark.req("S0-03")
async def test_cookies_are_not_kept(clients):
    async def sweet(request, n):
        return await say(request, *HELLO, headers={"set-cookie": "session=1"})

    async with provider(sweet) as seen:
        for _ in range(2):
            await run(outgoing(upstream(seen.url)), clients)
    assert all("cookie" not in headers for headers in seen.headers)


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


async def test_an_error_under_status_200_is_an_error(clients):
    async def gateway(request, n):
        return web.json_response({"error": {"message": "x", "code": 401}})

    async with provider(gateway) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert [failed.fault.code for failed in failures(items)] == ["upstream-auth"]


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
    assert all(record.http_status is None for record in dispatch.attempts)


@pytest.mark.req("X-86")
async def test_no_secret_and_no_vendor_prose_in_a_fault(clients):
    async def leaky(request, n):
        return web.json_response({"error": {"message": f"bad key {KEY} for prompt 'my secret'", "code": KEY}}, status=401)

    async with provider(leaky) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    (failed,) = failures(items)
    for said in (failed.fault.detail, str(failed.fault), repr(failed.fault), repr(failed)):
        assert KEY not in said
        assert "my secret" not in said
        assert "127.0.0.1" not in said


@pytest.mark.req("X-86")
async def test_neither_bodies_nor_keys_are_logged(clients, caplog):
    caplog.set_level(0)
    async with provider(hello) as seen:
        await run(outgoing(upstream(seen.url), b'{"prompt":"my secret"}'), clients)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert KEY not in said
    assert "my secret" not in said


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


async def test_the_environments_proxy_is_ignored(clients, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with provider(hello) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert text(items) == "Hello"


async def test_an_operators_headers_are_sent_and_cannot_replace_ours(clients):
    async with provider(hello) as seen:
        await run(outgoing(upstream(seen.url, headers={"X-Title": Secret("ledger")})), clients)
        assert seen.headers[0]["x-title"] == "ledger"
        for name in ("Host", "authorization", "Transfer-Encoding", "connection", "Content-Length", "Proxy-Authorization"):
            items, _ = await run(outgoing(upstream(seen.url, headers={name: Secret("x")})), clients)
            (failed,) = failures(items)
            assert name.lower() in failed.fault.detail
        assert len(seen.bodies) == 1


@pytest.mark.req("X-86")
@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\x00b", "café", "", " a"])
def test_a_value_cannot_write_headers_of_its_own(value):
    with pytest.raises(UpstreamFault) as caught:
        request_headers(upstream("http://h/v1", headers={"x-a": Secret(value)}))
    assert not value.strip() or value not in str(caught.value)
    with pytest.raises(UpstreamFault):
        request_headers(upstream("http://h/v1", api_key=Secret(value)))
    with pytest.raises(UpstreamFault):
        request_headers(upstream("http://h/v1", headers={"x-a\r\nb": Secret("v")}))


async def test_no_key_no_authorization(clients):
    async with provider(hello) as seen:
        await run(outgoing(upstream(seen.url, api_key=None)), clients)
    assert "authorization" not in seen.headers[0]


@pytest.mark.req("X-75")
async def test_bytes_cut_anywhere_say_the_same(clients):
    whole = b"".join(HELLO)

    async def crumbs(request, n):
        return await say(request, *[whole[i : i + 7] for i in range(0, len(whole), 7)])

    async with provider(crumbs) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert text(items) == "Hello"
    assert any(isinstance(delta, TextDelta) for item in items if isinstance(item, Deltas) for delta in item.deltas)
    assert CHAT.dialect == "openai-chat"
