"""What was redacted may be said again: its bytes are stored anew, and are redacted anew."""

import pytest

from tests.services.test_redactions import redact, seq_of
from tests.services.traces import tables_with
from tests.services.world import World

LONG = "zqlongxk" * 8_000


@pytest.mark.req("X-11")
async def test_a_long_text_is_said_again_after_it_was_redacted(world: World, migrate_url: str) -> None:
    session = await world.session(script=[{"text": "well"}])
    for _ in range(3):
        assert (await world.turn(session, LONG))["status"] == "completed"
        assert LONG in str((await world.input(session))["body"])
        assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
        await redact(world, session, await seq_of(world, session, "user_message", -1))
        assert await tables_with(migrate_url, "zqlongxk") == set()
        assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]


async def test_a_file_is_uploaded_again_after_it_was_redacted(world: World) -> None:
    session = await world.session(script=[{"text": "well"}])
    at, kind = f"/sessions/{session}/blobs", {"content-type": "text/plain"}
    for _ in range(3):
        digest = (await world.call("POST", at, 201, content=b"a file", headers=kind)).json()["digest"]
        assert (await world.call("GET", f"{at}/{digest}", 200)).content == b"a file"
        await world.turn(session, [{"type": "text", "text": "see"}, {"type": "file", "blob": digest}])
        await redact(world, session, await seq_of(world, session, "user_message", -1))
        await world.call("GET", f"{at}/{digest}", 404)
