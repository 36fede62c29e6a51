"""Checkpoints over HTTP: read, chosen, set aside, and in force for as long as the line is theirs."""

from typing import Any

import pytest

from app.entries.ids import CHECKPOINT, format_id
from app.services.minting import new_uuid
from app.storage.store import Store
from tests.services.folded import checkpoint
from tests.services.test_clearing import ASKS, SLOW, TOOLS, texts
from tests.services.test_mismatches import ERASED, tampered
from tests.services.world import World


async def talked(world: World, *said: str) -> tuple[str, list[Any]]:
    """A session with a turn for each of the texts, and the turns."""
    session = await world.session()
    return session, [await world.turn(session, one) for one in said]


async def choose(world: World, session: str, chosen: str, expect: int = 200, **more: Any) -> Any:
    return (await world.call("PATCH", f"/sessions/{session}", expect, json={"checkpoint": chosen, **more})).json()


async def seqs(world: World, session: str, **query: Any) -> list[int]:
    """Which entries the next input holds as they are."""
    found = await world.input(session, **query)
    return [one["seq"] for one in found["source_map"]["sources"] if one["type"] == "history"]


async def head(world: World, session: str) -> int:
    return int((await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"])


@pytest.mark.req("X-52")
async def test_a_checkpoint_says_what_it_covers_and_by_whom_it_was_made(world: World, store: Store) -> None:
    session, turns = await talked(world, "one", "two", "three")
    made = await checkpoint(store, session, turns[1]["input_seq"])
    found = (await world.call("GET", f"/sessions/{session}/checkpoints/{made}", 200)).json()
    assert (found["id"], found["object"], found["version"], found["in_force"], found["erased"]) == (made, "checkpoint", 1, True, False)
    assert (found["covers_through_seq"], found["first_kept_seq"]) == (turns[1]["input_seq"] - 1, turns[1]["input_seq"])
    assert (found["summarized_before"], found["history_message_count"]) == (2, 6)
    assert found["summary"] == {"summary": [{"text": "They said hello.", "cites": [2]}]}
    assert "- They said hello." in found["text"]
    assert (found["driver"], found["trigger"], found["upstream"], found["model"]) == ("model", "manual", "scripted", "scripted")
    assert found["usage"] == {"input": 800, "cached": None, "cache_write": None, "output": 20, "reasoning": None, "source": "reported"}
    assert (found["tokens_before"], found["tokens_after"], found["replaces"]) == (900, 300, None)
    (entry,) = await world.ledger(session, kinds="checkpoint")
    assert (found["seq"], found["created_at"]) == (entry["seq"], entry["at"])
    assert (await world.call("GET", f"/sessions/{session}", 200)).json()["checkpoint"] == made


@pytest.mark.req("X-52", "S1-15")
async def test_they_are_listed_in_pages_and_the_newest_is_in_force(world: World, store: Store) -> None:
    session, turns = await talked(world, "one", "two", "three")
    made = [await checkpoint(store, session, turns[at]["input_seq"]) for at in (1, 2, 2)]
    first = (await world.call("GET", f"/sessions/{session}/checkpoints", 200, params={"limit": 2})).json()
    assert ([one["id"] for one in first["data"]], first["has_more"]) == (made[:2], True)
    rest = (await world.call("GET", f"/sessions/{session}/checkpoints", 200, params={"limit": 2, "after": first["next"]})).json()
    assert ([one["id"] for one in rest["data"]], rest["has_more"], rest["next"]) == (made[2:], False, None)
    assert [one["in_force"] for one in first["data"] + rest["data"]] == [False, False, True]
    unknown = format_id(CHECKPOINT, new_uuid())
    for wrong in ("chk_x", unknown, session):
        await world.call("GET", f"/sessions/{session}/checkpoints/{wrong}", 404)
    other, _ = await talked(world, "one")
    await world.call("GET", f"/sessions/{other}/checkpoints/{made[0]}", 404)
    assert (await world.call("GET", f"/sessions/{other}/checkpoints", 200)).json()["data"] == []


@pytest.mark.req("S1-15")
async def test_a_model_input_is_made_with_the_checkpoint_that_is_asked_for(world: World, store: Store) -> None:
    session, turns = await talked(world, "one", "two", "three")
    everything = await seqs(world, session)
    older = await checkpoint(store, session, turns[1]["input_seq"])
    newer = await checkpoint(store, session, turns[2]["input_seq"])
    tail = [seq for seq in everything if seq >= turns[2]["input_seq"]]
    assert await seqs(world, session) == await seqs(world, session, checkpoint="latest") == await seqs(world, session, checkpoint=newer) == tail
    assert await seqs(world, session, checkpoint=older) == [seq for seq in everything if seq >= turns[1]["input_seq"]]
    assert await seqs(world, session, checkpoint="none") == everything
    before = await head(world, session) - 1
    assert await seqs(world, session, at_seq=before, checkpoint="latest") == await seqs(world, session, checkpoint=older)
    assert await texts(world, session) == ["one", "Bonjour.", "two", "Bonjour.", "three", "Bonjour."]
    path = f"/sessions/{session}/model-input"
    tags = [(await world.call("GET", path, 200, params=query)).headers["etag"] for query in ({}, {"checkpoint": "none"}, {"checkpoint": older})]
    assert len(set(tags)) == 3
    await world.call("GET", path, 304, params={"checkpoint": "none"}, headers={"If-None-Match": tags[1]})
    what_if = (await world.call("POST", path, 200, params={"checkpoint": "none"}, json={"input": "four"})).json()
    assert len(what_if["body"]["messages"]) == len(everything) + 1
    await world.call("GET", path, 404, params={"checkpoint": "chk_x"})
    await world.call("GET", path, 404, params={"at_seq": before, "checkpoint": newer})


async def test_setting_it_aside_brings_every_message_back(world: World, store: Store) -> None:
    session, turns = await talked(world, "one", "two", "three")
    everything = await seqs(world, session)
    older = await checkpoint(store, session, turns[1]["input_seq"])
    newer = await checkpoint(store, session, turns[2]["input_seq"])
    whole = await choose(world, session, "none", title="whole", metadata={"a": 1})
    assert (whole["checkpoint"], whole["title"], whole["metadata"]) == (None, "whole", {"a": 1})
    assert whole["line"] == [{"from_seq": 1, "through_seq": None}]
    assert await seqs(world, session) == everything
    (entry,) = await world.ledger(session, kinds="checkpoint_selected")
    assert (entry["seq"], entry["body"]) == (whole["head_seq"], {"checkpoint_id": None, "redacted": False})
    assert (await choose(world, session, "none"))["head_seq"] == whole["head_seq"], "what changes nothing writes nothing"
    assert (await choose(world, session, "latest"))["checkpoint"] == newer
    again = await choose(world, session, newer)
    assert (again["checkpoint"], again["head_seq"]) == (newer, whole["head_seq"] + 1)
    assert (await choose(world, session, older))["checkpoint"] == older
    turn = await world.turn(session, "four")
    assert turn["status"] == "completed"
    shown = [entry["seq"] for entry in await world.raw(session)]
    assert await seqs(world, session) == [seq for seq in shown if seq >= turns[1]["input_seq"]]
    assert (await world.call("GET", f"/sessions/{session}/verify", 200)).json()["ok"]


async def test_one_of_another_line_does_not_fit_until_that_line_is_back(world: World, store: Store) -> None:
    session, turns = await talked(world, "one", "two", "three")
    made = await checkpoint(store, session, turns[2]["input_seq"])
    cut = (await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": turns[0]["id"]})).json()
    assert cut["checkpoint"] is None
    refused = await choose(world, session, made, 422, title="t")
    assert (refused["errors"][0]["pointer"], refused["errors"][0]["code"]) == ("/checkpoint", "other-line")
    assert (await choose(world, session, "latest"))["checkpoint"] is None
    await world.call("POST", f"/sessions/{session}/clear", 200)
    await choose(world, session, made, 422)
    now = (await world.call("GET", f"/sessions/{session}", 200)).json()
    assert (now["title"], now["head_seq"]) == (None, cut["head_seq"] + 1)
    await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": turns[2]["id"]})
    assert (await choose(world, session, made))["checkpoint"] == made
    await choose(world, session, format_id(CHECKPOINT, new_uuid()), 404)
    assert (await choose(world, session, "", 422))["errors"][0]["pointer"] == "/checkpoint"


@pytest.mark.req("X-12")
async def test_a_line_that_comes_back_brings_its_checkpoint(world: World, store: Store) -> None:
    session, turns = await talked(world, "one", "two")
    made = await checkpoint(store, session, turns[1]["input_seq"])
    turn = await world.turn(session, "three")
    assert (await world.call("POST", f"/sessions/{session}/clear", 200)).json()["checkpoint"] is None
    assert await seqs(world, session) == []
    back = (await world.call("PUT", f"/sessions/{session}/line", 200, json={"turn": turn["id"]})).json()
    assert back["checkpoint"] == made


async def test_one_whose_content_was_erased_keeps_its_place_and_is_not_chosen(world: World, store: Store, migrate_url: str) -> None:
    session, turns = await talked(world, "one", "two", "three")
    older = await checkpoint(store, session, turns[1]["input_seq"])
    newer = await checkpoint(store, session, turns[2]["input_seq"])
    await choose(world, session, "none")
    place = (await world.call("GET", f"/sessions/{session}/checkpoints/{newer}", 200)).json()
    await tampered(migrate_url, f"UPDATE ledger.entries SET {ERASED} WHERE seq = {place['seq']}")
    found = (await world.call("GET", f"/sessions/{session}/checkpoints/{newer}", 200)).json()
    kept = ("id", "object", "seq", "version", "created_at", "covers_through_seq", "in_force")
    assert set(found) == set(place)
    assert {name: found[name] for name in kept} == {name: place[name] for name in kept}
    assert found["erased"]
    assert {found[name] for name in set(found) - set(kept) - {"erased"}} == {None}
    refused = await choose(world, session, newer, 422)
    assert (refused["errors"][0]["pointer"], refused["errors"][0]["code"]) == ("/checkpoint", "erased")
    assert (await choose(world, session, "latest"))["checkpoint"] == older


async def test_only_an_idle_session_is_given_another(world: World, store: Store) -> None:
    busy = await world.session(script=SLOW)
    turn = await world.turn(busy, expect=202, background=True)
    refused = await choose(world, busy, "none", 409, title="t")
    assert (refused["code"], refused["turn_id"]) == ("session-busy", turn["id"])
    assert (await world.call("PATCH", f"/sessions/{busy}", 200, json={"title": "u"})).json()["title"] == "u"
    await world.call("POST", f"/sessions/{busy}/stop", 200)
    waiting = await world.session(await world.agent(ASKS, tools=TOOLS))
    turn = await world.turn(waiting)
    refused = await choose(world, waiting, "latest", 409)
    assert (refused["code"], refused["turn_id"]) == ("pending-action", turn["id"])
    assert (await world.call("PATCH", f"/sessions/{waiting}", 200, json={"title": "u"})).json()["title"] == "u"
