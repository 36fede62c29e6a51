"""A conversation that its summarizer cannot be told of at once is covered piece by piece, and nothing is covered that nobody was told of."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.services.compactions.long_sessions import SHORT, calls, compact, long_session, plan, whole
from tests.services.compactions.test_preflight import OVERFLOW
from tests.services.world import World


async def told(world: World, session: str, call: Any) -> list[int]:
    """The seqs of the entries that the request of a summary quotes."""
    body = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()["body"]
    rows = [json.loads(line) for line in body["messages"][-1]["content"].splitlines() if line.startswith('{"seq":')]
    return [row["seq"] for row in rows]


async def imported(world: World, summaries: Sequence[Any] = (SHORT,), **compaction: Any) -> str:
    """Five hundred messages, of several times the window."""
    session = await long_session(world, summaries, turns=0, window=6_000, **compaction)
    for part in range(5):
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
    pieces = [entry["body"]["piece"] for entry in await world.ledger(session) if entry["kind"] == "compaction_requested"]
    assert pieces == [True] * (len(pieces) - 1) + [False]
    assert len(await calls(world, session)) > 2
    assert (await world.input(session))["budget"]["verdict"] == "fits"
    await whole(world, session)


@pytest.mark.req("S0-31", "S3-35", "T-06", "X-48")
async def test_a_turn_behind_a_long_import_takes_it_piece_by_piece(world: World) -> None:
    session = await imported(world)
    turn = await world.turn(session, "go on")
    assert turn["status"] == "completed"
    asked = [entry["body"] for entry in await world.ledger(session) if entry["kind"] == "compaction_requested"]
    assert len(asked) > 2
    assert {one["attempt"] for one in asked} == {1}
    assert all(one["piece"] for one in asked[:-1])
    before = [call["budget"]["total"] for call in await calls(world, session, "main")]
    assert max(before) <= 6_000
    await whole(world, session)


@pytest.mark.req("S3-34", "S3-35", "X-48", "X-49")
async def test_a_piece_that_is_refused_ends_its_attempt(world: World) -> None:
    session = await imported(world, [{"text": "The beginning."}, {"text": ""}])
    turn = await world.turn(session, "go on")
    assert (turn["status"], turn["error"]["code"]) == ("failed", "context-over-budget")
    kinds = [entry["kind"] for entry in await world.ledger(session)]
    assert (kinds.count("checkpoint"), kinds.count("compaction_failed")) == (1, 2)
    await whole(world, session)


@pytest.mark.req("X-60", "X-49")
async def test_a_call_that_was_too_large_is_made_again_when_all_pieces_are_covered(world: World) -> None:
    """The session goes on with a model of a large window; the agent's own, which summarises, has a small one."""
    small = {"upstream": "scripted", "name": "scripted", "params": {"compaction_script": [SHORT]}}
    session = await imported(world, driver={"kind": "model", "model": small})
    large = {"upstream": "scripted", "name": "gpt-4.1", "params": {"script": [OVERFLOW, {"text": "Now it fits."}]}}
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": large})
    turn = await world.turn(session, "go on")
    assert turn["status"] == "completed"
    asked = [entry["body"] for entry in await world.ledger(session) if entry["kind"] == "compaction_requested"]
    assert ({one["trigger"] for one in asked}, {one["attempt"] for one in asked}) == ({"overflow"}, {1})
    assert [one["piece"] for one in asked] == [True] * (len(asked) - 1) + [False]
    assert len(asked) > 2
    before, after = [call["budget"]["total"] for call in await calls(world, session, "main")]
    assert after < before / 10
    await whole(world, session)
