"""Bodies above the limit, over a socket: the answer reaches a client that is still sending."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.config.limits import BODY_BYTES_MAX
from tests.api.conftest import open_session

JSON = {"content-type": "application/json"}


@pytest.mark.req("X-85")
async def test_the_answer_is_heard_and_the_connection_can_be_used_again(url: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(BODY_BYTES_MAX // 2**20 + 8):
            yield b" " * 2**20

    limits = httpx.Limits(max_connections=1)
    async with httpx.AsyncClient(base_url=url, timeout=30, limits=limits, trust_env=False) as client:
        session = await open_session(client)
        for content in (b" " * (BODY_BYTES_MAX + 1), pieces()):
            answer = await client.post(f"/sessions/{session}/entries", content=content, headers=JSON)
            assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
        assert (await client.get(f"/sessions/{session}")).json()["head_seq"] == 1
