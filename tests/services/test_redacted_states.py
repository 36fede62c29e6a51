"""Changes of a state redacted: none that is in force for anybody, and nothing of them is left where the state was told again."""

from typing import Any

import pytest

from tests.services.shared_states import patch, state
from tests.services.test_erased_forks import fork_of
from tests.services.test_redactions import redact, seq_of
from tests.services.traces import tables_with
from tests.services.world import World

SCOPE: dict[str, Any] = {"session": {"type": "object"}}
NAME = "zqnamexk"


async def opened(world: World) -> str:
    return await world.session(await world.agent(state_schema=SCOPE))


@pytest.mark.parametrize("change", [{"name": "Bo"}, {"name": ""}, {"name": None}, {"name": {}}, {"name": []}, {"name": [{}]}, {"name": {"a": None}}])
async def test_a_change_that_is_in_force_stays_whatever_it_set(world: World, change: dict[str, Any]) -> None:
    session = await opened(world)
    await patch(world, session, {"session": {"name": "Al", "kept": 1}})
    await patch(world, session, {"session": change})
    before = await state(world, session)
    seq = await seq_of(world, session, "state_changed", -1)
    assert (await redact(world, session, seq, 409))["code"] == "conflict"
    assert await state(world, session) == before
    await patch(world, session, {"session": {"name": "Cy"}})
    await redact(world, session, seq)
    assert await state(world, session) == {"session": {"kept": 1, "name": "Cy"}}


@pytest.mark.parametrize("value", [{}, [], 1, {"of": []}])
async def test_a_name_with_any_value_goes_from_every_state_that_holds_it(world: World, migrate_url: str, value: Any) -> None:
    session = await opened(world)
    await patch(world, session, {"session": {"people": {NAME: value}}})
    seq = await seq_of(world, session, "state_changed")
    await patch(world, session, {"session": {"kept": 1}})
    await redact(world, session, seq, 409)
    await patch(world, session, {"session": {"people": None}})
    await redact(world, session, seq)
    assert await tables_with(migrate_url, NAME) == set()
    assert await state(world, session) == {"session": {"kept": 1}}


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_value_that_forks_share_from_before_is_redacted_where_it_was_set_first(world: World, migrate_url: str, depth: int) -> None:
    session = await opened(world)
    await patch(world, session, {"session": {"name": NAME}})
    first = await seq_of(world, session, "state_changed")
    forks = [session]
    for _ in range(depth):
        forks.append(await fork_of(world, forks[-1]))
    for name in ("Al", NAME, "Cy"):
        await patch(world, session, {"session": {"name": name}})
    again = await seq_of(world, session, "state_changed", 2)
    assert f"Entry {first} " in (await redact(world, session, again, 409))["detail"]
    for fork in forks[1:]:
        assert await state(world, fork) == {"session": {"name": NAME}}
        await redact(world, session, first, 409)
        await patch(world, fork, {"session": {"name": "Di"}})
    await redact(world, session, first)
    assert await tables_with(migrate_url, NAME) == set()
    assert [await state(world, one) for one in forks] == [{"session": {"name": name}} for name in ("Cy", *["Di"] * depth)]
    assert (await redact(world, session, again, 409))["code"] == "conflict"


async def test_whoever_read_an_earlier_state_is_told_that_it_is_gone(world: World) -> None:
    session = await opened(world)
    await patch(world, session, {"session": {"name": "Bo"}})
    seq = await seq_of(world, session, "state_changed")
    await patch(world, session, {"session": {"name": "Al"}})
    path = f"/sessions/{session}/state?at_seq={seq}"
    read = await world.call("GET", path, 200)
    tag = {"if-none-match": read.headers["etag"]}
    await world.call("GET", path, 304, headers=tag)
    await redact(world, session, seq)
    assert (await world.call("GET", path, 200, headers=tag)).json()["state"] == {}
