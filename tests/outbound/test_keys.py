"""How each dialect is asked: in which header a key goes, what else is said, and which names a request may have."""

from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from app.config.secret import Secret
from app.outbound.exchange import Outgoing
from app.outbound.providers import request_headers
from tests.outbound.kit import CHAT, HELLO, KEY, failures, hello, outgoing, provider, run, say, upstream


def asked(to: Any, **changes: Any) -> Outgoing:
    return replace(outgoing(to), format=replace(CHAT, **changes))


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ("bearer", {"authorization": f"Bearer {KEY}"}),
        ("x-api-key", {"x-api-key": KEY}),
        ("x-goog-api-key", {"x-goog-api-key": KEY}),
        ("aws", {"authorization": f"Bearer {KEY}"}),
    ],
)
async def test_a_key_goes_where_the_dialect_wants_it(clients, auth: Any, sent: dict[str, str]):
    async with provider(hello) as seen:
        await run(asked(upstream(seen.url), auth=auth), clients)
        await run(asked(upstream(seen.url, api_key=None), auth=auth), clients)
    places = ("authorization", "x-api-key", "x-goog-api-key")
    assert {name: value for name, value in seen.headers[0].items() if name in places} == sent
    assert not set(places) & set(seen.headers[1])


async def test_a_dialects_headers_are_sent_and_an_operator_may_name_others(clients):
    headers = {"Anthropic-Version": "2026-10-21", "x-own": "1"}
    async with provider(hello) as seen:
        await run(asked(upstream(seen.url), headers=headers, accept="application/x-test"), clients)
        await run(asked(upstream(seen.url, headers={"ANTHROPIC-version": Secret("2023-06-01")}), headers=headers), clients)
    assert [(one["anthropic-version"], one["x-own"]) for one in seen.headers] == [("2026-10-21", "1"), ("2023-06-01", "1")]
    assert [one["accept"] for one in seen.headers] == ["application/x-test", "text/event-stream"]


@pytest.mark.parametrize(
    ("auth", "name", "free"),
    [("x-api-key", "X-Api-Key", "bearer"), ("x-goog-api-key", "x-goog-api-key", "bearer"), ("aws", "X-Amz-Security-Token", "bearer")],
)
async def test_the_header_of_a_key_is_the_services_own_where_it_is_one(clients, auth: Any, name: str, free: Any):
    async with provider(hello) as seen:
        to = upstream(seen.url, headers={name: Secret("x")})
        items, _ = await run(asked(to, auth=auth), clients)
        assert name.lower() in failures(items)[0].fault.detail
        await run(asked(to, auth=free), clients)
    assert [one[name.lower()] for one in seen.headers] == ["x"]


def test_the_accept_header_is_never_an_operators():
    for name in ("accept", "authorization", "content-type"):
        with pytest.raises(Exception, match="service's own"):
            request_headers(upstream("http://h/v1", headers={name: Secret("x")}), CHAT)


@pytest.mark.parametrize(
    ("headers", "known_as"),
    [
        ({"x-request-id": "a", "request-id": "b"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"x-amzn-RequestId": "c"}, "c"),
        ({"x-goog-request-id": "d"}, "d"),
        ({"apim-request-id": "e", "cf-ray": "f"}, "e"),
        ({"cf-ray": "f g"}, "fg"),
        ({}, None),
    ],
)
async def test_how_a_provider_calls_a_request_is_kept(clients, headers: dict[str, str], known_as: str | None):
    async def named(request: web.Request, n: int) -> web.StreamResponse:
        if n == 2:
            return web.Response(status=500, headers=headers)
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **headers})
        await response.prepare(request)
        for piece in HELLO:
            await response.write(piece)
        return response

    async with provider(named) as seen:
        _, dispatch = await run(outgoing(upstream(seen.url)), clients)
        assert dispatch.attempts[0].provider_request_id == known_as
        _, dispatch = await run(outgoing(upstream(seen.url, retries_max=0)), clients)
        assert dispatch.attempts[0].provider_request_id == known_as


async def test_a_provider_that_says_no_name_has_none(clients):
    async with provider(lambda request, n: say(request, *HELLO, headers={"x-request-id": ""})) as seen:
        _, dispatch = await run(outgoing(upstream(seen.url)), clients)
    assert dispatch.attempts[0].provider_request_id is None
