"""A conversation that its summarizer cannot be told of at once is covered piece by piece, and nothing is covered that nobody was told of."""

import json
from typing import Any

import pytest

from tests.services.compactions.long_sessions import calls, compact, long_session, plan, whole
from tests.services.world import World


async def told(world: World, session: str, call: Any) -> list[int]:
    """The seqs of the entries that the request of a summary quotes."""
    body = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()["body"]
    rows = [json.loads(line) for line in body["messages"][-1]["content"].splitlines() if line.startswith('{"seq":')]
    return [row["seq"] for row in rows]


async def imported(world: World) -> str:
    """Three hundred messages, of several times the window."""
    session = await long_session(world, turns=0, window=6_000)
    for part in range(3):
        said = [
            {"kind": kind, "parts": [{"type": "text", "text": f"{kind} {part} {number} " + "river " * 30}]}
            for number in range(50)
            for kind in ("user_message", "assistant_message")
        ]
        await world.call("POST", f"/sessions/{session}/entries", 201, json={"entries": said})
    return session


@pytest.mark.req("S1-14", "S3-32", "X-45", "X-49", "X-50")
async def test_each_compaction_covers_what_it_was_told_of_and_the_next_goes_on_there(world: World) -> None:
    session = await imported(world)
    seen = [entry["seq"] for entry in await world.raw(session)]
    covered: list[int] = []
    while True:
        would = await plan(world, session)
        found = await compact(world, session)
        assert found["outcome"] == would["would"]
        if found["outcome"] != "compacted":
            break
        assert found["covers_through_seq"] == would["covers_through_seq"]
        through = [seq for seq in seen if seq <= found["covers_through_seq"]]
        assert through[: len(covered)] == covered
        assert await told(world, session, (await calls(world, session))[-1]) == through[len(covered) :]
        covered = through
        sent = [source["seq"] for source in (await world.input(session))["source_map"]["sources"][1:]]
        assert covered + sent == seen
    assert found["outcome"] == "nothing_to_compact"
    assert len(await calls(world, session)) > 2
    assert (await world.input(session))["budget"]["verdict"] == "fits"
    await whole(world, session)


@pytest.mark.req("S3-35", "T-06", "X-48")
async def test_turns_catch_up_with_a_long_import_two_attempts_at_a_time(world: World) -> None:
    session = await imported(world)
    found = []
    for number in range(8):
        found.append(await world.turn(session, f"go on {number}"))
        assert len(await calls(world, session)) <= 2 * len(found)
        if found[-1]["status"] == "completed":
            break
        assert found[-1]["error"]["code"] == "context-over-budget"
    assert found[-1]["status"] == "completed"
    assert [entry["body"]["parts"][0]["text"] for entry in await world.raw(session)][-1] == "answer " * 60
    await whole(world, session)
