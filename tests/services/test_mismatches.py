"""A call whose sources are not what they were: which source it is, and which entry, whatever was changed behind the service's back."""

from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from app.services import mismatches
from tests.services.world import World

ERASED = "payload = NULL, salt = NULL, attributes = NULL, erased_at = now()"
OTHER_DIGEST = "UPDATE ledger.calls SET record = replace(record::text, record ->> 'digest', 'sha256:' || repeat('0', 64))::json"
OTHER_PREFIX = "UPDATE ledger.calls SET record = replace(record::text, record ->> 'prefix_digest', 'sha256:' || repeat('0', 64))::json"
OTHER_COUNT = "UPDATE ledger.calls SET record = regexp_replace(record::text, '\"message_count\": ?[0-9]+', '\"message_count\": 99')::json"


@dataclass(frozen=True, slots=True)
class Made:
    """A session with a state and a model of its own, the seqs of its entries by kind (the last of each), and the path of its last call."""

    session: str
    seqs: dict[str, int]
    path: str


async def made(world: World) -> Made:
    session = await world.session(script=[{"text": "One."}, {"text": "Two."}])
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"ward": "north"}})
    await world.call("PATCH", f"/sessions/{session}", 200, json={"model": {"upstream": "scripted", "name": "gpt-4.1"}})
    await world.turn(session, "the first words")
    turn = await world.turn(session, "the second words")
    seqs = {entry["kind"]: entry["seq"] for entry in await world.ledger(session)}
    return Made(session, seqs, f"/sessions/{session}/calls/{turn['calls'][0]}/model-input")


async def tampered(migrate_url: str, *statements: str) -> None:
    """As a superuser who turns the triggers off."""
    owner = await asyncpg.connect(migrate_url)
    try:
        await owner.execute("SET session_replication_role = replica")
        for statement in statements:
            assert (await owner.execute(statement)).split()[-1] != "0", statement
    finally:
        await owner.close()


def payload(seq: int, before: str, after: str) -> str:
    return f"UPDATE ledger.entries SET payload = replace(payload::text, '{before}', '{after}')::json WHERE seq = {seq}"


@pytest.mark.req("S3-40")
@pytest.mark.parametrize("what", ["text", "form", "state", "model", "entries", "prefix", "body", "nothing"])
async def test_what_differs_is_named_by_its_source_and_its_entry(world: World, migrate_url: str, what: str) -> None:
    found = await made(world)
    seq = found.seqs[{"state": "state_changed", "model": "model_switched"}.get(what, "user_message")]
    cases: dict[str, tuple[list[str], dict[str, Any] | None]] = {
        "text": ([payload(seq, "second", "secund")], {"source": "entries", "seq": seq}),
        "form": ([payload(seq, '"parts"', '"partz"')], {"source": "entries", "seq": seq}),
        "state": ([payload(seq, "north", "south"), OTHER_DIGEST, OTHER_PREFIX], {"source": "state", "seq": seq}),
        "model": ([payload(seq, '"gpt-4.1"', '"gpt-4.2"')], {"source": "target", "seq": seq}),
        "entries": ([OTHER_DIGEST, OTHER_COUNT], {"source": "entries"}),
        "prefix": ([OTHER_DIGEST, OTHER_PREFIX], {"source": "prefix"}),
        "body": ([OTHER_DIGEST], {"source": "body"}),
        "nothing": ([], None),
    }
    statements, mismatch = cases[what]
    await tampered(migrate_url, *statements)
    seen = (await world.call("GET", found.path, 200)).json()
    assert (seen["verified"], seen.get("mismatch")) == (mismatch is None, mismatch)
    assert {"object", "session_id", "head_seq", "dialect", "model", "digest", "target_digest", "message_count"} <= set(seen)
    broken = [problem["seq"] for problem in (await world.call("GET", f"/sessions/{found.session}/verify", 200)).json()["problems"]]
    assert broken == ([seq] if mismatch is not None and "seq" in mismatch else [])


