"""What the service handed from one agent to another goes with the words that it was made of."""

import pytest

from tests.services.test_redactions import redact, seq_of
from tests.services.traces import tables_with
from tests.services.turns.test_agents_in_turns import call, put, tool
from tests.services.world import World

ASKED, ANSWERED, LONG = "zqaskedxk", "zqansweredxk", "zqlongxk" * 9_000
KEPT = {"agent_revisions"}
"""The scripted model's answers stand in its agents' documents."""


async def consulted(world: World, answer: str = ANSWERED) -> str:
    """A session whose agent asks another one twice, by calls of one id, and then says what it makes of it."""
    script = [call("consult", 1, q=ASKED), {"text": answer}, call("consult", 1, q="once more"), {"text": "again"}, {"text": "So be it."}]
    await put(world, "expert", script)
    await put(world, "nurse", script, [tool("consult", "expert", "call")])
    session = await world.session("nurse")
    assert (await world.turn(session))["status"] == "completed"
    return session


async def left(world: World, session: str) -> list[tuple[str, int, bool]]:
    """Kind and invocation of each message, and whether its content is there."""
    entries = await world.ledger(session)
    return [(one["kind"], one["invocation"], one["body"] is not None) for one in entries if one["message_index"] is not None]


WHOLE = [
    ("user_message", 0),
    ("assistant_message", 0),
    ("agent_message", 1),
    ("assistant_message", 1),
    ("tool_result", 0),
    ("assistant_message", 0),
    ("agent_message", 2),
    ("assistant_message", 2),
    ("tool_result", 0),
    ("assistant_message", 0),
]


@pytest.mark.req("X-11")
@pytest.mark.parametrize(("nth", "text", "gone"), [(0, ASKED, {1, 2}), (1, ANSWERED, {3, 4}), (1, LONG, {3, 4}), (2, "once more", {5, 6})])
async def test_what_was_handed_on_goes_with_the_answer_that_it_was_made_of(
    world: World, migrate_url: str, nth: int, text: str, gone: set[int]
) -> None:
    session = await consulted(world, LONG if text == LONG else ANSWERED)
    assert await left(world, session) == [(*one, True) for one in WHOLE]
    assert await tables_with(migrate_url, text) - KEPT
    receipt = await redact(world, session, await seq_of(world, session, "assistant_message", nth))
    assert await tables_with(migrate_url, text) - KEPT == set()
    assert await left(world, session) == [(*one, at not in gone) for at, one in enumerate(WHOLE)]
    assert receipt["erased"]["entries"] >= len(gone)
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]
    await world.input(session)
    assert (await world.turn(session, "And now?"))["status"] == "completed"
    kinds = [entry["kind"] for entry in await world.ledger(session)]
    assert kinds.count("redaction") == len(gone)
    copy = [entry["seq"] for entry in await world.ledger(session) if entry["message_index"] == max(gone)]
    assert (await redact(world, session, copy[0]))["erased"] == {}
