"""Plans go with the answer that set them, and so do later ones that repeat a line of them; those of others stay."""

from typing import Any

from tests.services.test_erased_forks import fork_of
from tests.services.test_redactions import redact, seq_of
from tests.services.traces import tables_with
from tests.services.turns.test_plans import CREATE, plan
from tests.services.world import World

OBJECTIVE = "zqobjectivexk"
OTHER = {"operation": "create", "objective": "Another.", "steps": [{"text": "rest", "status": "active"}]}


async def planned(world: World, session: str, change: Any) -> None:
    """A turn whose answer says something and changes the plan."""
    script = [plan(change, text="so be it")]
    assert (await world.turn(session, overrides={"model": {"params": {"script": script}}}))["status"] == "completed"


async def changes(world: World, session: str) -> list[Any]:
    return [entry["body"] for entry in await world.ledger(session) if entry["kind"] == "plan_changed"]


async def test_a_plan_goes_with_the_answer_that_set_it_in_forks_too(world: World, migrate_url: str) -> None:
    session = await world.session(await world.agent(plan={"enabled": True}))
    await planned(world, session, {**CREATE, "objective": OBJECTIVE})
    fork = await fork_of(world, session)
    inner = await fork_of(world, fork)
    for one in (session, fork, inner):
        await planned(world, one, {"operation": "abandon"})
        await planned(world, one, OTHER)
        assert [change["accepted"] for change in await changes(world, one)] == [True] * 3
        assert [OBJECTIVE in str(change) for change in await changes(world, one)] == [True, True, False]
    receipt = await redact(world, session, await seq_of(world, session, "assistant_message"))
    assert receipt["erased"]["entries"] == 5
    assert await tables_with(migrate_url, OBJECTIVE) == {"turns"}, "the script, as a turn's overrides"
    for one in (session, fork, inner):
        (_, _, last) = await changes(world, one)
        assert last["plan"]["objective"] == OTHER["objective"]
        assert (await world.call("GET", f"/sessions/{one}/plan", 200)).json()["plan"]["objective"] == OTHER["objective"]
