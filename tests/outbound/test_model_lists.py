"""Asking providers for their models: what is sent, what is believed, and that nothing of it can stop a start."""

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from app.config.secret import Secret
from app.formats.registry import FORMATS
from app.models.resolve import Limits
from app.outbound.client import Clients
from app.outbound.model_lists import listed_limits
from tests.outbound.kit import KEY, Seen, provider, upstream

VLLM = {"object": "list", "data": [{"id": "house", "max_model_len": 40_960}]}
HOUSE = {"house": Limits(40_960, 40_960, "provider")}


def answering(document: Any, status: int = 200):
    async def handle(request: web.Request, n: int) -> web.StreamResponse:
        return web.Response(status=status, body=document if isinstance(document, bytes) else json.dumps(document).encode())

    return handle


async def listed(clients: Clients, seen: Seen, **more: Any) -> Any:
    return await listed_limits(clients, [upstream(seen.url, metadata=True, **more)])


@pytest.mark.req("S3-04", "X-44")
async def test_the_list_is_asked_for_once_with_the_key_and_read(clients: Clients):
    async with provider(answering(VLLM)) as seen:
        assert await listed(clients, seen, headers={"X-Org": Secret("research")}) == {"fake": HOUSE}
    assert seen.paths == ["/v1/models"]
    assert seen.headers[0]["authorization"] == f"Bearer {KEY}"
    assert seen.headers[0]["accept"] == "application/json"
    assert seen.headers[0]["x-org"] == "research"
    assert "content-type" not in seen.headers[0]


@pytest.mark.parametrize(
    ("dialect", "document", "path", "headers"),
    [
        (
            "anthropic-messages",
            {"data": [{"id": "house", "max_input_tokens": 40_960, "max_tokens": 40_960}]},
            "/v1/models?limit=1000",
            {"x-api-key": KEY, **FORMATS["anthropic-messages"].headers},
        ),
        (
            "gemini",
            {"models": [{"name": "models/house", "inputTokenLimit": 40_960, "outputTokenLimit": 40_960}]},
            "/v1/models?pageSize=1000",
            {"x-goog-api-key": KEY},
        ),
    ],
)
async def test_a_dialects_own_place_headers_and_way_of_sending_a_key_hold(
    clients: Clients, dialect: str, document: Any, path: str, headers: dict[str, str]
):
    async with provider(answering(document)) as seen:
        assert await listed_limits(clients, [replace(upstream(seen.url, metadata=True), dialect=dialect)]) == {"fake": HOUSE}
    assert seen.paths == [path]
    assert headers.items() <= seen.headers[0].items()
    assert "authorization" not in seen.headers[0]


async def test_who_is_not_to_be_asked_is_not(clients: Clients):
    async with provider(answering(VLLM)) as seen:
        assert await listed_limits(clients, [upstream(seen.url), upstream(seen.url, exact_counting=True)]) == {}
    assert seen.paths == []


async def test_a_dialect_whose_servers_say_no_limits_is_named_and_not_asked(clients: Clients, caplog: pytest.LogCaptureFixture):
    async with provider(answering(VLLM)) as seen:
        assert await listed_limits(clients, [replace(upstream(seen.url, metadata=True), dialect="bedrock-converse")]) == {}
    assert seen.paths == []
    assert "Servers of its dialect say no limits." in caplog.text


@pytest.mark.req("X-86")
@pytest.mark.parametrize(
    ("document", "status", "word"),
    [
        (b"sk-secret-in-a-page", 200, "no JSON"),
        ({"error": "sk-secret"}, 401, "status 401"),
        (b"", 302, "status 302"),
        (b'["' + b"x" * 9_000_000 + b'"]', 200, "longer than"),
    ],
    ids=["no json", "refused", "redirected", "too long"],
)
async def test_a_failure_is_harmless_and_the_log_repeats_nothing(
    clients: Clients, document: Any, status: int, word: str, caplog: pytest.LogCaptureFixture
):
    async with provider(answering(document, status)) as seen:
        assert await listed(clients, seen) == {}
    assert word in caplog.text
    assert "upstream fake" in caplog.text
    assert "sk-secret" not in caplog.text
    assert seen.url not in caplog.text


async def test_nobody_there_and_a_private_address_cannot_be_asked(clients: Clients, caplog: pytest.LogCaptureFixture):
    gone = upstream("http://127.0.0.1:9/v1", metadata=True)
    refused = replace(gone, name="refused", allow_private_network=False)
    assert await listed_limits(clients, [gone, refused]) == {}
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 2
    assert "127.0.0.1" not in caplog.text


async def test_one_that_hangs_is_given_up_and_the_others_are_kept(
    clients: Clients, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("app.config.limits.MODEL_LIST_SECONDS_MAX", 0.3)

    async def hang(request: web.Request, n: int) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    async with provider(hang) as slow, provider(answering(VLLM)) as seen:
        asked = [replace(upstream(slow.url, metadata=True), name="slow"), upstream(seen.url, metadata=True)]
        async with asyncio.timeout(5):
            assert await listed_limits(clients, asked) == {"fake": HOUSE}
    assert "upstream slow: its list of models did not come in time" in caplog.text