@pytest.mark.req("S3-40")
async def test_a_skill_that_was_loaded_is_named_though_another_was_loaded_since(world: World, migrate_url: str) -> None:
    skills = [{"name": name, "description": "d", "text": f"How to {name}."} for name in ("weigh", "count")]
    session = await world.session(await world.agent(skills=skills))
    await world.turn(session, skills=["weigh"])
    turn = await world.turn(session, skills=["count"])
    path = f"/sessions/{session}/calls/{turn['calls'][0]}/model-input"
    assert (await world.call("GET", path, 200)).json()["verified"] is True
    seq = min(entry["seq"] for entry in await world.ledger(session, kinds="skill_loaded"))
    await tampered(migrate_url, payload(seq, "How to", "Who to"))
    seen = (await world.call("GET", path, 200)).json()
    assert (seen["verified"], seen["mismatch"]) == (False, {"source": "skills", "seq": seq})


@pytest.mark.req("S3-39")
async def test_what_was_erased_can_not_be_verified_and_is_said_so(world: World, migrate_url: str) -> None:
    found = await made(world)
    seq = found.seqs["user_message"]
    await tampered(migrate_url, f"UPDATE ledger.entries SET {ERASED} WHERE seq = {seq}")
    seen = (await world.call("GET", found.path, 200)).json()
    assert (seen["verified"], seen["reason"]) == ("unverifiable", "erased")
    assert "mismatch" not in seen
    (row,) = [row for row in seen["manifest"]["decisions"] if row["source"] == {"kind": "entry", "seq": seq}]
    assert (row["disposition"], row["reason"]) == ("excluded", "redacted")
    told = (await world.call("GET", f"/sessions/{found.session}/explain", 200, params={"seq": seq})).json()
    assert (told["reason"], told["kind"]) == ("redacted", "user_message")


@pytest.mark.req("S3-39")
@pytest.mark.parametrize("kind", ["state_changed", "skill_loaded"])
async def test_an_erased_source_that_is_no_message_is_no_mismatch(world: World, migrate_url: str, kind: str) -> None:
    schema = {"session": {"type": "object", "properties": {"ward": {"type": "string"}}}}
    context = [{"renderer": "system", "template": "Ward: {{ state.ward }}."}, {"renderer": "history"}]
    agent = await world.agent(context=context, state_schema=schema, skills=[{"name": "weigh", "text": "How to weigh."}])
    session = await world.session(agent, state={"session": {"ward": "north"}})
    turn = await world.turn(session, skills=["weigh"])
    (entry,) = await world.ledger(session, kinds=kind)
    await tampered(migrate_url, f"UPDATE ledger.entries SET {ERASED} WHERE seq = {entry['seq']}")
    seen = (await world.call("GET", f"/sessions/{session}/calls/{turn['calls'][0]}/model-input", 200)).json()
    assert (seen["verified"], seen.get("reason")) == ("unverifiable", "erased")
    told = (await world.call("GET", f"/sessions/{session}/explain", 200, params={"seq": entry["seq"], "call": turn["calls"][0]})).json()
    assert (told["disposition"], told["pointers"]) == ("excluded", [])


@pytest.mark.req("T-11", "S3-40")
async def test_what_stands_beside_an_input_that_is_not_stored_is_verified_all_the_same(world: World, migrate_url: str) -> None:
    session = await world.session()
    await world.turn(session, "stored")
    turn = await world.turn(session, "never stored", persist=False)
    path = f"/sessions/{session}/calls/{turn['calls'][0]}/model-input"
    assert (await world.call("GET", path, 200)).json()["reason"] == "ephemeral"
    seq = (await world.raw(session))[0]["seq"]
    await tampered(migrate_url, payload(seq, "stored", "storeb"))
    seen = (await world.call("GET", path, 200)).json()
    assert (seen["verified"], seen["mismatch"]) == (False, {"source": "entries", "seq": seq})


@pytest.mark.req("S3-39", "S3-01")
async def test_a_derivation_asks_nobody_and_walks_no_chain(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole ledger is not walked for a call that verifies: the chain is asked only where an input differs."""
    found = await made(world)

    async def walked(*_: Any) -> list[int]:
        raise AssertionError("the chain was walked")

    monkeypatch.setattr(mismatches.Mismatches, "broken", walked)
    assert (await world.call("GET", found.path, 200)).json()["verified"] is True
