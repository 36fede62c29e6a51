"""A database that is away, or whose answer is lost, at every moment of a turn: nothing is lost, said twice or sent twice."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.entries.messages import NewEntry
from app.entries.trace import StopRequested
from app.storage.rows import DeltaWrite
from app.storage.types import Append, Appended
from tests.services.turns.faulty import LONG_LEASE_SECONDS, Outage, Real, around_appends, inside, kinds
from tests.services.turns.test_tools import CALL, DONE, TOOLS
from tests.services.world import Frame, World, said, text

SLOW: dict[str, Any] = {"text": "some words " * 30, "chunk_chars": 11, "delay_ms": 20}
CALLING: dict[str, Any] = {**SLOW, "tool_calls": [{"id": "c1", "name": "lookup", "arguments": '{"q": "x"}'}]}
LONG: dict[str, Any] = {"text": "long " * 9_000, "tool_calls": [{"id": "c1", "name": "lookup", "arguments": '{"q": "' + "y" * 40_000 + '"}'}]}


async def whole(world: World, session: str, turn: str) -> list[Frame]:
    """The turn's events as the log has them, each once and in order; the chain is whole."""
    found = await world.events(session, turn)
    assert [frame.id for frame in found] == sorted({frame.id for frame in found})
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"] is True
    return found


@pytest.mark.req("S0-40", "X-01", "X-75")
@pytest.mark.parametrize("script", [SLOW, CALLING, LONG], ids=["answers", "waits", "long texts"])
@pytest.mark.parametrize("lost", ["model_call_started", "model_call_finished"])
async def test_an_append_whose_answer_is_lost_is_done_once(settings: Settings, lost: str, script: dict[str, Any]) -> None:
    async with inside(settings) as here:
        world, tries = here.world, 0

        async def unheard(append: Append, real: Real) -> Appended:
            nonlocal tries
            done: Appended = await real()
            if lost in kinds(append):
                tries += 1
                if tries == 1:
                    raise Unavailable("lost")
            return done

        around_appends(here.store.ledger, unheard)
        session = await world.session(await world.agent([script], tools=TOOLS))
        live = await world.stream(session)
        assert tries == 1
        found = await whole(world, session, live[0].data["turn_id"])
        assert [(frame.id, frame.event, frame.data) for frame in found] == [(frame.id, frame.event, frame.data) for frame in live]
        assert said(found) == script["text"]
        committed = next(frame.data["message"] for frame in found if frame.event == "message.committed")
        assert text(committed) == script["text"]
        last = live[-1].data["turn"]
        assert len(last["calls"]) == 1
        assert [entry["kind"] for entry in await world.ledger(session)].count("model_call_started") == 1
        if script is SLOW:
            assert last["status"] == "completed"
        else:
            assert last["status"] == "requires_action"
            assert last["pending"][0]["arguments"] == script["tool_calls"][0]["arguments"]
            assert last["entry_seqs"] == (await world.call("GET", f"/sessions/{session}/turns/{last['id']}", 200)).json()["entry_seqs"]


@pytest.mark.req("S0-40", "X-75")
async def test_a_flush_whose_answer_is_lost_doubles_nothing_also_in_recovery(settings: Settings) -> None:
    async with inside(replace(settings, flush_ms=50)) as here:
        world = here.world
        deltas: Any = here.store.deltas
        put, flushes = deltas.put, 0

        async def unheard(rows: list[DeltaWrite]) -> frozenset[object]:
            nonlocal flushes
            flushes += 1
            await put(rows)
            raise Unavailable("lost")

        deltas.put = unheard
        session = await world.session(script=[{**SLOW, "delay_ms": 40}, {"text": "Again."}])
        turn = await world.turn(session, expect=202, background=True)
        await asyncio.sleep(0.7)
        assert flushes > 2
        for task in here.desk.tasks:
            task.cancel()
        await here.expire()
        here.desk.running.clear()
        await here.keeper.recover()
        view = await world.until(session, turn["id"], "interrupted")
        assert view["error"]["code"] == "lease-lost"
        kept = text((await world.raw(session))[1])
        assert len(kept) > 11
        assert SLOW["text"].startswith(kept)
        assert said(await whole(world, session, turn["id"])) == kept
        call = (await world.call("GET", f"/sessions/{session}/calls/{view['calls'][0]}", 200)).json()
        assert (call["status"], [(one["n"], one["status"]) for one in call["attempts"]]) == ("interrupted", [(1, "abandoned")])
        assert (await world.raw(session))[1]["body"]["model"] == "scripted"


