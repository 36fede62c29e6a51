"""`kill -9` in mid-stream, of the service alone and together with its Postgres: what was said is kept, the session goes on."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.services.world import World, client_of, frames, said, text

DRIP_TEXT = "drip " * 400
DRIP = {"text": DRIP_TEXT, "chunk_chars": 5, "delay_ms": 20}
LOST_MS_MAX = 250
CHARS_PER_MS = 5 / 20


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def started(env: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """`serve` as the leader of a process group."""
    with log.open("ab") as out:
        return subprocess.Popen([sys.executable, "-m", "app.cli", "serve"], env=env, stdout=out, stderr=out, start_new_session=True)


@asynccontextmanager
async def served(data: Path) -> AsyncIterator[tuple[World, subprocess.Popen[bytes]]]:
    """A service in a process group of its own, over the embedded Postgres in that folder."""
    port = free_port()
    env = {**os.environ, "CONTEXT_LEDGER_PORT": str(port), "CONTEXT_LEDGER_DATA_DIR": str(data), "CONTEXT_LEDGER_LEASE_SECONDS": "2"}
    process = await asyncio.to_thread(started, env, data.parent / "serve.log")
    try:
        async with client_of(f"http://127.0.0.1:{port}") as client, asyncio.timeout(80):
            while True:
                assert process.poll() is None, (data.parent / "serve.log").read_text()
                with suppress(httpx.HTTPError):
                    if (await client.get("/readyz")).status_code == 200:
                        break
                await asyncio.sleep(0.1)
            yield World(client), process
    finally:
        if process.poll() is None:
            process.terminate()
            await asyncio.to_thread(process.wait, 30)


async def seen_until_killed(world: World, session: str, kill: "object", chars: int) -> tuple[str, int, str]:
    """The turn, the last id and the text that a client had seen when the service died."""
    turn, last, shown = "", 0, ""
    with suppress(httpx.HTTPError):
        headers = {"accept": "text/event-stream"}
        async with world.client.stream("POST", f"/sessions/{session}/turns", json={"input": "go"}, headers=headers) as answer:
            async for frame in frames(answer.aiter_lines()):
                turn = turn or frame.data["turn_id"]
                last = frame.id
                shown += frame.data.get("text", "") if frame.event == "text.delta" else ""
                if len(shown) >= chars:
                    assert callable(kill)
                    kill()
                    break
    return turn, last, shown


@pytest.mark.timeout(180)
@pytest.mark.req("S0-38", "S0-40", "X-01", "X-79")
@pytest.mark.parametrize("together", [False, True], ids=["service alone", "with its Postgres"])
async def test_a_killed_service_keeps_the_input_and_what_was_said(tmp_path: Path, together: bool) -> None:
    data = tmp_path / "data"
    async with served(data) as (world, process):
        session = await world.session(script=[DRIP, {"text": "Alive."}])

        def kill() -> None:
            os.killpg(process.pid, signal.SIGKILL) if together else process.kill()

        turn, last, shown = await seen_until_killed(world, session, kill, 300)
        await asyncio.to_thread(process.wait, 10)
    async with served(data) as (world, _):
        view = await world.until(session, turn, "interrupted", seconds=30)
        assert view["error"]["code"] == "lease-lost"
        user, answer = await world.raw(session)
        assert (text(user), answer["body"]["status"]) == ("go", "interrupted")
        kept = text(answer)
        assert DRIP_TEXT.startswith(kept)
        # The flush interval and the time that a commit takes; the paced client had seen at most that much more.
        assert len(shown) - len(kept) <= LOST_MS_MAX * CHARS_PER_MS + 5
        rest = await world.events(session, turn, after=last)
        assert [frame.event for frame in rest][-2:] == ["message.committed", "turn.interrupted"]
        assert rest[-2].id > last
        assert text(rest[-2].data["message"]) == kept
        whole = await world.events(session, turn)
        assert said(whole) == kept
        calls = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
        assert [one["status"] for one in calls] == ["interrupted"]
        assert [message["role"] for message in (await world.input(session))["body"]["messages"]] == ["user"]
        assert (await world.turn(session, "again"))["status"] == "completed"
        assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True
