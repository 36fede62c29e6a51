"""A turn that was compacted before it called a tool takes the tool's result like any other."""

from typing import Any

import pytest

from tests.services.world import World

CALLING = {"tool_calls": [{"id": "c1", "name": "lookup", "arguments": "{}"}]}


@pytest.mark.req("S1-27", "X-46")
@pytest.mark.parametrize("words", ["lorem " * 20, "lorem " * 20_000], ids=["short", "in a blob"])
async def test_results_of_a_turn_whose_checkpoint_names_an_artifact(world: World, words: str) -> None:
    script: list[Any] = [{"text": "Yes. " + "ipsum " * 300}] * 2 + [CALLING, {"text": "Done."}]
    params = {"script": script, "compaction_script": [{"text": "They said yes twice."}]}
    model = {"upstream": "scripted", "name": "gpt-4.1", "params": params}
    compaction = {"max_tokens": 600, "keep_recent_tokens": 100}
    session = await world.session(await world.agent(model=model, tools=[{"name": "lookup"}], compaction=compaction))
    for number in range(2):
        await world.turn(session, f"Question {number}. " + "lorem " * 100)
    turn = await world.turn(session, "Look it up.")
    kinds = [entry["kind"] for entry in await world.ledger(session) if entry["turn"] == turn["number"]]
    assert (turn["status"], "checkpoint" in kinds) == ("requires_action", True)
    turn = await world.results(session, turn["id"], [{"tool_call_id": "c1", "content": words}])
    assert (turn["status"], turn["error"]) == ("completed", None)
