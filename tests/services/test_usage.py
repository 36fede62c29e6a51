"""What a session's calls used, and what that costs."""

from dataclasses import replace
from typing import Any

import pytest

from app.config.prices import Prices
from app.config.settings import Settings
from app.config.upstreams import SCRIPTED
from app.entries import lossless
from app.entries.ids import SESSION, parse_id
from app.services.minting import new_uuid
from app.services.scope import LOCAL_TENANT
from app.storage.store import Store
from app.storage.types import Append, CallWrite
from tests.api.conftest import running, talking
from tests.services.world import World

DOLLARS = Prices("USD", input=3_000_000, output=15_000_000, cached=300_000, cache_write=3_750_000)
REPORTED = {"input": 1_000, "cached": 600, "cache_write": 100, "output": 40, "reasoning": 10}
NONE = dict.fromkeys(("calls", "estimated_calls", "input", "cached", "cache_write", "output", "reasoning"), 0)


def priced(settings: Settings, prices: Prices | None = None, **by_model: Prices) -> Settings:
    """The same service whose operator has prices for the built-in upstream."""
    scripted = replace(settings.upstreams[SCRIPTED], prices=prices, model_prices=by_model)
    return replace(settings, upstreams={**settings.upstreams, SCRIPTED: scripted})


def speaking(name: str, usage: Any) -> Any:
    return {"upstream": "scripted", "name": name, "params": {"script": [{"text": "Bonjour.", "usage": usage}]}}


async def used(world: World, session: str) -> Any:
    return (await world.call("GET", f"/sessions/{session}/usage", 200)).json()


async def summarised(store: Store, session_id: str, usage: Any, model: str = "scripted") -> None:
    """A summary's call that ended, as an append leaves it."""
    session = parse_id(SESSION, session_id)
    assert session is not None
    record = lossless.dumps({"agent": "a", "tool_call_id": '"upstream":"x"', "upstream": "scripted", "dialect": "openai-chat", "model": model})
    call = CallWrite(new_uuid(), True, 1, 0, "compaction", "running", 1, record)
    await store.ledger.append(LOCAL_TENANT, session, Append(call=call, beside=True))
    ended = CallWrite(call.call_id, status="completed", usage=lossless.dumps({**usage, "source": "reported"}))
    for _ in range(2):  # what is said again is not counted again
        await store.ledger.append(LOCAL_TENANT, session, Append(call=ended, beside=True))


@pytest.mark.req("X-52")
async def test_usage_is_told_by_model_and_purpose_with_its_cost(settings: Settings, store: Store) -> None:
    async with running(priced(settings, DOLLARS)) as app, talking(app) as client:
        world = World(client)
        agent = await world.agent(model=speaking("a", REPORTED))
        session = await world.session(agent)
        for _ in range(2):
            await world.turn(session)
        await world.agent(name=agent, model=speaking("b", {**REPORTED, "cached": 0, "cache_write": 0}))
        await world.turn(session)
        await summarised(store, session, {"input": 10, "cached": None, "cache_write": None, "output": 1, "reasoning": None})
        found = await used(world, session)
    rows = {(row["purpose"], row["model"]): row for row in found["models"]}
    assert set(rows) == {("main", "a"), ("main", "b"), ("compaction", "scripted")}
    doubled = {name: 2 * figure for name, figure in REPORTED.items()}
    # Of each call: 300 plain, 600 cached, 100 written, 40 told.
    micros = 2 * (300 * 3_000_000 + 600 * 300_000 + 100 * 3_750_000 + 40 * 15_000_000) // 1_000_000
    assert rows["main", "a"] == {
        "purpose": "main", "upstream": "scripted", "model": "a", "calls": 2, "estimated_calls": 0, **doubled,
        "cost": {"currency": "USD", "micros": micros},
    }  # fmt: skip
    assert rows["main", "b"]["cost"] == {"currency": "USD", "micros": 3_000 + 600}
    assert rows["compaction", "scripted"]["cost"] == {"currency": "USD", "micros": 45}
    assert found["compaction"] == {**NONE, "calls": 1, "input": 10, "output": 1, "cost": {"currency": "USD", "micros": 45}}
    assert found["main"]["cost"]["micros"] == micros + 3_600
    assert (found["total"]["calls"], found["total"]["cost"]) == (4, {"currency": "USD", "micros": micros + 3_645})