@pytest.mark.req("S0-40", "X-01")
@pytest.mark.parametrize("script", [SLOW, CALLING], ids=["answers", "waits"])
@pytest.mark.parametrize("when", ["before the call", "in mid-stream"])
async def test_an_outage_of_the_database_loses_nothing(settings: Settings, script: dict[str, Any], when: str) -> None:
    async with inside(settings) as here:
        world, outage = here.world, Outage(here.store)
        session = await world.session(await world.agent([script], tools=TOOLS))
        streaming = asyncio.create_task(world.stream(session))
        await asyncio.sleep(0.05 if when == "before the call" else 0.3)
        outage.away = True
        await asyncio.sleep(1.5)
        assert not streaming.done()
        outage.away = False
        live = await streaming
        assert live[-1].event == ("turn.completed" if script is SLOW else "turn.requires_action")
        assert said(live) == script["text"]
        found = await whole(world, session, live[0].data["turn_id"])
        assert said(found) == script["text"]
        assert text((await world.raw(session))[1]) == script["text"]


@pytest.mark.req("X-01")
@pytest.mark.parametrize("what", ["turn", "results"])
async def test_a_turn_whose_acceptance_nobody_heard_of_holds_its_session_for_a_moment_only(settings: Settings, what: str) -> None:
    async with inside(replace(settings, lease_seconds=LONG_LEASE_SECONDS)) as here:
        world, lost = here.world, False

        async def unheard(append: Append, real: Real) -> Appended:
            nonlocal lost
            done = await real()
            if append.claim is not None and not lost:
                lost = True
                raise Unavailable("lost")
            return done

        session = await world.session(await world.agent([CALL if what == "results" else DONE, DONE], tools=TOOLS))
        if what == "results":
            turn = (await world.turn(session))["id"]
            around_appends(here.store.ledger, unheard)
            await world.results(session, turn, [{"tool_call_id": "c1", "content": "42"}], 503)
        else:
            around_appends(here.store.ledger, unheard)
            await world.turn(session, "first", expect=503)
        assert lost
        assert (await world.turn(session, "second"))["status"] == "completed"
        statuses = [turn["status"] for turn in (await world.call("GET", f"/sessions/{session}/turns", 200)).json()["data"]]
        assert statuses == ["interrupted", "completed"]


@pytest.mark.req("X-06", "S0-40")
@pytest.mark.parametrize("lost", ["model_call_started", "model_call_finished"])
async def test_a_turn_that_another_replica_took_meanwhile_is_not_taken_for_ones_own(settings: Settings, lost: str) -> None:
    async with inside(settings) as here, inside(settings) as other:
        world, cut = here.world, False

        async def cut_off(append: Append, real: Real) -> Appended:
            nonlocal cut
            if lost in kinds(append) and not cut:
                cut = True
                await here.expire()
                await other.keeper.recover()
                raise Unavailable("cut off")
            done: Appended = await real()
            return done

        around_appends(here.store.ledger, cut_off)
        session = await world.session(script=[{"text": "Never sent twice."}])
        live = await world.stream(session)
        assert cut
        assert live[-1].event == "turn.interrupted"
        assert [frame.event for frame in live].count("turn.interrupted") == 1
        turn = live[-1].data["turn"]
        assert turn["error"]["code"] == "lease-lost"
        if lost == "model_call_started":
            assert (turn["calls"], said(live)) == ([], "")
        await whole(world, session, turn["id"])


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
