"""Compactions of sessions that share their prefix, and of requests that the provider itself counts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.fakes.answers import Answer, Text
from tests.fakes.anthropic_messages import FakeAnthropic, fake_anthropic
from tests.fakes.shapes import Breach
from tests.services.compactions.long_sessions import SHORT, compact, long_session, whole
from tests.services.world import World


@pytest.mark.req("S1-27", "X-47")
async def test_a_fork_is_compacted_for_itself_alone_and_takes_its_parents_checkpoint_along(world: World) -> None:
    session = await long_session(world, [SHORT])
    fork = (await world.call("POST", f"/sessions/{session}/fork", 201, json={})).json()["id"]
    before = await world.input(session)
    transcript = await world.raw(fork)
    assert (await compact(world, fork))["outcome"] == "compacted"
    assert (await world.input(session))["digest"] == before["digest"]
    assert (await world.input(fork))["source_map"]["sources"][0]["type"] == "compaction"
    assert await world.raw(fork) == transcript
    assert (await world.turn(fork, "go on"))["status"] == "completed"
    await whole(world, fork)
    assert (await compact(world, session))["outcome"] == "compacted"
    child = (await world.call("POST", f"/sessions/{session}/fork", 201, json={})).json()["id"]
    shown, other = await world.input(child), await world.input(session)
    assert shown["body"] == other["body"]
    assert (await world.turn(child, "go on"))["status"] == "completed"
    await whole(world, child)


@asynccontextmanager
async def counting(settings: Settings, *summaries: Answer, **document: Any) -> AsyncIterator[tuple[World, FakeAnthropic, str]]:
    """A session of four turns whose provider counts each request, and what it answers to who asks for a summary."""
    async with fake_anthropic(answers=[*[Answer((Text("Fine. " * 200),)) for _ in range(4)], *summaries]) as fake:
        upstreams = {**settings.upstreams, "claude": fake.upstream("claude", exact_counting=True)}
        async with running(replace(settings, upstreams=upstreams)) as app, talking(app) as client:
            world = World(client)
            document = {"model": {"upstream": "claude", "name": "claude-sonnet-4-5"}, "compaction": {"keep_recent_tokens": 300}, **document}
            session = await world.session(await world.agent(limits={"context_window": 60_000, "max_output_tokens": 1_000}, **document))
            for number in range(4):
                await world.turn(session, f"question {number} " + "word " * 200)
            yield world, fake, session


@pytest.mark.req("X-47", "X-40")
async def test_where_the_provider_counts_it_counts_the_candidate_too(settings: Settings) -> None:
    async with counting(settings, Answer((Text("They talked."),))) as (world, fake, session):
        counts = len(fake.counted)
        found = await compact(world, session)
        assert found["outcome"] == "compacted", found
        assert len(fake.counted) == counts + 2
        asked = fake.served[-1]
        assert "tools" not in asked
        assert asked["max_tokens"] == 1_000


@pytest.mark.req("X-47", "X-40")
async def test_a_candidate_that_the_provider_does_not_count_is_not_smaller_for_that(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its count of the request before is three times our estimate."""
    async with counting(settings, Answer((Text("They talked at length. " * 500),))) as (world, fake, session):
        fake.tokens_factor = 3
        before, judge = len(fake.counted), fake.judge

        def once(body: Any, account: str, version: str, betas: Any, count: bool) -> Any:
            return ([Breach("", "not now")], []) if count and len(fake.counted) > before else judge(body, account, version, betas, count)

        monkeypatch.setattr(fake, "judge", once)
        found = await compact(world, session)
        assert found["outcome"] == "not_smaller", found
        assert len(fake.counted) == before + 1
        assert found["tokens_after"] > found["tokens_before"]


@pytest.mark.req("X-40", "T-06")
async def test_the_floor_is_weighed_as_the_provider_counts(settings: Settings) -> None:
    async with counting(settings, context=[{"renderer": "system", "text": "rule " * 22_000}, {"renderer": "history"}]) as (world, fake, session):
        fake.tokens_factor = 3
        assert (await compact(world, session))["outcome"] == "declined_floor"
        assert "compaction_requested" not in [entry["kind"] for entry in await world.ledger(session)]
