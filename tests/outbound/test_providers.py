"""Providers over a real socket: what is sent, and what comes back."""

import asyncio

import httpx
import pytest
from aiohttp import web

from app.config.secret import Secret
from app.entries.deltas import Finished, TextDelta
from app.formats.protocols import UpstreamFault
from app.outbound.client import Clients
from app.outbound.exchange import AttemptStarted, Deltas, Opened
from app.outbound.providers import request_headers
from tests.outbound.kit import CHAT, HELLO, KEY, failures, hello, outgoing, provider, run, say, text, upstream


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


async def test_an_error_under_status_200_is_an_error(clients):
    async def gateway(request, n):
        return web.json_response({"error": {"message": "x", "code": 401}})

    async with provider(gateway) as seen:
        items, _ = await run(outgoing(upstream(seen.url)), clients)
    assert [failed.fault.code for failed in failures(items)] == ["upstream-auth"]


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
        request_headers(upstream("http://h/v1", headers={"x-a": Secret(value)}), CHAT)
    assert not value.strip() or value not in str(caught.value)
    with pytest.raises(UpstreamFault):
        request_headers(upstream("http://h/v1", api_key=Secret(value)), CHAT)
    with pytest.raises(UpstreamFault):
        request_headers(upstream("http://h/v1", headers={"x-a\r\nb": Secret("v")}), CHAT)


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
