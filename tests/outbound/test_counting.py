"""Counting by a provider's own endpoint: an ability that may fail in any way, and never takes a call with it."""

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web

from app.config import limits
from app.config.upstreams import SCRIPTED, Upstream
from app.formats.protocols import Counting
from app.formats.registry import FORMATS
from app.models.resolve import ModelChoice
from app.outbound.outbound import Outbound
from tests.outbound.kit import CHAT, KEY, hello, provider, upstream

MODEL = ModelChoice("fake", "m", {})
DOCUMENT = {"messages": ["my secret prompt"]}


def body_of(model, document: Any) -> bytes:
    return json.dumps({"counted": document}).encode()


def read(answer: bytes) -> int | None:
    return json.loads(answer)["tokens"]


COUNTED = replace(CHAT, counting=Counting(lambda model: f"/count/{model}", body_of, read), headers={"x-version": "1"}, auth="x-api-key")


@pytest.fixture
async def outbound():
    found = Outbound(connections_max=10)
    yield found
    await found.aclose()


async def test_the_tree_of_a_call_is_counted_under_the_same_key(outbound):
    async def count(request: web.Request, n: int) -> web.StreamResponse:
        return web.json_response({"tokens": 42})

    async with provider(count) as seen:
        assert await outbound.count(upstream(seen.url), COUNTED, MODEL, DOCUMENT) == 42
    assert seen.paths == ["/v1/count/m"]
    assert json.loads(seen.bodies[0]) == {"counted": DOCUMENT}
    sent = seen.headers[0]
    assert (sent["x-api-key"], sent["x-version"], sent["accept"], sent["content-type"]) == (KEY, "1", "application/json", "application/json")


async def test_bedrock_counts_for_the_model_behind_a_profile(outbound):
    async def count(request: web.Request, n: int) -> web.StreamResponse:
        return web.json_response({"inputTokens": 38})

    async with provider(count) as seen:
        model = ModelChoice("aws", "eu.anthropic.claude-haiku-4-5-20251001-v1:0", {})
        document = {"messages": [{"role": "user", "content": [{"text": "q"}]}], "inferenceConfig": {"maxTokens": 5}}
        assert await outbound.count(upstream(seen.url), FORMATS["bedrock-converse"], model, document) == 38
    assert [unquote(path) for path in seen.paths] == ["/v1/model/anthropic.claude-haiku-4-5-20251001-v1:0/count-tokens"]
    assert json.loads(seen.bodies[0]) == {"input": {"converse": {"messages": document["messages"]}}}


@pytest.mark.req("X-86")
@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=500, text="my secret prompt"),
        web.Response(status=302, headers={"location": "/v1/other"}),
        web.Response(text="my secret prompt"),
        web.Response(text='{"tokens":null}'),
        web.Response(text="[" * 100_000),
        None,
    ],
)
async def test_whatever_goes_wrong_there_is_no_count_and_no_word_of_the_prompt(outbound, caplog, answer: web.Response | None):
    caplog.set_level(logging.INFO, "app")

    async def broken(request: web.Request, n: int) -> web.StreamResponse:
        if answer is None:
            assert request.transport is not None
            request.transport.abort()
            raise ConnectionResetError
        return answer

    async with provider(broken) as seen:
        assert await outbound.count(upstream(seen.url), COUNTED, MODEL, DOCUMENT) is None
        assert len(seen.bodies) == 1
    (said,) = [record.getMessage() for record in caplog.records if record.name == "app.outbound.providers"]
    assert said.startswith("upstream fake did not count a request (")
    assert not any(word in said for word in ("secret", KEY, "127.0.0.1"))


async def test_a_slow_count_is_given_up(outbound, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "COUNT_SECONDS_MAX", 0.1)

    async def slow(request: web.Request, n: int) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.json_response({"tokens": 1})

    async with provider(slow) as seen:
        assert await outbound.count(upstream(seen.url), COUNTED, MODEL, DOCUMENT) is None


async def test_a_cancelled_count_is_cancelled(outbound):
    begun = asyncio.Event()

    async def slow(request: web.Request, n: int) -> web.StreamResponse:
        begun.set()
        await asyncio.sleep(5)
        return web.Response()

    async with provider(slow) as seen:
        task = asyncio.create_task(outbound.count(upstream(seen.url), COUNTED, MODEL, DOCUMENT))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_the_guard_refuses_is_not_asked(outbound):
    async def count(request: web.Request, n: int) -> web.StreamResponse:
        return web.json_response({"tokens": 1})

    async with provider(count) as seen:
        assert await outbound.count(upstream(seen.url, allow_private_network=False), COUNTED, MODEL, DOCUMENT) is None
        assert await outbound.count(upstream("http://127.0.0.1:9/v1"), COUNTED, MODEL, DOCUMENT) is None
    assert not seen.bodies


async def test_a_body_that_cannot_be_made_is_no_count_either(outbound):
    def fails(model, document: Any) -> bytes:
        raise ValueError("my secret prompt")

    broken = replace(COUNTED, counting=Counting(lambda model: "/x", fails, read))
    assert await outbound.count(upstream("http://127.0.0.1:9/v1"), broken, MODEL, DOCUMENT) is None


async def test_without_an_endpoint_nothing_is_asked(outbound, caplog):
    caplog.set_level(logging.INFO, "app")
    async with provider(hello) as seen:
        assert await outbound.count(upstream(seen.url), CHAT, MODEL, DOCUMENT) is None
        assert await outbound.count(Upstream(SCRIPTED, "openai-chat"), COUNTED, MODEL, DOCUMENT) is None
    assert not seen.bodies
    assert not [record for record in caplog.records if record.name == "app.outbound.providers"], "it is no failure"
