"""A model may answer with thinking of which the rules of its name say nothing: it goes back to that model, or is left out with a loss."""

import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.judges.targets import MODELS
from tests.services.long_sessions.changing import Changing
from tests.services.long_sessions.laws import Laws
from tests.services.long_sessions.providers import Voice, voiced
from tests.services.world import World


@pytest.mark.req("X-23")
@pytest.mark.parametrize("dialect", sorted(MODELS))
async def test_what_any_model_thought_stops_no_turn_of_its_session(settings: Settings, dialect: str) -> None:
    voice = Voice()
    async with voiced(settings, voice) as (configured, fakes), running(configured) as app, talking(app) as client:
        world = World(client)
        for number in range(len(MODELS[dialect])):
            doing = Changing(world, voice, Laws(world, voice, fakes))
            await doing.open(dialect)
            (told,) = doing.sessions
            await doing.switch(told, dialect, number)
            for kind in ("think", "call"):
                await doing.turn(told, kind, 20, 20, "facts")
            await doing.results(told, 20, "think", "facts", False)
            await doing.turn(told, "text", 20, 20, "facts")
            await doing.laws.all(told, 0)
            assert [turn.status for turn in told.turns.values()] == ["completed"] * 3
