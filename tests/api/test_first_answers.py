"""A known key gives the first answer of `POST /sessions` again, whatever became of the session and its agent."""

import httpx
import pytest

from tests.api.conftest import AGENT

KEY = {"Idempotency-Key": "k"}


def same(one: httpx.Response, other: httpx.Response) -> bool:
    return (one.status_code, one.content, one.headers["etag"], one.headers["location"]) == (
        other.status_code,
        other.content,
        other.headers["etag"],
        other.headers["location"],
    )


@pytest.mark.req("X-05")
async def test_a_new_session_is_answered_as_it_was_opened(client: httpx.AsyncClient) -> None:
    await client.put("/agents/triage", json=AGENT)
    body = {"agent": "triage", "title": "one", "metadata": {"n": 1.0}, "state": {"session": {"x": 1}}}
    first = await client.post("/sessions", json=body, headers=KEY)
    await client.patch(first.headers["location"], json={"title": "two", "metadata": {}})
    strict = {"type": "object", "properties": {}, "additionalProperties": False}
    assert (await client.put("/agents/triage", json={**AGENT, "state_schema": {"session": strict}})).status_code == 201
    again = await client.post("/sessions", json=body, headers=KEY)
    assert same(first, again), (first.text, again.text)
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.req("X-05")
async def test_a_session_that_was_there_is_answered_as_it_stood(client: httpx.AsyncClient) -> None:
    await client.put("/agents/triage", json=AGENT)
    body = {"agent": "triage", "external_id": "e", "if_exists": "return"}
    opened = await client.post("/sessions", json=body)
    first = await client.post("/sessions", json=body, headers=KEY)
    assert (first.status_code, first.json()["id"], "idempotent-replayed" in first.headers) == (200, opened.json()["id"], False)
    await client.patch(first.headers["location"], json={"title": "two"})
    again = await client.post("/sessions", json=body, headers=KEY)
    assert same(first, again), (first.text, again.text)
    assert again.headers["idempotent-replayed"] == "true"
    reused = await client.post("/sessions", json={**body, "title": "x"}, headers=KEY)
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")
