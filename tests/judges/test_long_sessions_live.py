"""A long session, compacted and driven on by strict fakes over sockets: what they were sent they took, and it is what the service says."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
import pytest_asyncio

from app.config.settings import Settings
from app.config.upstreams import ModelLimits
from tests.api.conftest import on_socket
from tests.fakes.answers import Answer, Text, Thinking, ToolCall
from tests.fakes.serving import serving
from tests.judges.conftest import FAKES, Providers
from tests.judges.driven import CONTEXT, TOOLS, WORDS_OF_SUMMARY, Drive, summary
from tests.judges.long_sessions import OWN, Long, brought
from tests.judges.targets import MODELS
from tests.judges.test_switching import model_of
from tests.services.world import World, client_of

LARGE, SMALL = ModelLimits(200_000, 8_192), ModelLimits(28_672, 2_048)


@pytest_asyncio.fixture
async def providers(settings: Settings) -> AsyncIterator[Providers]:
    """As everywhere, but that the operator says how much each model takes: the first of a dialect much, the second little."""
    async with AsyncExitStack() as stack:
        fakes = {dialect: await stack.enter_async_context(serving(kind())) for dialect, kind in FAKES.items()}
        models = {dialect: dict(zip(MODELS[dialect], (LARGE, SMALL), strict=False)) for dialect in fakes}
        upstreams = {**settings.upstreams, **{dialect: fake.upstream(dialect, models=models[dialect]) for dialect, fake in fakes.items()}}
        url = await stack.enter_async_context(on_socket(replace(settings, upstreams=upstreams)))
        client = await stack.enter_async_context(client_of(url))
        yield Providers(World(client), fakes)


def plays(providers: Providers, dialect: str, *answers: Answer) -> None:
    """What the provider answers next, one request after another."""
    fake = providers.fakes[dialect]
    fake.answers = [Answer((Text("?"),))] * len(fake.served) + list(answers)


def asks(number: int) -> Answer:
    return Answer((Thinking(f"I wonder, {number}."), Text("I look."), ToolCall("look", f'{{"at": {number}}}')))


def closes(number: int) -> Answer:
    return Answer((Thinking(f"So, {number}."), Text(f"That is it, {number}.")))


async def driven(drive: Drive, providers: Providers, text: str, *answers: Answer, result: str = "found it") -> None:
    """A turn that completes; every body came as the service says, and was taken."""
    fake, seen = providers.fakes[drive.dialect], set(drive.seen)
    before = len(fake.served)
    plays(providers, drive.dialect, *answers)
    turn = await drive.turn(text, result)
    assert fake.refused == []
    assert (turn["status"], turn["error"]) == ("completed", None)
    assert len(fake.served) == before + len(answers)
    told = [(await drive.world.call("GET", f"/sessions/{drive.session}/calls/{id}/model-input", 200)).json()["body"] for id in drive.seen - seen]
    assert sorted(map(json.dumps, told)) == sorted(map(json.dumps, fake.served[before:]))


@pytest.mark.timeout(120)
@pytest.mark.req("S1-26", "S1-30", "S2-25", "S2-42", "X-20", "X-24", "X-47", "X-49", "X-51", "X-60", "T-15", "T-18")
@pytest.mark.parametrize("dialect", MODELS)
async def test_a_provider_takes_every_body_of_a_session_that_outgrows_its_window(providers: Providers, dialect: str) -> None:
    """The first model takes all of it; before the second one's first call a summary is made, by itself; the first goes on with everything."""
    world, fake = providers.world, providers.fakes[dialect]
    large = model_of(dialect)
    small = {**large, "name": MODELS[dialect][1], "params": {}}
    long: Long = await brought(world, OWN, None)
    agent = await world.agent(model=large, limits=None, tools=TOOLS, context=CONTEXT)
    path = f"/sessions/{long.session}"
    await world.call("PATCH", path, 200, json={"agent": agent})
    drive = Drive(world, long.session, dialect)
    facts = Answer((Text(summary("structured", long.first_seq)["text"]),))

    await driven(drive, providers, "In a large window.", asks(0), closes(0))
    await world.call("PATCH", path, 200, json={"model": small})
    drive.model = small["name"]
    await driven(drive, providers, "In a small window.", facts, Answer((Text("I look."), ToolCall("look"))), Answer((Text("So it is."),)))
    assert WORDS_OF_SUMMARY in json.dumps(fake.served[-1])
    checkpoint = (await world.call("GET", path, 200)).json()["checkpoint"]

    await world.call("PATCH", path, 200, json={"model": large, "checkpoint": "none"})
    drive.model = large["name"]
    await driven(drive, providers, "In a large window again.", asks(1), closes(1))
    assert WORDS_OF_SUMMARY not in json.dumps(fake.served[-1])
    await world.call("PATCH", path, 200, json={"checkpoint": checkpoint})
    await driven(drive, providers, "Behind the summary.", asks(2), closes(2))
    plays(providers, dialect, Answer((Text("A second summary, of one fact."),)))
    found = (await world.call("POST", f"{path}/compactions", 200, json={"keep_recent_tokens": 1})).json()
    assert found["outcome"] == "compacted", found
    ((_, sent),) = await drive.checked()
    assert sent["body"] == fake.served[-1]
    assert WORDS_OF_SUMMARY in json.dumps(fake.served[-1]), "what the earlier summary says is told to whoever writes the next one"
    await driven(drive, providers, "Behind the second.", asks(3), closes(3))
    assert "A second summary" in json.dumps(fake.served[-1])
    assert (await world.call("GET", f"{path}/verify", 200)).json()["ok"] is True
