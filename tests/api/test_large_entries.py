"""One huge text: named in a list, whole on demand, and no hindrance to others; and the same small text twice."""

import asyncio
import time

import httpx
import pytest

from tests.api.conftest import message, open_session

LINE = "a line of a log that nobody read\n"


@pytest.mark.req("S1-11")
async def test_a_huge_text_is_named_in_a_list_and_comes_whole_on_demand(client: httpx.AsyncClient) -> None:
    session, text = await open_session(client), LINE * 100_000
    call = {"type": "tool_call", "tool_call_id": "c", "name": "build", "arguments": "{}"}
    entries = [{"kind": "assistant_message", "parts": [call]}, message(text, "tool_result", tool_call_id="c")]
    assert (await client.post(f"/sessions/{session}/entries", json={"entries": entries})).status_code == 201
    listed = await client.get(f"/sessions/{session}/raw", params={"blobs": "ref"})
    assert len(listed.content) < 16 * 2**10
    (part,) = listed.json()["data"][1]["body"]["parts"]
    assert (part["type"], part["blob"]["byte_length"]) == ("text", len(text))
    blob = await client.get(f"/sessions/{session}/blobs/{part['blob']['digest']}")
    assert blob.content == text.encode()
    whole = (await client.get(f"/sessions/{session}/raw")).json()["data"][1]["body"]["parts"]
    assert whole == [{"type": "text", "text": text}]


async def test_a_huge_text_holds_nobody_up(url: str) -> None:
    """A text without words is the dearest to count; others are answered meanwhile."""
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
        session = await open_session(client)
        slowest = 0.0

        async def probe() -> None:
            nonlocal slowest
            while True:
                began = time.perf_counter()
                assert (await client.get("/livez")).status_code == 200
                slowest = max(slowest, time.perf_counter() - began)
                await asyncio.sleep(0.02)

        probing = asyncio.create_task(probe())
        began = time.perf_counter()
        for unit in ("_", " "):
            body = {"entries": [message(unit * 500_000)]}
            assert (await client.post(f"/sessions/{session}/entries", json=body)).status_code == 201
        seconds = time.perf_counter() - began
        probing.cancel()
        await asyncio.gather(probing, return_exceptions=True)
    assert seconds < 4
    assert slowest < 0.5


async def test_the_same_text_again_is_another_entry(client: httpx.AsyncClient) -> None:
    session = await open_session(client)
    for _ in range(2):
        await client.post(f"/sessions/{session}/entries", json={"entries": [message("yes"), message("yes")]})
    assert [entry["seq"] for entry in (await client.get(f"/sessions/{session}/raw")).json()["data"]] == [2, 3, 4, 5]
