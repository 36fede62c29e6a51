"""Two replicas, clients that do everything at once, and a Postgres that cuts its connections: what has to hold, holds."""

import asyncio
import contextlib
import random
from dataclasses import replace
from typing import Any

import asyncpg
import httpx
import pytest

from app.config.settings import Settings
from tests.api.conftest import on_socket
from tests.services.turns.test_tools import TOOLS
from tests.services.world import World, client_of, said, text

WORDS = "some words that have to come out whole " * 4
SPOKEN = {"text": WORDS, "chunk_chars": 7, "delay_ms": 10}
CALLING = {**SPOKEN, "tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}, {"id": "c2", "name": "lookup", "arguments": "{}"}]}
SESSIONS = 8
TURNS = 4
SEEDS = (1, 2)


async def cut(url: str, database: str, chance: random.Random, over: asyncio.Event) -> int:
    """Ends some of the service's connections, now and then; says how many."""
    owner = await asyncpg.connect(url)
    cuts = 0
    try:
        while not over.is_set():
            await asyncio.sleep(chance.uniform(0.05, 0.3))
            found = await owner.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND usename = 'ledger_app' AND random() < 0.4", database
            )
            cuts += len(found)
    finally:
        await owner.close()
    return cuts


async def one_client(worlds: list[World], session: str, chance: random.Random) -> None:
    """Turns, results, changes, cancels and interruptions, on whichever replica; refusals and outages are part of the game."""

    async def send(method: str, path: str, body: Any) -> Any:
        with contextlib.suppress(httpx.HTTPError, ValueError):
            world = chance.choice(worlds)
            return (await world.client.request(method, f"/sessions/{session}{path}", json=body, headers={"accept": "application/json"})).json()
        return {}

    for at in range(TURNS):
        extra = {"on_busy": chance.choice(["reject", "interrupt"]), "on_pending": "abandon"}
        turn = asyncio.create_task(send("POST", "/turns", {"input": f"go {at}", **extra}))
        await asyncio.sleep(chance.uniform(0, 0.3))
        await send("PATCH", "/state", {"session": {"n": at}})
        if chance.random() < 0.3:
            await send("POST", "/stop", {})
        view = await turn
        results = [{"tool_call_id": one["tool_call_id"], "content": "42"} for one in view.get("pending", [])]
        if results:
            path = f"/turns/{view['id']}/tool-results"
            await asyncio.gather(*(send("POST", path, {"results": given}) for given in (results[:1], results[1:], results)))


async def until_idle(client: httpx.AsyncClient, session: str) -> None:
    while True:
        if (await client.get(f"/sessions/{session}")).json()["status"] not in ("busy", 503):  # 503: a connection that was cut just now
            return
        await asyncio.sleep(0.2)


async def check(world: World, session: str) -> list[str]:
    """The invariants of one session; the statuses of its turns."""
    verified = (await world.call("GET", f"/sessions/{session}/verify", 200)).json()
    assert (verified["ok"], verified["problems"]) == (True, [])
    turns = (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]
    by_seq = {entry["seq"]: entry for entry in await world.ledger(session)}
    for turn in turns:
        assert turn["status"] in ("completed", "cancelled", "interrupted", "requires_action"), turn
        entries = [by_seq[seq] for seq in turn["entry_seqs"]]
        kinds = [entry["kind"] for entry in entries]
        assert kinds.count("turn_settled") == (turn["status"] != "requires_action")
        assert kinds.count("model_call_started") == kinds.count("model_call_finished") == len(turn["calls"])
        results = [entry["body"]["tool_call_id"] for entry in entries if entry["kind"] == "tool_result"]
        assert len(results) == len(set(results))
        answers = [entry for entry in entries if entry["kind"] == "assistant_message"]
        assert all(WORDS.startswith(text(answer)) for answer in answers)
        assert all(text(answer) == WORDS for answer in answers if answer["body"]["status"] == "completed")
        events = await world.events(session, turn["id"])
        assert [event.id for event in events] == sorted({event.id for event in events})
        committed = [text(event.data["message"]) for event in events if event.event == "message.committed"]
        assert committed == [text(answer) for answer in answers]
        assert len(said(events)) >= sum(map(len, committed))
        assert [event.event for event in events].count(f"turn.{turn['status']}") >= 1
    return [turn["status"] for turn in turns]


@pytest.mark.timeout(180)
@pytest.mark.req("X-01", "X-04", "X-06", "S0-40")
@pytest.mark.parametrize("seed", SEEDS)
async def test_what_has_to_hold_holds_whatever_happens_at_once(settings: Settings, migrate_url: str, database: str, seed: int) -> None:
    chance, over = random.Random(seed), asyncio.Event()
    short = replace(settings, lease_seconds=2.0, flush_ms=50)
    async with on_socket(short) as url, on_socket(short) as other, client_of(url) as one, client_of(other) as two:
        worlds = [World(one), World(two)]
        agent = await worlds[0].agent([CALLING, SPOKEN], tools=TOOLS, state_schema={"session": {"type": "object"}})
        sessions = [await worlds[0].session(agent) for _ in range(SESSIONS)]
        cutting = asyncio.create_task(cut(migrate_url, database, chance, over))
        clients = [one_client(worlds, session, random.Random(seed * 100 + at)) for at, session in enumerate(sessions)]
        async with asyncio.timeout(120):
            await asyncio.gather(*clients)
        over.set()
        assert await cutting > 10
        async with asyncio.timeout(40):
            await asyncio.gather(*(until_idle(one, session) for session in sessions))
        found = [status for session in sessions for status in await check(worlds[0], session)]
        assert "completed" in found
