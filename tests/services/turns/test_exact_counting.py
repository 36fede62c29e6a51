"""The provider's own count decides, where the operator wants it asked; where it has no answer, the estimate does."""

from dataclasses import replace
from typing import Any

import pytest

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.fakes.answers import Answer, Text
from tests.fakes.anthropic_messages import FakeAnthropic, fake_anthropic
from tests.services.world import World

MODEL = {"upstream": "claude", "name": "claude-sonnet-4-5"}


async def called(settings: Settings, fake: FakeAnthropic, limits: dict[str, int], exact: bool) -> tuple[Any, Any]:
    """The turn and its one call."""
    upstreams = {**settings.upstreams, "claude": fake.upstream("claude", exact_counting=exact)}
    async with running(replace(settings, upstreams=upstreams)) as app, talking(app) as client:
        world = World(client)
        session = await world.session(await world.agent(model=MODEL, limits=limits))
        turn = await world.turn(session, "word " * 400)
        (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
        return turn, call


@pytest.mark.req("X-35", "X-38", "X-40")
async def test_the_count_of_the_provider_stands_in_the_call(settings: Settings) -> None:
    async with fake_anthropic(answers=[Answer((Text("Fine."),))]) as fake:
        limits = {"context_window": 200_000, "max_output_tokens": 1_000}
        turn, call = await called(settings, fake, limits, exact=True)
        assert turn["status"] == "completed", turn
        assert (call["budget"]["method"], call["budget"]["error_band"]) == ("exact", 0)
        assert call["budget"]["remaining"] == call["budget"]["input_limit"] - call["budget"]["total"]
        (counted,) = fake.counted
        (served,) = fake.served
        assert counted == {key: value for key, value in served.items() if key not in ("max_tokens", "stream")}
        _, estimated = await called(settings, fake, limits, exact=False)
        assert estimated["budget"]["method"] == "heuristic"
        assert len(fake.counted) == 1


@pytest.mark.req("X-37")
async def test_a_request_that_the_provider_counts_as_too_long_is_not_sent(settings: Settings) -> None:
    async with fake_anthropic(answers=[Answer((Text("Fine."),))]) as fake:
        fake.tokens_factor = 100
        turn, call = await called(settings, fake, {"context_window": 20_000, "max_output_tokens": 1_000}, exact=True)
        assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
        assert (call["status"], call["budget"]["method"], fake.served) == ("refused", "exact", [])
