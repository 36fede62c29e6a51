"""Sessions whose tool results fill the window: what is stale is told in fewer words, and nothing of what was said is lost."""

import json
from typing import Any

import pytest

from app.config.settings import Settings
from app.storage.types import Append, Appended
from tests.services.turns.faulty import Real, around_appends, inside, kinds
from tests.services.world import World

DONE = {"text": "Done."}
READ = {"name": "read", "results": {"target": "path"}}
SMALL = {"context_window": 8_000, "max_output_tokens": 500}
FILE = "\n".join(f"{line} lorem ipsum dolor sit amet" for line in range(120))


def reads(*paths: str) -> list[Any]:
    """A script that reads each file in a turn of its own."""
    script: list[Any] = []
    for number, path in enumerate(paths):
        script += [{"tool_calls": [{"id": f"call_of_turn_{number}", "name": "read", "arguments": json.dumps({"path": path})}]}, DONE]
    return script


async def session_of(world: World, *paths: str, **document: Any) -> str:
    given = {"tools": [READ], "limits": SMALL, "pruning": {"trigger_fraction": 0.5, "protect_recent_tokens": 100}, **document}
    return await world.session(await world.agent([*reads(*paths), DONE], **given))


async def read(world: World, session: str, number: int, text: str = FILE, said: str = "go on") -> Any:
    turn = await world.turn(session, f"{said} {number}")
    return await world.results(session, turn["id"], [{"tool_call_id": f"call_of_turn_{number}", "content": text}])


async def calls_of(world: World, session: str, turn: Any) -> list[Any]:
    return [(await world.call("GET", f"/sessions/{session}/calls/{one}", 200)).json() for one in turn["calls"]]


def tool_texts(body: Any) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


async def verified(world: World, session: str) -> list[Any]:
    """The inputs of all calls, derived again."""
    found = []
    for call in (await world.call("GET", f"/sessions/{session}/calls", 200, params={"limit": 100})).json()["data"]:
        seen = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
        assert seen["verified"] is True, seen.get("mismatch")
        found.append(seen)
    return found


@pytest.mark.req("S0-32", "S0-34", "S0-35", "S0-36", "X-58", "X-59", "T-08")
async def test_under_pressure_stale_results_are_pruned_and_nothing_of_the_transcript_changes(world: World) -> None:
    session = await session_of(world, *"aabcdefg")
    raw: list[Any] = []
    for number in range(8):
        turn = await read(world, session, number)
        assert turn["status"] == "completed", turn["error"]
        now = await world.raw(session)
        assert now[: len(raw)] == raw, "what was said stays as it was said"
        raw = now
    pruned = [entry for entry in await world.ledger(session) if entry["kind"] == "pruned"]
    assert len(pruned) >= 2
    assert [one["body"]["tokens_after"] < one["body"]["tokens_before"] for one in pruned] == [True] * len(pruned)
    results = [entry for entry in raw if entry["kind"] == "tool_result"]
    assert [entry["body"]["parts"][0]["text"] for entry in results] == [FILE] * 8
    assert pruned[0]["body"]["results"][0] == [results[0]["seq"], "cleared", "superseded"], "the same file was read again"
    seen = await world.input(session)
    texts = tool_texts(seen["body"])
    assert len(texts) == len(results), "each call keeps its result"
    assert texts[0].startswith('[The result of read {"path": "a"} was left out: ')
    assert texts[-1] == FILE
    assert sum(text == FILE for text in texts) < 8
    rows = {row["source"].get("seq"): row for row in seen["manifest"]["decisions"] if row["source"]["kind"] == "entry"}
    row = rows[results[0]["seq"]]
    assert (row["disposition"], row["reason"], row["pass"]) == ("transformed", "pruned_stale_tool_result", "pruning")
    assert row["tokens_after"] < row["tokens_before"]
    assert "pruned_old_tool_result" in {row["reason"] for row in rows.values()}
    inputs = await verified(world, session)
    assert all(one["budget"]["verdict"] in ("fits", "prune") for one in inputs)
    assert len(inputs) == 16


@pytest.mark.req("X-59")
async def test_pruning_tells_no_listener(world: World) -> None:
    session = await session_of(world, *"aa")
    for number in range(2):
        await read(world, session, number, FILE * 2)
    frames = await world.stream(session, "and now?")
    assert [entry["kind"] for entry in await world.ledger(session)].count("pruned") == 1
    assert "prun" not in "".join(frame.event for frame in frames) + "".join(
        json.dumps(frame.data) for frame in frames if frame.event != "context.compiled"
    )


@pytest.mark.req("X-58", "S0-36")
async def test_a_rewind_behind_the_pruning_shows_the_results_again(world: World) -> None:
    session = await session_of(world, *"aa")
    first = await read(world, session, 0, FILE * 2)
    second = await read(world, session, 1, FILE * 2)
    (pruned,) = [entry for entry in await world.ledger(session) if entry["kind"] == "pruned"]
    assert pruned["turn"] == 2, "decided before the call that was made with the second result"
    now = tool_texts((await world.input(session))["body"])
    assert now[0].startswith("[The result of read")
    assert now[1] == FILE * 2
    before = (await world.input(session, at_seq=pruned["seq"] - 1))["body"]
    assert tool_texts(before) == [FILE * 2, FILE * 2], "an older head knows nothing of it"
    await world.turn(session, "another way", follows=first["id"])
    assert tool_texts((await world.input(session))["body"]) == [FILE * 2]
    await world.turn(session, "back", follows=second["id"])
    assert tool_texts((await world.input(session))["body"]) == now, "it belongs to the line"
    await verified(world, session)


