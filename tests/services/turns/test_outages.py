"""A database that is away, or whose answer is lost, at every moment of a turn: nothing is lost, said twice or sent twice."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.storage.claim_rows import DeltaWrite
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
