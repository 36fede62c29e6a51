"""Faults come when they are asked for, and in the order they were asked for."""

from time import perf_counter
from typing import Any

import httpx
import pytest

from tests.fakes.anthropic_messages import FakeAnthropic
from tests.fakes.bedrock_converse import FakeBedrock
from tests.fakes.openai_chat import KEY, FakeOpenAI, fake_openai
from tests.fakes.serving import FakeServer, Fault

STREAM = b"".join(b'data: {"n":%d}\n\n' % number for number in range(200))
BODY: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}


async def ask(url: str) -> httpx.Response:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as client:
        return await client.post(f"{url}/v1/chat/completions", json=BODY)


async def test_a_status_stands_in_place_of_an_answer_and_uses_up_no_stream():
    async with fake_openai([STREAM, b"data: [DONE]\n\n"]) as fake:
        fake.faults = [None, Fault(429, "rate_limit_exceeded", headers={"retry-after": "7"})]
        assert (await ask(fake.url)).content == STREAM
        busy = await ask(fake.url)
        assert (busy.status_code, busy.headers["retry-after"], busy.json()["error"]["type"]) == (429, "7", "rate_limit_exceeded")
        assert (await ask(fake.url)).content == b"data: [DONE]\n\n"
        assert (len(fake.served), len(fake.failed)) == (2, 1)


async def test_a_stream_stops_where_it_should():
    async with fake_openai([STREAM]) as fake:
        fake.faults = [Fault(stop_at_byte=1001, then="end"), Fault(stop_at_byte=1001, then="error"), Fault(stop_at_byte=1001), Fault(stop_at_byte=0)]
        assert (await ask(fake.url)).content == STREAM[:1001]
        *events, error, nothing = (await ask(fake.url)).content.split(b"\n\n")
        whole = STREAM[:1001].rfind(b"\n\n")
        assert (b"\n\n".join(events), nothing) == (STREAM[:whole], b"")
        assert b"Made to fail." in error
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                await ask(fake.url)
        assert (await ask(fake.url)).content == STREAM


async def test_pieces_are_slow_on_demand():
    async with fake_openai([STREAM]) as fake:
        fake.faults = [Fault(pause_seconds=0.05)]
        began = perf_counter()
        assert (await ask(fake.url)).content == STREAM
        assert perf_counter() - began >= 0.05 * (len(STREAM) // fake.piece_bytes)


@pytest.mark.parametrize(("kind", "end"), [(FakeOpenAI, ":1/v1"), (FakeAnthropic, ":1/v1"), (FakeBedrock, ":1")])
def test_an_operator_may_configure_it(kind: type[FakeServer], end: str):
    fake = kind()
    fake.url = "http://127.0.0.1:1"
    upstream = fake.upstream(retries_max=2)
    assert (upstream.dialect == fake.dialect, upstream.base_url, upstream.retries_max) == (True, f"http://127.0.0.1{end}", 2)
    assert upstream.api_key is not None
    assert upstream.api_key.reveal() == kind.key
    assert fake.upstream("other").name == "other"
