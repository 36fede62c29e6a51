"""Figures of a provider that no call has: the turn that told them ends as it did, and the session goes on."""

from dataclasses import replace

import pytest

from app.config.settings import Settings
from app.entries.deltas import FIGURE_MAX
from tests.api.conftest import running, talking
from tests.fakes.openai_chat import fake_openai
from tests.services.turns.test_dispatch import MODEL, stream
from tests.services.world import World


@pytest.mark.parametrize("figure", [FIGURE_MAX, FIGURE_MAX + 1, 2**62, 2**63, 2**64, 10**400], ids=["most", "more", "62", "63", "64", "digits"])
async def test_a_figure_beyond_all_windows_is_unknown_and_costs_no_turn(settings: Settings, figure: int) -> None:
    told = stream({"content": "well"}, "stop", usage={"prompt_tokens": figure, "completion_tokens": 3})
    async with fake_openai([told] * 3) as fake:
        settings = replace(settings, upstreams={**settings.upstreams, "openai": fake.upstream()})
        async with running(settings) as app, talking(app) as client:
            world = World(client)
            session = await world.session(await world.agent(model=MODEL))
            for _ in range(3):
                turn = await world.turn(session)
                assert (turn["status"], turn["usage"]["output"]) == ("completed", 3)
            used = (await world.call("GET", f"/sessions/{session}/usage", 200)).json()["total"]
            assert (used["calls"], used["output"], used["input"]) == (3, 9, 3 * figure if figure <= FIGURE_MAX else 0)