@pytest.mark.req("X-58", "T-08")
async def test_below_the_mark_and_where_too_little_is_stale_nothing_is_recorded(world: World) -> None:
    quiet = await session_of(world, *"aa", pruning={"trigger_fraction": 1, "protect_recent_tokens": 100})
    kept = await session_of(world, *"aa", tools=[{**READ, "results": {"target": "path", "keep": "protected"}}])
    recent = await session_of(world, *"aa", pruning={"trigger_fraction": 0.5, "protect_recent_tokens": 6_000})
    for session in (quiet, kept, recent):
        for number in range(2):
            await read(world, session, number, FILE * 2)
        turn = await world.turn(session, "and now?")
        assert turn["status"] == "completed"
        (call,) = await calls_of(world, session, turn)
        assert call["budget"]["verdict"] == ("fits" if session == quiet else "prune")
        assert not [entry for entry in await world.ledger(session) if entry["kind"] == "pruned"]
        assert tool_texts((await world.input(session))["body"]) == [FILE * 2, FILE * 2]


@pytest.mark.req("S0-32", "X-58")
async def test_pruning_keeps_a_session_going_that_would_not_fit(world: World) -> None:
    session = await session_of(world, *"abcd", pruning={"trigger_fraction": 1, "protect_recent_tokens": 0})
    for number in range(4):
        turn = await read(world, session, number, FILE * 2)
        assert turn["status"] == "completed", turn["error"]
    assert [entry["kind"] for entry in await world.ledger(session)].count("pruned") >= 1
    await verified(world, session)


@pytest.mark.req("X-58", "S1-28")
async def test_a_turn_that_is_tried_again_finds_the_results_that_it_had(world: World) -> None:
    calls = [{"tool_calls": reads(*"aaa")[2 * number]["tool_calls"]} for number in range(3)]
    given: dict[str, Any] = {"tools": [READ], "limits": SMALL, "pruning": {"trigger_fraction": 0.3, "protect_recent_tokens": 100}}
    session = await world.session(await world.agent([*calls, {"error": {"status": 400, "code": "bad"}}, DONE], **given))
    turn = await world.turn(session, "go on")
    for number in range(3):
        turn = await world.results(session, turn["id"], [{"tool_call_id": f"call_of_turn_{number}", "content": FILE}])
    assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-error")
    again = (await world.call("POST", f"/sessions/{session}/turns/{turn['id']}/retry", 200, json={})).json()
    assert again["status"] == "completed"
    (call,) = await calls_of(world, session, again)
    assert call["budget"]["verdict"] == "prune"
    assert tool_texts((await world.input(session, at_seq=call["head_seq"]))["body"]) == [FILE] * 3


@pytest.mark.req("X-58")
async def test_a_document_says_what_results_are_of_and_keeps_its_digest_without(world: World) -> None:
    agent = await world.agent(tools=[{"name": "read"}], name="plain")
    again = await world.client.put(
        f"/agents/{agent}",
        json={
            "model": {"upstream": "scripted", "name": "scripted", "params": {"script": [{"text": "Bonjour."}]}},
            "limits": {"context_window": 128000, "max_output_tokens": 4096},
            "tools": [{"name": "read"}],
        },
    )
    assert again.status_code == 200
    assert again.json()["document"]["tools"] == [{"name": "read"}]
    wrong = {"target": "", "effect": "append", "keep": "always", "of": "x"}
    bad = await world.client.put("/agents/bad", json={**again.json()["document"], "tools": [{"name": "read", "results": wrong}]})
    assert bad.status_code == 422
    assert {fault["pointer"] for fault in bad.json()["errors"]} == {f"/tools/0/results/{key}" for key in wrong}


@pytest.mark.req("X-58")
async def test_what_is_appended_beside_the_decision_makes_it_anew(settings: Settings) -> None:
    async with inside(settings) as here:
        world, moved = here.world, list[str]()

        async def beside(append: Append, real: Real) -> Appended:
            if "pruned" in kinds(append) and not moved:
                moved.append("state")
                await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"checked": True}})
            done: Appended = await real()
            return done

        session = await session_of(world, *"aa", state_schema={"session": {"type": "object"}})
        around_appends(here.store.ledger, beside)
        for number in range(2):
            turn = await read(world, session, number, FILE * 2)
            assert turn["status"] == "completed", turn["error"]
        assert moved
        told = [entry["kind"] for entry in await world.ledger(session) if entry["kind"] in ("state_changed", "pruned")]
        assert told[-2:] == ["state_changed", "pruned"]
        assert told.count("pruned") == 1
        await verified(world, session)
