"""Changes of a state redacted: none that is in force for anybody, and nothing of them is left where the state was told again."""

from typing import Any

from tests.services.shared_states import patch
from tests.services.test_redactions import redact, seq_of
from tests.services.world import World

SCOPE: dict[str, Any] = {"session": {"type": "object"}}


async def opened(world: World) -> str:
    return await world.session(await world.agent(state_schema=SCOPE))


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
