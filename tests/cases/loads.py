"""Many at once, or much at once: what may not get slower, and what may not be held."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import httpx

from tests.cases.done import Done
from tests.cases.notation import dialect_of
from tests.cases.place import upstream_of
from tests.cases.posting import posted, seeded
from tests.cases.rows import entries
from tests.cases.steps import request_of
from tests.cases.streams import play_of
from tests.database.copies import connect
from tests.services.world import frames
from tests.statements import statements

FEW_ROWS = 100
PROBES = 3
ROUNDS = 5
_LINGERING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%' "
    "AND state_change < clock_timestamp() - interval '1 second'"
)


async def load(done: Done) -> None:
    """One of three loads: streams that stay open, appends side by side, a long session that is compiled."""
    given = done.case.input
    if "open_streams" in given:
        await _open_streams(done)
    elif "parallel_appends" in given:
        await _appends(done)
    else:
        await _long_session(done)


async def _appends(done: Done) -> None:
    """Appends side by side to a short session and to a long one, in turns: seconds and statements of each round, by session."""
    given = done.case.input
    sessions = {}
    for name, rows in (("few", FEW_ROWS), ("many", given["session_rows"])):
        sessions[name] = await done.place.session()
        await seeded(done.world, sessions[name], [{"kind": "user", "text": "x"}] * rows)
    done.facts |= {"seconds": {name: [] for name in sessions}, "statements": {name: [] for name in sessions}}
    for _ in range(ROUNDS):
        for name, session in sessions.items():
            done.session = session
            with statements() as sent:
                seconds = await asyncio.gather(*[_timed_append(done) for _ in range(given["parallel_appends"])])
            done.facts["seconds"][name].append(sorted(seconds))
            done.facts["statements"][name].append([one for one in sent if "append" in one or "window" in one or "entries" in one])


async def _timed_append(done: Done) -> float:
    began = time.perf_counter()
    answer = await posted(done, entries([{"kind": "user", "text": "y"}]))
    assert answer.status_code == 201, answer.text
    return time.perf_counter() - began


async def _long_session(done: Done) -> None:
    """A long session of messages with several parts each, compiled once."""
    given = done.case.input
    target = given["then"]["project"]
    upstream = upstream_of(dialect_of(target["provider"]))
    parts = [{"type": "text", "text": f"part {number}"} for number in range(given["parts_per_message"])]
    done.session = await done.place.session()
    await seeded(done.world, done.session, [{"kind": "user", "parts": parts}] * given["session_rows"])
    with statements() as sent:
        began = time.perf_counter()
        done.inputs.append(await done.world.input(done.session, include="body", upstream=upstream, model=target["model"]))
        done.facts["seconds"] = time.perf_counter() - began
    done.facts["statements"] = sent


async def _open_streams(done: Done) -> None:
    """Streams held open by an upstream that is silent, and probes beside them."""
    given = done.case.input
    done.place = await done.places.own(pool_size=given["settings"]["pool_size"])
    done.play = play_of(given)
    done.session = await done.place.session()
    done.facts["turns"], done.facts["probes"], done.facts["checked_out"] = [], [], []
    async with AsyncExitStack() as stack:
        sessions = [await done.place.playing(done.play) for _ in range(given["open_streams"])]
        answers = [await stack.enter_async_context(_streaming(done, session)) for session in sessions]
        waiting = [frames(answer.aiter_lines()) for answer in answers]
        await asyncio.gather(*[_until(frame, "text.delta") for frame in waiting])
        await _probed(done, given["probe"])
        await asyncio.gather(*[_until(frame, "turn.completed") for frame in waiting])
    for session in sessions:
        done.facts["turns"] += (await done.world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]


def _streaming(done: Done, session: str) -> Any:
    path, headers = f"/sessions/{session}/turns", {"accept": "text/event-stream"}
    return done.world.client.stream("POST", path, json={"input": "go"}, headers=headers)


async def _until(found: Any, name: str) -> None:
    async for frame in found:
        if frame.event == name:
            return
    raise AssertionError(f"the stream ended without {name}")


async def _probed(done: Done, probes: list[str]) -> None:
    """The probes, some rounds of them, while the streams are open; how many connections are out after each, and which linger."""
    watcher = await connect(done.place.migrate_url)
    try:
        for _ in range(PROBES):
            for probe in probes:
                method, path = probe.split(" ")
                body = {"body": {"role": "user", "content": "beside"}} if method == "POST" else {}
                request = request_of({"method": method, "path": path, **body}, {"other": done.session})
                began = time.perf_counter()
                answer: httpx.Response = await done.world.client.request(request.method, request.path, **request.arguments)
                done.facts["probes"].append((time.perf_counter() - began, answer.status_code))
            await asyncio.sleep(0.3)
            done.facts["checked_out"].append(done.place.connections_out())
        done.facts["lingering"] = await watcher.fetchval(_LINGERING)
    finally:
        await watcher.close()
