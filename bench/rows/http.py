"""Appends over HTTP, beside bare asyncpg without any; and what a call over a long window leaves in the database."""

from dataclasses import replace
from pathlib import Path
from statistics import median

import aiohttp
import orjson

from app.entries.ids import SESSION, parse_id
from app.storage.types import Append
from bench.database import Database
from bench.limits.postgres import TEXT, open_table
from bench.rounds import interleave, per_second, ratio
from bench.rows.storage import TURN as MESSAGES
from bench.scale import Scale
from bench.service import Service, open_sessions, put_agent, running_service
from bench.table import Row

CLIENTS = 16
WINDOW = 200
RECORD_BYTES_TARGET = 3_000
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

            record = await _record(database, client, service, scale)
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
        ),
        record,
    ]


async def _record(database: Database, client: aiohttp.ClientSession, service: Service, scale: Scale) -> Row:
    """A turn over a window of which every third message is left out, and the bytes that its call's row keeps."""
    count = min(WINDOW, scale.page_entries)
    (session,) = await open_sessions(client, service, "bench-appends", 1)
    uuid = parse_id(SESSION, session)
    assert uuid is not None
    entries = tuple([replace(MESSAGES[at % 2], include_in_context=at % 3 != 0) for at in range(count)])
    await database.store.ledger.append(database.tenant, uuid, Append(entries=entries))
    async with client.post(f"{service.url}/sessions/{session}/turns", data=orjson.dumps({"input": "Go on."})) as response:
        if response.status != 200:
            raise RuntimeError(await response.text())
    (call,) = await database.store.calls.list(database.tenant, uuid, limit=1)
    size = len(call.record.encode())
    return Row(
        f"call record with manifest exceptions, window of {count}, every third message left out",
        "≤ 3 kB",
        f"{size:,} B",
        size <= RECORD_BYTES_TARGET,
        "positions of what was not plainly sent",
    )
