"""Sessions, state and line over HTTP."""

import asyncio

import httpx
import pytest

from tests.api.conftest import AGENT, message, open_session


@pytest.mark.req("X-10", "X-17")
async def test_a_session_says_where_it_stands(client: httpx.AsyncClient) -> None:
    session = await open_session(client, session={"title": "t", "metadata": {"b": 1, "a": 1.0}, "user": "u", "external_id": "e"})
    found = await client.get(f"/sessions/{session}")
    body = found.json()
    assert (body["head_seq"], body["message_count"], body["status"], body["follows"], body["agent_revision"]) == (1, 0, "idle", True, 1)
    assert '"metadata":{"b":1,"a":1.0}' in found.text
    assert found.headers["etag"] == '"1.0"'
    again = await client.get(f"/sessions/{session}", headers={"If-None-Match": '"1.0"'})
    assert (again.status_code, again.content) == (304, b"")
