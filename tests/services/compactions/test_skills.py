"""Skills stand before the message that they were read for: those of a turn that stays, stay."""

from typing import Any

import pytest

from tests.services.compactions.long_sessions import SHORT, calls, compact, kinds, long_session, whole
from tests.services.world import World

SKILLS = [{"name": name, "description": "How.", "text": f"{name.upper()} {'page ' * 40}"} for name in ("first", "second", "third")]
EXTRA = [{"kind": "agent_message", "parts": [{"type": "text", "text": "by the way"}]}]


async def told(world: World, session: str) -> str:
    return str((await world.input(session))["body"]["messages"])


@pytest.mark.req("S1-14", "S1-27", "X-47", "X-71")
@pytest.mark.parametrize("extra", [[], EXTRA], ids=["alone", "behind an extra message"])
async def test_the_skills_of_the_first_kept_turn_are_sent_behind_a_checkpoint(world: World, extra: list[Any]) -> None:
    session = await long_session(world, [SHORT, SHORT], agent={"skills": SKILLS})
    await world.turn(session, "older", skills=["first"])
    kept = await world.turn(session, "kept", skills=["second", "third"], extra_messages=extra)
    before = await told(world, session)
    assert "FIRST" in before
    assert "SECOND" in before
    found = await compact(world, session, keep_recent_tokens=1)
    assert (found["outcome"], found["covers_through_seq"]) == ("compacted", kept["input_seq"] - 1)
    shown = await world.input(session)
    assert shown["budget"]["total"] == found["tokens_after"]
    sent = str(shown["body"]["messages"])
    assert [word in sent for word in ("FIRST", "SECOND", "THIRD", "by the way")] == [False, True, True, False]
    assert [one["seq"] for one in shown["source_map"]["sources"][1:]] == [kept["input_seq"], kept["entry_seqs"][-3]]
    await whole(world, session)
    loaded = [entry["seq"] for entry in await world.ledger(session) if entry["kind"] == "skill_loaded"]
    reasons = [(await world.call("GET", f"/sessions/{session}/explain", 200, params={"seq": seq})).json()["reason"] for seq in loaded]
    assert reasons == ["covered", "skill_expanded", "skill_expanded"]
    fork = (await world.call("POST", f"/sessions/{session}/fork", 201, json={})).json()["id"]
    assert (await world.input(fork))["body"] == shown["body"]
    await world.turn(session, "newer " + "river " * 40)
    assert (await compact(world, session, keep_recent_tokens=1))["outcome"] == "compacted"
    assert "SECOND" not in await told(world, session)
    await world.call("PATCH", f"/sessions/{session}", 200, json={"checkpoint": "none"})
    assert (await told(world, session)).startswith(before[:-1])


@pytest.mark.req("S1-27", "S1-28", "S2-02")
async def test_a_turn_that_compacts_before_its_call_is_still_told_its_skills(world: World) -> None:
    session = await long_session(world, [SHORT], turns=4, window=4_000, words="word " * 200, agent={"skills": SKILLS})
    turn = await world.turn(session, "more " * 1_700, skills=["second"])
    assert (turn["status"], "checkpoint" in await kinds(world, session)) == ("completed", True)
    call = (await calls(world, session, "main"))[-1]
    sent = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
    assert "SECOND" in str(sent["body"]["messages"])
    await whole(world, session)
