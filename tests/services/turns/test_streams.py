"""Streams: readers that leave, come back, come late, or come to another replica; many of them; long ones."""

import asyncio
from dataclasses import replace

import pytest

from app.config.settings import Settings
from app.services.streams import Event, decode_events, encode_events
from app.storage.store import Store
from tests.api.conftest import on_socket
from tests.services.turns.test_tools import TOOLS
from tests.services.world import Frame, World, client_of, said, text

SPOKEN = {"text": "some words " * 8, "reasoning": "Hm. Well.", "chunk_chars": 9}
ENTIRE = {**SPOKEN, "tool_calls": [{"id": "c1", "name": "absent", "arguments": '{"a": "b"}'}]}
SLOW = {"text": "slow words " * 20, "chunk_chars": 11, "delay_ms": 30}
FAILING = {"error": {"status": 503, "attempts": 1}, "text": "Ok."}


def plain(found: list[Frame]) -> list[tuple[int, str, object]]:
    return [(frame.id, frame.event, frame.data) for frame in found]


@pytest.mark.req("X-76", "X-75", "S2-31")
async def test_every_event_id_resumes_with_exactly_the_rest_here_and_elsewhere(socket_world: World, other_world: World) -> None:
    agent = await socket_world.agent([ENTIRE, FAILING], tools=TOOLS)
    session = await socket_world.session(agent)
    live = await socket_world.stream(session)
    names = {frame.event for frame in live}
    assert names >= {
        "turn.started", "call.started", "context.compiled", "reasoning.delta", "text.delta", "tool_call.started", "tool_call.delta",
        "tool_call.completed", "message.committed", "tool_result.committed", "attempt.failed", "turn.completed",
    }  # fmt: skip
    turn = live[0].data["turn_id"]
    assert all(frame.data["type"] == frame.event for frame in live)
    for world in (socket_world, other_world):
        assert plain(await world.events(session, turn)) == plain(live)
        for at, frame in enumerate(live):
            assert plain(await world.events(session, turn, after=frame.id)) == plain(live[at + 1 :])
    assert await socket_world.events(session, turn, after=live[-1].id) == []


async def test_a_running_turn_is_followed_on_another_replica(socket_world: World, other_world: World) -> None:
    session = await socket_world.session(script=[SLOW])
    turn = await socket_world.turn(session, expect=202, background=True)
    here, there = await asyncio.gather(socket_world.events(session, turn["id"]), other_world.events(session, turn["id"]))
    assert plain(here) == plain(there)
    assert said(here) == SLOW["text"]
    assert here[-1].event == "turn.completed"


@pytest.mark.req("S0-40", "S0-41", "X-92")
@pytest.mark.parametrize("leave", ["turn.started", "call.started", "context.compiled", "reasoning.delta", "text.delta", "message.committed"])
async def test_a_client_that_leaves_at_any_event_loses_nothing(socket_world: World, leave: str) -> None:
    session = await socket_world.session(script=[{**SPOKEN, "delay_ms": 5}])
    seen = await socket_world.stream(session, until=leave)
    turn = seen[0].data["turn_id"]
    await socket_world.until(session, turn, "completed")
    rest = await socket_world.events(session, turn, after=seen[-1].id)
    assert said([*seen, *rest]) == SPOKEN["text"]
    answer = (await socket_world.raw(session))[1]
    assert (text(answer), answer["body"]["status"]) == (SPOKEN["text"], "completed")


@pytest.mark.req("X-92")
async def test_a_hundred_open_streams_leave_the_service_responsive(settings: Settings) -> None:
    slow = {"text": "w " * 100, "chunk_chars": 2, "delay_ms": 40}
    async with on_socket(replace(settings, pool_size=5)) as url, client_of(url) as client:
        world = World(client)
        agent = await world.agent([slow])
        sessions = [await world.session(agent) for _ in range(100)]
        streams = [asyncio.create_task(world.stream(session)) for session in sessions]
        await asyncio.sleep(1)
        loop, worst = asyncio.get_running_loop(), 0.0
        for _ in range(10):
            begun = loop.time()
            await world.call("GET", "/sessions", 200)
            await world.session(agent)
            worst = max(worst, loop.time() - begun)
            await asyncio.sleep(0.1)
        found = await asyncio.gather(*streams)
    assert worst < 5
    assert {said(frames) for frames in found} == {slow["text"]}
    assert all(frames[-1].event == "turn.completed" for frames in found)


@pytest.mark.req("X-06")
async def test_a_turn_of_three_times_the_lease_stays_alive(settings: Settings) -> None:
    script = [{"text": "x" * 33, "chunk_chars": 1, "delay_ms": 100}]
    short = replace(settings, lease_seconds=1.0)
    async with on_socket(short) as url, on_socket(short) as other_url, client_of(url) as client, client_of(other_url) as other:
        world, other_world = World(client), World(other)
        session = await world.session(script=script)
        turn = await world.turn(session, expect=202, background=True)
        busy = await other_world.turn(session, "too early", expect=409)
        assert busy["turn_id"] == turn["id"]
        await asyncio.sleep(2)
        assert (await other_world.turn(session, "still too early", expect=409))["code"] == "session-busy"
        view = await other_world.until(session, turn["id"], "completed", "interrupted", "failed")
        assert view["status"] == "completed"
        assert text((await world.raw(session))[1]) == "x" * 33


async def test_events_that_were_purged_are_gone_and_say_so(world: World, store: Store) -> None:
    session = await world.session()
    turn = await world.turn(session)
    await store.deltas.purge(0, 10_000)
    gone = await world.call("GET", f"/sessions/{session}/turns/{turn['id']}/events", 410)
    assert gone.json()["code"] == "resume-gap"


async def test_silence_is_filled_with_comments(settings: Settings) -> None:
    async with on_socket(replace(settings, heartbeat_seconds=0.1)) as url, client_of(url) as client:
        world = World(client)
        session = await world.session(script=[{"text": "late", "delay_ms": 700}])
        body, headers = {"input": "x"}, {"accept": "text/event-stream"}
        async with client.stream("POST", f"/sessions/{session}/turns", json=body, headers=headers) as answer:
            lines = [line async for line in answer.aiter_lines()]
    first = next(at for at, line in enumerate(lines) if line == "event: text.delta")
    assert sum(line.startswith(":") for line in lines[:first]) >= 3
    assert lines[0].startswith(":")


def test_the_log_form_keeps_every_event() -> None:
    events = [Event(1, "text.delta", '{"text":"a\\nb \u2028 \\ud83d"}'), Event(2, "message.committed", "", 7), Event(3, "_opaque", "{}")]
    assert decode_events(encode_events(events)) == events
