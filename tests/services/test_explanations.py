"""Why an entry was in, changed or out of a call, over HTTP: of the next one, of one by its id, of one by its answer."""

from typing import Any

import pytest

from tests.formats.pointing import at
from tests.services.turns.test_tools import CALL, DONE, TOOLS
from tests.services.world import World


async def explain(world: World, session: str, seq: int, expect: int = 200, **query: Any) -> Any:
    return (await world.call("GET", f"/sessions/{session}/explain", expect, params={"seq": seq, **query})).json()


@pytest.mark.req("S3-16")
async def test_every_entry_of_a_session_is_explained_as_the_manifest_has_it(world: World) -> None:
    session = await world.session(await world.agent([CALL, DONE, {"text": "Half", "cut_after_chars": 2}], tools=TOOLS))
    turn = await world.turn(session)
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    await world.turn(session, "aside", include_in_context=False)
    seen = await world.input(session)
    rows = {row["source"]["seq"]: row for row in seen["manifest"]["decisions"] if row["source"]["kind"] == "entry"}
    entries = await world.ledger(session)
    assert {entry["seq"] for entry in entries if entry["message_index"] is not None} == set(rows)
    for entry in entries:
        found = await explain(world, session, entry["seq"])
        assert (found["object"], found["kind"], found["call_id"], found["head_seq"]) == ("explanation", entry["kind"], None, len(entries))
        assert found["sentence"].endswith(".")
        row = rows.get(entry["seq"])
        if row is None:
            assert (found["disposition"], found["source"], found["pointers"]) == ("excluded", None, [])
            assert found["reason"] in ("settings", "trace", "fold")
            continue
        assert [found[name] for name in ("disposition", "reason", "also")] == [row[name] for name in ("disposition", "reason", "also")]
        assert row["pointer"] is None or row["pointer"] in found["pointers"]
        for pointer in found["pointers"]:
            at(seen["body"], pointer)
    aside = next(entry["seq"] for entry in entries if entry["include_in_context"] is False)
    assert (await explain(world, session, aside))["reason"] == "not_in_context"


async def test_a_past_answer_is_explained_by_what_its_call_was_sent(world: World) -> None:
    session = await world.session(script=[{"text": "One."}, {"text": "Two."}])
    first = await world.turn(session, "a")
    second = await world.turn(session, "b")
    seqs = [entry["seq"] for entry in await world.raw(session)]
    by_answer = await explain(world, session, seqs[0], answer_seq=seqs[3])
    assert by_answer == await explain(world, session, seqs[0], call=second["calls"][0])
    assert (by_answer["call_id"], by_answer["disposition"], by_answer["source"]) == (second["calls"][0], "included", 0)
    later = await explain(world, session, seqs[2], call=first["calls"][0])
    assert (later["reason"], later["call_id"]) == ("after_head", first["calls"][0])
    assert (await explain(world, session, seqs[1], answer_seq=seqs[1]))["reason"] == "after_head"
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": first["id"]})
    assert (await explain(world, session, seqs[2]))["reason"] == "other_line"
    assert (await explain(world, session, seqs[2], answer_seq=seqs[3]))["reason"] == "in_window"


async def test_a_loss_and_its_steps_stand_with_the_entry(world: World) -> None:
    session = await world.session(script=[{"text": "Bonjour.", "reasoning": "I greet."}])
    await world.turn(session)
    seq = (await world.raw(session))[1]["seq"]
    agent = await world.agent(model={"upstream": "scripted", "name": "other", "params": {"dialect": "anthropic-messages"}})
    await world.call("PATCH", f"/sessions/{session}", 200, json={"agent": agent})
    found = await explain(world, session, seq)
    assert found["disposition"] == "transformed"
    assert [step["disposition"] for step in found["steps"]] == ["included", "transformed"]
    assert found["steps"][-1]["reason"] == found["reason"]
    assert [loss["seq"] for loss in found["losses"]] == [seq]


async def test_what_cannot_be_explained_is_refused_with_its_place(world: World) -> None:
    session, other = await world.session(), await world.session()
    turn = await world.turn(session)
    foreign = (await world.turn(other))["calls"][0]
    fault = (await world.call("GET", f"/sessions/{session}/explain", 422)).json()["errors"][0]
    assert (fault["pointer"], fault["code"]) == ("/seq", "missing")
    for seq in (999, 2**62):
        assert (await explain(world, session, seq, 404))["code"] == "not-found"
    await explain(world, session, 0, 422)
    assert (await explain(world, session, 1, 404, answer_seq=999))["code"] == "not-found"
    for call in (foreign, "mcl_x", turn["id"]):
        assert (await explain(world, session, 1, 404, call=call))["code"] == "not-found"
    question = (await world.raw(session))[0]["seq"]
    assert (await explain(world, session, 1, 422, answer_seq=question))["errors"][0]["pointer"] == "/answer_seq"
    both = await explain(world, session, 1, 422, answer_seq=question, call=turn["calls"][0])
    assert both["errors"][0]["code"] == "exclusive"
