"""Compactions of sessions that share their prefix, and of requests that the provider itself counts."""

from dataclasses import replace

import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.fakes.answers import Answer, Text
from tests.fakes.anthropic_messages import fake_anthropic
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


@pytest.mark.req("X-47", "X-40")
async def test_where_the_provider_counts_it_counts_the_candidate_too(settings: Settings) -> None:
    async with fake_anthropic(answers=[Answer((Text("Fine. " * 200),)) for _ in range(4)] + [Answer((Text("They talked."),))]) as fake:
        upstreams = {**settings.upstreams, "claude": fake.upstream("claude", exact_counting=True)}
        async with running(replace(settings, upstreams=upstreams)) as app, talking(app) as client:
            world = World(client)
            model = {"upstream": "claude", "name": "claude-sonnet-4-5"}
            limits = {"context_window": 60_000, "max_output_tokens": 1_000}
            session = await world.session(await world.agent(model=model, limits=limits, compaction={"keep_recent_tokens": 300}))
            for number in range(4):
                await world.turn(session, f"question {number} " + "word " * 200)
            counts = len(fake.counted)
            found = await compact(world, session)
            assert found["outcome"] == "compacted", found
            assert len(fake.counted) == counts + 2
            asked = fake.served[-1]
            assert "tools" not in asked
            assert asked["max_tokens"] == 1_000
