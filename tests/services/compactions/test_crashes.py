"""A process that dies in the middle of a compaction: the session goes on from the projection before, and nothing dangles."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from app.config.settings import Settings
from app.storage.types import Append, Appended
from tests.services.compactions.long_sessions import SHORT, calls, compact, kinds, long_session, until_busy, whole
from tests.services.test_redactions import redact, seq_of
from tests.services.traces import tables_with
from tests.services.turns.faulty import Real, around_appends, inside
from tests.services.turns.faulty import kinds as kinds_of
from tests.services.turns.test_crashes import served
from tests.services.world import World

SLOW: dict[str, Any] = {"text": "slow words " * 400, "chunk_chars": 5, "delay_ms": 40}


async def until_ended(world: World, session: str) -> None:
    async with asyncio.timeout(40):
        while True:
            if (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "idle":
                return
            await asyncio.sleep(0.1)


@pytest.mark.timeout(180)
@pytest.mark.req("S3-31", "S3-34", "X-49")
@pytest.mark.parametrize("manual", [True, False], ids=["manual", "in a turn"])
async def test_a_kill_during_the_summary_leaves_a_request_that_recovery_closes(tmp_path: Path, manual: bool) -> None:
    data = tmp_path / "data"
    async with served(data) as (world, process):
        session = await long_session(world, [SLOW, SHORT], turns=4, window=4_000, words="word " * 200)
        before = (await world.input(session))["digest"]
        path, body = ("compactions", {"keep_recent_tokens": 1}) if manual else ("turns", {"input": "more " * 1_900})
        asked = asyncio.create_task(world.client.post(f"/sessions/{session}/{path}", json=body))
        await until_busy(world, session)
        await asyncio.sleep(0.4)
        os.killpg(process.pid, signal.SIGKILL)
        with suppress(httpx.HTTPError):
            await asked
    async with served(data) as (world, _):
        await until_ended(world, session)
        found = await kinds(world, session)
        assert (found.count("compaction_requested"), found.count("compaction_failed"), found.count("checkpoint")) == (1, 1, 0)
        failed = next(entry["body"] for entry in await world.ledger(session) if entry["kind"] == "compaction_failed")
        assert (failed["outcome"], failed["reason"]) == ("failed", "interrupted")
        (call,) = await calls(world, session)
        assert call["status"] == "abandoned"
        if manual:
            assert (await world.input(session))["digest"] == before
        assert (await compact(world, session, keep_recent_tokens=1))["outcome"] == "compacted"
        await whole(world, session)


@pytest.mark.req("S3-33", "S3-34", "T-18")
async def test_a_crash_between_artifact_and_checkpoint_leaves_a_blob_that_nothing_names(settings: Settings) -> None:
    async with inside(settings) as here:
        world, stored = here.world, []
        put = here.store.blobs.put

        async def noted(tenant: Any, session: Any, blob: Any, fence: Any) -> bool:
            done = await put(tenant, session, blob, fence)
            stored.append(blob.digest)
            return done

        cast(Any, here.store.blobs).put = noted

        async def dies(append: Append, real: Real) -> Appended:
            if "checkpoint" in kinds_of(append):
                raise RuntimeError("gone")
            return await real()

        session = await long_session(world, [SHORT])
        before = await world.input(session)
        around_appends(here.store.ledger, dies)
        assert (await compact(world, session, 503))["code"] == "unavailable"
        (digest,) = stored
        assert digest not in str(await world.ledger(session))
        answer = await world.call("GET", f"/sessions/{session}/blobs/{digest}", 200)
        assert SHORT["text"] in answer.text
        await here.keeper.recover()
        assert (await kinds(world, session))[-2:] == ["compaction_requested", "compaction_failed"]
        assert (await world.input(session))["digest"] == before["digest"]
        await whole(world, session)


@pytest.mark.req("S3-31", "S3-33", "T-18")
async def test_request_artifact_and_checkpoint_are_durable_in_that_order(settings: Settings) -> None:
    async with inside(settings) as here:
        world, order = here.world, []
        session = await long_session(world, [SHORT])
        put = here.store.blobs.put

        async def noted(*given: Any) -> bool:
            order.append("artifact")
            return await put(*given)

        cast(Any, here.store.blobs).put = noted

        async def appended(append: Append, real: Real) -> Appended:
            done = await real()
            order.extend(sorted(kinds_of(append)))
            return done

        around_appends(here.store.ledger, appended)
        assert (await compact(world, session))["outcome"] == "compacted"
        assert order == ["compaction_requested", "artifact", "checkpoint"]


@pytest.mark.req("X-11")
async def test_who_lost_the_session_stores_no_summary_of_what_was_redacted_since(settings: Settings, migrate_url: str) -> None:
    async with inside(settings) as here:
        world = here.world
        session = await long_session(world)
        put = here.store.blobs.put

        async def late(*given: Any) -> bool:
            assert await tables_with(migrate_url, "question 0 ")
            await here.expire()
            await here.keeper.recover()
            await redact(world, session, await seq_of(world, session, "user_message"))
            return await put(*given)

        cast(Any, here.store.blobs).put = late
        refused = await compact(world, session, 503, keep_recent_tokens=1, driver={"kind": "excerpt"})
        assert refused["code"] == "unavailable"
        assert await tables_with(migrate_url, "question 0 ") == set()


async def test_an_append_beside_the_claim_changes_nothing_about_the_checkpoint(world: World) -> None:
    session = await long_session(world, [{"text": "They talked of rivers. " * 3, "chunk_chars": 6, "delay_ms": 60}])
    running = asyncio.create_task(compact(world, session))
    await until_busy(world, session)
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"seen": 1}})
    assert (await running)["outcome"] == "compacted"
    assert (await kinds(world, session))[-2:] == ["state_changed", "checkpoint"]
    shown = await world.input(session)
    assert shown["source_map"]["sources"][0]["type"] == "compaction"
    await whole(world, session)
