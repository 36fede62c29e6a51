"""Two inputs compared over HTTP: calls, heads and dialects, by name or by what is meant without one."""

from typing import Any

from app.entries.ids import CALL, format_id
from app.formats.registry import FORMATS
from app.services.minting import new_uuid
from tests.formats.pointing import at
from tests.services.turns.test_tools import CALL as ASKS
from tests.services.turns.test_tools import DONE, TOOLS
from tests.services.world import World

CONTEXT = [{"renderer": "system", "id": "who", "text": "You are a triage nurse."}, {"renderer": "history"}]


async def changes(world: World, session: str, before: Any = None, after: Any = None, expect: int = 200) -> Any:
    query = {name: value for name, value in (("from", before), ("to", after)) if value is not None}
    return (await world.call("GET", f"/sessions/{session}/model-input/diff", expect, params=query)).json()


def ids(found: Any) -> dict[str, list[str]]:
    return {name: [row["id"] for row in found[name]] for name in ("added", "removed", "transformed", "reordered") if found[name]}


async def test_without_names_the_next_input_is_compared_with_the_latest_call(world: World) -> None:
    session = await world.session(await world.agent(context=CONTEXT))
    assert (await changes(world, session, expect=404))["code"] == "no-dispatched-call"
    turn = await world.turn(session, "PRIVATE")
    found = await changes(world, session)
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    assert (found["object"], found["session_id"]) == ("model_input_diff", session)
    assert (found["from"]["call_id"], found["to"]["call_id"], found["to"]["head_seq"]) == (turn["calls"][0], None, head)
    assert ids(found) == {"added": [f"entry:{(await world.raw(session))[1]['seq']}"]}
    (row,) = found["added"]
    assert (row["from"], row["to"]["position"], row["to"]["message_index"], row["to"]["reason"]) == (None, 1, 1, "in_window")
    body = (await world.input(session))["body"]
    assert at(body, row["to"]["pointer"]) in ("Bonjour.", {"role": "assistant", "content": "Bonjour."})
    assert "PRIVATE" not in str(found)
    assert "Bonjour" not in str(found)


async def test_two_calls_two_heads_and_two_dialects(world: World) -> None:
    session = await world.session(await world.agent([ASKS, DONE], tools=TOOLS, context=CONTEXT))
    turn = await world.turn(session)
    await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": "42"}])
    turn = (await world.call("GET", f"/sessions/{session}/turns/{turn['id']}", 200)).json()
    seqs = [entry["seq"] for entry in await world.raw(session)]
    first, second = turn["calls"]
    there, back = await changes(world, session, first, second), await changes(world, session, second, first)
    assert ids(there) == {"added": [f"entry:{seq}" for seq in seqs[1:3]]}
    assert ids(back) == {"removed": ids(there)["added"]}
    assert all(row["to"] is None for row in back["removed"])
    assert ids(await changes(world, session, seqs[0], seqs[1])) == {"added": [f"entry:{seqs[1]}", "tool_repair:1:c1"]}
    call, again = await changes(world, session, first, first), await changes(world, session, second)
    assert ids(call) == {}
    assert ids(again) == {"added": [f"entry:{seqs[3]}"]}
    for dialect in FORMATS:
        found = await changes(world, session, "openai-chat", dialect)
        assert (found["from"]["dialect"], found["to"]["dialect"]) == ("openai-chat", dialect)
        assert {row["source"]["kind"] for row in found["added"]} <= {"rendered"}  # words that the format asks for
        assert found["removed"] == found["reordered"] == []
        assert (found["from"]["digest"] == found["to"]["digest"]) == (dialect == "openai-chat")
        body = (await world.input(session, dialect=dialect))["body"]
        for row in [*found["added"], *found["transformed"]]:
            at(body, row["to"]["pointer"])


async def test_what_a_turn_masks_and_what_an_agent_no_longer_says_is_removed(world: World) -> None:
    name = await world.agent(tools=TOOLS, context=CONTEXT)
    session = await world.session(name)
    first = (await world.turn(session))["calls"][0]
    second = (await world.turn(session, overrides={"masked_tools": ["lookup"]}))["calls"][0]
    found = await changes(world, session, first, second)
    (row,) = found["removed"]
    assert (row["source"], row["to"]["reason"]) == ({"kind": "tool", "name": "lookup"}, "masked")
    await world.agent(name=name, tools=TOOLS, context=[{"renderer": "history"}, {**CONTEXT[0], "text": "You are a doctor."}])
    await world.call("PATCH", f"/sessions/{session}", 200, json={"agent_revision": 2})
    found = await changes(world, session, first)
    assert [row["id"] for row in found["transformed"]] == ["system:who"]
    assert (found["from"]["agent"]["revision"], found["to"]["agent"]["revision"]) == (1, 2)


async def test_names_that_are_none_are_refused_with_their_place(world: World) -> None:
    session, other = await world.session(), await world.session()
    turn = await world.turn(session)
    foreign = (await world.turn(other))["calls"][0]
    for name in ("nothing", "openai", "-1", "1.0", "٣", turn["id"]):
        for place in ("from", "to"):
            fault = (await changes(world, session, name if place == "from" else None, name if place == "to" else None, 422))["errors"][0]
            assert (fault["pointer"], fault["code"]) == (f"/{place}", "wrong-form"), name
    for name in ("0", "999", "9" * 19):
        assert (await changes(world, session, None, name, 422))["errors"][0]["code"] == "out-of-range"
    for name in (foreign, format_id(CALL, new_uuid()), "mcl_x"):
        assert (await changes(world, session, name, None, 404))["code"] == "not-found"
    await world.call("GET", f"/sessions/{session}/model-input/diff", 422, params={"until": "1"})
