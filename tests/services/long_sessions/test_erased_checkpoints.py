"""A line that comes back after what its checkpoint stood for was redacted: the messages that are left are sent, since nothing stands for them."""

import pytest

from tests.services.world import World


@pytest.mark.req("S1-14", "S0-35")
@pytest.mark.parametrize("how", ["line", "follows", "at_seq", "fork"])
async def test_a_line_that_comes_back_without_its_checkpoint_sends_its_messages(world: World, how: str) -> None:
    params = {"script": [{"text": "Yes. " + "ipsum " * 300}], "compaction_script": [{"text": "They said yes."}]}
    session = await world.session(await world.agent(model={"upstream": "scripted", "name": "gpt-4.1", "params": params}))
    turns = [await world.turn(session, f"Question {number}. " + "lorem " * 100) for number in range(3)]
    made = (await world.call("POST", f"/sessions/{session}/compactions", 200, json={"keep_recent_tokens": 100})).json()
    assert made["outcome"] == "compacted"
    kept = await world.turn(session, "Behind it.")
    head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
    await world.turn(session, "Later.")
    gone = turns[0]["input_seq"]
    await world.call("POST", f"/sessions/{session}/entries/{gone}/redact", 200, json={"reason": "asked for"})
    query = {}
    match how:
        case "line":
            await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": kept["id"]})
        case "follows":
            await world.turn(session, "Edited.", follows=kept["id"])
        case "at_seq":
            query = {"at_seq": head}
        case "fork":
            session = (await world.call("POST", f"/sessions/{session}/fork", 201, json={"at_seq": head})).json()["id"]
    seen = await world.input(session, **query)
    shown = [entry["seq"] for entry in await world.raw(session, **query)]
    decided = [row["source"]["seq"] for row in seen["manifest"]["decisions"] if row["source"]["kind"] == "entry"]
    assert decided == shown, "no message is left out without a word, and none is sent twice"
    if how != "at_seq":
        assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] is None
