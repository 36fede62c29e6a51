"""What comes beside a turn, or breaks inside of it: a stop at the hand-over, changes in a row, mistakes of ours."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.entries.messages import NewEntry
from app.entries.trace import StopRequested
from app.storage.types import Append, Appended
from tests.services.turns.faulty import LONG_LEASE_SECONDS, Real, around_appends, inside
from tests.services.turns.test_outages import CALLING, SLOW, whole
from tests.services.turns.test_tools import TOOLS
from tests.services.world import said, text


def stop_of(append: Append) -> bool:
    return append.stop_turn is not None


def hands_over(append: Append) -> bool:
    return append.session is not None and append.session.pending_turn is not None


@pytest.mark.req("X-79")
async def test_a_stop_that_comes_just_before_the_hand_over_ends_the_turn(settings: Settings) -> None:
    async with inside(settings) as here:
        world = here.world

        async def stopped(append: Append, real: Real) -> Appended:
            if hands_over(append) and not asked:
                running = next(iter(here.desk.running.values()))
                asked.append(running.number)
                entry = NewEntry(StopRequested.kind, StopRequested("cancel").encode(), running.number)
                stop = Append(entries=(entry,), beside=True, stop_turn=running.number)
                await here.store.ledger.append(running.facts.key.tenant, running.facts.key.session, stop)
            done: Appended = await real()
            return done

        asked: list[int] = []
        around_appends(here.store.ledger, stopped)
        session = await world.session(await world.agent([CALLING | {"delay_ms": 0}], tools=TOOLS))
        turn = await world.turn(session)
        assert asked
        assert (turn["status"], turn["pending"]) == ("cancelled", [])
        assert [frame.event for frame in await whole(world, session, turn["id"])][-1] == "turn.cancelled"


@pytest.mark.parametrize("how", ["cancel", "stop", "interrupt"])
async def test_a_stop_that_comes_just_after_the_hand_over_ends_the_turn(settings: Settings, how: str) -> None:
    async with inside(settings) as here:
        world, asking = here.world, asyncio.Event()

        async def late(append: Append, real: Real) -> Appended:
            if hands_over(append) and not asking.is_set():
                await asyncio.wait_for(asking.wait(), 10)
            if stop_of(append) and not asking.is_set():
                asking.set()
                await world.until(session, turn["id"], "requires_action")
            done: Appended = await real()
            return done

        around_appends(here.store.ledger, late)
        session = await world.session(await world.agent([CALLING | {"delay_ms": 0}, {"text": "Next."}], tools=TOOLS))
        turn = await world.turn(session, expect=202, background=True)
        await asyncio.sleep(0.2)
        if how == "cancel":
            ended = (await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/cancel", 200, json={})).json()
        elif how == "stop":
            ended = (await world.call("POST", f"/sessions/{session}/stop", 200, json={})).json()["turn"]
        else:
            assert (await world.turn(session, "newer", on_busy="interrupt"))["status"] == "completed"
            ended = (await world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()
        assert ended["status"] == "cancelled"


@pytest.mark.req("X-01")
async def test_changes_beside_a_turn_never_keep_it_from_its_end(settings: Settings) -> None:
    async with inside(settings) as here:
        world, patches = here.world, 0

        async def raced(append: Append, real: Real) -> Appended:
            nonlocal patches
            if append.fence is not None and patches < 24:
                patches += 1
                await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"n": patches}})
            done: Appended = await real()
            return done

        around_appends(here.store.ledger, raced)
        session = await world.session(script=[{"text": "Bonjour."}])
        assert (await world.turn(session))["status"] == "completed"
        assert patches == 24
        call = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"][0]
        assert (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()["verified"] is True


async def test_a_turn_whose_loop_breaks_is_settled_at_once(settings: Settings) -> None:
    async with inside(replace(settings, lease_seconds=LONG_LEASE_SECONDS)) as here:
        world = here.world
        loop: Any = here.desk.loop

        async def broken(*_: object) -> None:
            raise RuntimeError("a mistake of ours")

        session = await world.session(script=[SLOW, {"text": "Again."}])
        loop.conclude = broken
        streamed = await asyncio.wait_for(world.stream(session), 15)
        del loop.conclude
        assert streamed[-1].event == "turn.interrupted"
        assert text((await world.raw(session))[1]) == SLOW["text"]
        assert (await world.turn(session, "again"))["status"] == "completed"


async def test_a_claim_that_cannot_be_settled_keeps_no_other_waiting(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with inside(settings) as here:
        world = here.world
        sessions = [await world.session(script=[{**SLOW, "delay_ms": 200}]) for _ in range(3)]
        turns = [await world.turn(session, expect=202, background=True) for session in sessions]
        await here.expire()
        for task in here.desk.tasks:
            task.cancel()
        here.desk.running.clear()
        settle = here.desk.agent_of_turn
        poisoned: list[Any] = []

        async def poison(tenant: Any, session: Any, entries: Any) -> object:
            if not poisoned or session.session_id == poisoned[0]:
                poisoned[:] = [session.session_id]
                raise RuntimeError("a row that nobody can read")
            return await settle(tenant, session, entries)

        monkeypatch.setattr(type(here.desk), "agent_of_turn", lambda _, *given: poison(*given))
        await here.keeper.recover()
        ended = [(await world.call("GET", f"/sessions/{s}/turns/{t['id']}", 200)).json()["status"] for s, t in zip(sessions, turns, strict=True)]
        assert sorted(ended) == ["interrupted", "interrupted", "running"]


async def test_no_failure_ends_what_runs_beside_the_turns(settings: Settings) -> None:
    async with inside(settings) as here:
        world = here.world
        deltas: Any = here.store.deltas
        put, read = deltas.put, deltas.read

        async def broken(*_: object) -> None:
            raise RuntimeError("a mistake of ours")

        deltas.put = deltas.read = broken
        session = await world.session(script=[SLOW])
        turn = await world.turn(session, expect=202, background=True)
        await asyncio.sleep(0.5)
        deltas.put, deltas.read = put, read
        await world.until(session, turn["id"], "completed")
        async with inside(settings) as other:
            assert said(await other.world.events(session, turn["id"])) == SLOW["text"]


@pytest.mark.parametrize("form", ["application/json", "text/event-stream"])
async def test_a_turn_of_one_call_takes_seven_statements(settings: Settings, form: str) -> None:
    async with inside(replace(settings, heartbeat_seconds=15.0)) as here:
        pool: Any = here.store.ledger
        pool = pool._pool
        fetch, asked = pool.fetch, []

        async def counted(statement: str, *arguments: Any) -> Any:
            if not any(name in statement for name in ("renew_v1", "claims_", "deltas_put_v1", "purge_v1")):  # of all turns of the process together
                asked.append(statement)
            return await fetch(statement, *arguments)

        session = await here.world.session(script=[{"text": "Bonjour."}])
        await here.world.turn(session)
        pool.fetch = counted
        body, headers = {"input": "hello"}, {"accept": form}
        answer = await here.world.call("POST", f"/sessions/{session}/turns", 200, json=body, headers=headers)
        assert "Bonjour." in answer.text or answer.json()["status"] == "completed"
        assert len(asked) <= 7, asked
