"""Turns against an upstream that plays what a case says, and clients that leave when a case says so."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from app.entries.deltas import Finished, TextDelta
from app.formats.registry import FORMATS
from tests.cases.done import Done
from tests.cases.notation import dialect_of
from tests.cases.place import upstream_of
from tests.cases.upstream import DONE, Play
from tests.services.world import Frame, frames

SETTLED = ("completed", "failed", "cancelled", "interrupted")
TERMINAL = tuple(f"turn.{status}" for status in SETTLED)
SECONDS_MAX = 40


def said(text: str) -> str:
    """A Chat chunk that says a text."""
    return f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}\n\n'


STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'


def saying(text: str, **more: Any) -> Play:
    """A play that says one word and ends well."""
    return Play([{"status": 200, "chunks": [said(text), STOP, DONE]}], **more)


def play_of(given: Any) -> Play:
    """What the upstream of a `stream` case does. `chunk_interval_ms` is the case's word beside the chunks."""
    attempts = given.get("upstream_sequence") or [given["upstream"]]
    return Play(attempts)


def saying_in(dialect: str, text: str) -> Any:
    """An attempt that says one word in a dialect and ends well."""
    writer = FORMATS[dialect].new_writer("scripted", "scripted", 0)
    written = b"".join([writer.write(TextDelta(0, text)), writer.write(Finished("finished", "")), writer.end()])
    return {"status": 200, "chunks": [{"hex": written.hex()}]}


def reporting(*usages: Mapping[str, Any]) -> Any:
    """An attempt that says one word in Messages, with figures at its start and, where there are more, at its end."""
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usages[0]}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "b"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usages[-1]},
        {"type": "message_stop"},
    ]
    return {"status": 200, "chunks": [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]}


async def stream(done: Done, on_disconnect: str = "continue", **document: Any) -> None:
    """A turn, streamed to a client until it ends or the client leaves; then the turn once it is settled or waits."""
    given = done.case.input
    client = given.get("client", {})
    if "heartbeat_ms" in given.get("settings", {}):
        done.place = await done.places.own(heartbeat_seconds=given["settings"]["heartbeat_ms"] / 1000)
    if "credentials" in given:
        done.place = await done.places.own(key=given["credentials"]["api_key"], log_level="debug")
    done.play = play_of(given)
    if client.get("disconnect_at") == "after_finish_before_done":
        done.play.gate = asyncio.Event()
    done.session = await done.place.playing(done.play, upstream_of(dialect_of(given.get("dialect", done.case.provider))), **document)
    leaving = asyncio.timeout(client["disconnect_after_ms"] / 1000) if "disconnect_after_ms" in client else contextlib.nullcontext()
    with contextlib.suppress(TimeoutError):
        async with leaving, _posted(done, on_disconnect) as answer:
            await _read(done, answer, client)
    done.facts["left_at"] = asyncio.get_running_loop().time()
    if done.play.gate is not None:
        done.play.gate.set()
    done.turn = await at_rest(done)


@contextlib.asynccontextmanager
async def _posted(done: Done, on_disconnect: str) -> AsyncIterator[httpx.Response]:
    body = {"input": "go", "on_disconnect": on_disconnect}
    headers = {"accept": "text/event-stream"}
    async with done.world.client.stream("POST", f"/sessions/{done.session}/turns", json=body, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        done.headers = answer.headers
        yield answer


async def _read(done: Done, answer: httpx.Response, client: Any) -> None:
    """The frames until the end, or until the client leaves. What a client counts as an event is a piece of the answer."""
    pieces = 0
    async for frame in frames(_kept(done, answer)):
        done.frames.append(frame)
        pieces += frame.event == "text.delta"
        if pieces and pieces == client.get("disconnect_after_events"):
            return
        if pieces and client.get("disconnect_at") == "after_finish_before_done":
            await done.played.at_gate.wait()
            return


async def _kept(done: Done, answer: httpx.Response) -> AsyncIterator[str]:
    """The lines of an answer, split where the standard splits them; each is also kept as it came."""
    rest = ""
    async for text in answer.aiter_text():
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            done.lines.append(line)
            yield line


async def at_rest(done: Done) -> Any:
    """The session's newest turn once nothing runs."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            turns = (await done.world.call("GET", f"/sessions/{done.session}/turns", 200)).json()["data"]
            if turns and turns[-1]["status"] != "running":
                return turns[-1]
            await asyncio.sleep(0.05)


def event_names(found: list[Frame]) -> list[str]:
    """The names of frames, in order."""
    return [frame.event for frame in found]


async def stream_then_project(done: Done, **document: Any) -> None:
    """A turn whose calls wait, then their results: what the same model is sent next is what the upstream saw next."""
    given = done.case.input
    target = given["project"]
    await stream(done, model=target["model"], params={"extra": target.get("params", {})}, **document)
    done.played.attempts = [*done.played.attempts, saying_in(dialect_of(target["provider"]), "done")]
    pending = [call["tool_call_id"] for call in done.turn["pending"]]
    results = [{"tool_call_id": row.get("call_id") or pending[row["call_index"]], "content": row["text"]} for row in given["then_append"]]
    done.facts["pending"] = pending
    done.turn = await done.world.results(done.session, done.turn["id"], results)
    done.facts["sent"] = json.loads(done.played.seen[-1].body)
