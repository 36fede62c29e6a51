"""Appends over HTTP, beside bare asyncpg without any."""

from pathlib import Path
from statistics import median

import aiohttp
import orjson

from bench.database import Database
from bench.limits.postgres import TEXT, open_table
from bench.rounds import interleave, per_second, ratio
from bench.scale import Scale
from bench.service import open_sessions, put_agent, running_service
from bench.table import Row

CLIENTS = 16
AGENTS_SDK = 0.04
"""The OpenAI Agents SDK in process, as a fraction of bare asyncpg at 16 callers, by the recorded figures; it is not installed here."""
TURN = orjson.dumps({"entries": [{"kind": kind, "parts": [{"type": "text", "text": TEXT}]} for kind in ("user_message", "assistant_message")]})


async def measure(database: Database, scale: Scale, folder: Path) -> list[Row]:
    """The row of the append over HTTP. The clients run in this process and take their part of the same cores."""
    bare = await open_table(database.connect, CLIENTS)
    connector = aiohttp.TCPConnector(limit=CLIENTS)
    try:
        async with (
            running_service(folder, {"DATABASE_URL": database.app_url, "POOL_SIZE": str(CLIENTS)}) as service,
            aiohttp.ClientSession(connector=connector, headers={"content-type": "application/json"}) as client,
        ):
            await put_agent(client, service, "bench-appends", {"upstream": "scripted", "name": "scripted", "params": {}})
            sessions = await open_sessions(client, service, "bench-appends", CLIENTS)

            async def ours(caller: int, _n: int) -> None:
                async with client.post(f"{service.url}/sessions/{sessions[caller]}/entries", data=TURN) as response:
                    if response.status != 201:
                        raise RuntimeError(await response.text())
                    await response.read()

            figures = await interleave(
                scale.rounds,
                {
                    "bare": lambda: per_second(CLIENTS, scale.turns, bare.append),
                    "ours": lambda: per_second(CLIENTS, max(1, scale.turns // 3), ours),
                },
            )
    finally:
        await bare.close()
    reached = ratio(figures, "ours", "bare")
    return [
        Row(
            "append over HTTP, 16 clients",
            "≥ 0.15 × bare asyncpg; ≥ 4 × the OpenAI Agents SDK in process (not installed here; 0.04 × bare by the recorded figures)",
            f"{reached:.2f} × ({median(figures['ours']):.0f} of {median(figures['bare']):.0f} turns/s); "
            f"by the recorded figures {reached / AGENTS_SDK:.1f} × the SDK",
            reached >= 0.15 and reached >= 4 * AGENTS_SDK,
            "one worker's core: routing and validation of a request take longer than the append itself; the clients share the two cores",
        )
    ]