async def test_totals_of_the_session_are_those_of_its_main_calls(world: World, store: Store) -> None:
    session = await world.session(await world.agent(model=speaking("a", REPORTED)))
    await world.turn(session)
    await summarised(store, session, {**REPORTED, "input": 7})
    shown = (await world.call("GET", f"/sessions/{session}", 200)).json()["usage"]
    found = await used(world, session)
    assert shown == {name: found["main"][name] for name in REPORTED} == REPORTED
    assert found["total"]["input"] == REPORTED["input"] + 7
    await world.call("POST", f"/sessions/{session}/clear", 200)
    assert await used(world, session) == found


async def test_what_has_no_price_has_no_cost(world: World, settings: Settings, store: Store) -> None:
    session = await world.session(await world.agent(model=speaking("a", REPORTED)))
    empty = await used(world, session)
    assert (empty["models"], empty["total"]) == ([], {**NONE, "cost": None})
    await world.turn(session)
    found = await used(world, session)
    assert [found["models"][0]["cost"], found["main"]["cost"], found["total"]["cost"]] == [None, None, None]
    partly = replace(DOLLARS, cached=None)
    for prices in ({"a": partly}, {"b": DOLLARS}):
        async with running(priced(settings, **prices)) as app, talking(app) as client:
            assert (await used(World(client), session))["total"]["cost"] is None
    await summarised(store, session, {**REPORTED, "cached": 0}, model="b")
    async with running(priced(settings, a=DOLLARS, b=replace(partly, currency="EUR"))) as app, talking(app) as client:
        found = await used(World(client), session)
    assert [found["main"]["cost"]["currency"], found["compaction"]["cost"]["currency"], found["total"]["cost"]] == ["USD", "EUR", None]


async def test_a_cost_is_rounded_once_and_half_of_one_upwards(settings: Settings, store: Store) -> None:
    per_token = {"a": 400_000, "b": 400_000, "c": 499_999, "d": 500_000, "e": 10**12}
    prices = {model: Prices("USD", input=price, output=0) for model, price in per_token.items()}
    async with running(priced(settings, **prices)) as app, talking(app) as client:
        world = World(client)
        session = await world.session()
        for model in per_token:
            await summarised(store, session, {"input": 10**12 + 1 if model == "e" else 1, "output": 0}, model=model)
        found = await used(world, session)
        micros = {row["model"]: row["cost"]["micros"] for row in found["models"]}
    most = 10**18 + 10**6
    assert micros == {"a": 0, "b": 0, "c": 0, "d": 1, "e": most}
    assert found["total"]["cost"]["micros"] == most + 2, "of 1.799999: rounded one by one it would be 1"


async def test_what_no_provider_reported_is_counted_as_estimated(world: World) -> None:
    session = await world.session(script=[{"text": "Bonjour tout le monde.", "cut_after_chars": 8}])
    await world.turn(session)
    total = (await used(world, session))["total"]
    turn = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"][0]["usage"]
    assert (total["calls"], total["estimated_calls"]) == (1, 1)
    assert turn["source"] == "estimated"
    assert (total["input"], total["output"]) == (turn["input"], turn["output"])


async def test_names_that_a_text_column_cannot_hold_are_told_as_they_are(world: World, store: Store) -> None:
    session = await world.session()
    for model in ('a "b"\\', "nul \0", "\ud800"):
        await summarised(store, session, REPORTED, model=model)
    assert {row["model"] for row in (await used(world, session))["models"]} == {'a "b"\\', "nul \0", "\ud800"}


async def test_usage_of_a_session_that_nobody_knows_is_not_found(world: World) -> None:
    await world.call("GET", "/sessions/ses_x/usage", 404)
