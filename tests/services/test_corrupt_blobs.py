"""Bytes that are not what their digest says: nothing is sent, and the turn says why."""

import threading

import asyncpg
import pytest

from app.entries.ids import blob_digest
from tests.services.world import World

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


async def spoil(migrate_url: str, statement: str) -> None:
    """What only a superuser can do, past every lock."""
    owner = await asyncpg.connect(migrate_url)
    try:
        checks = await owner.fetch("SELECT conname FROM pg_constraint WHERE conrelid = 'ledger.blobs'::regclass AND contype = 'c'")
        for row in checks:
            await owner.execute(f'ALTER TABLE ledger.blobs DROP CONSTRAINT "{row[0]}"')
        await owner.execute("ALTER TABLE ledger.blobs DISABLE TRIGGER USER")
        await owner.execute(statement)
    finally:
        await owner.close()


@pytest.mark.req("X-18")
@pytest.mark.parametrize(
    ("statement", "code"),
    [("UPDATE ledger.blobs SET body = 'other'", "blob-corrupt"), ("UPDATE ledger.blobs SET body = NULL, erased_at = now()", "blob-missing")],
)
async def test_a_corrupt_artifact_fails_the_turn_before_any_call_leaves(world: World, migrate_url: str, statement: str, code: str) -> None:
    session = await world.session(await world.agent())
    stored = await world.call("POST", f"/sessions/{session}/blobs", 201, content=PNG, headers={"content-type": "image/png"})
    seen = [{"type": "image", "blob": stored.json()["digest"]}]
    assert (await world.turn(session, seen))["status"] == "completed"
    await spoil(migrate_url, statement)
    assert [violation["code"] for violation in (await world.input(session))["violations"]] == [code]
    turn = await world.turn(session, "and now?")
    assert (turn["status"], turn["error"]["code"]) == ("failed", "upstream-error")
    assert code in turn["error"]["detail"]
    (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200, params={"turn": turn["id"]})).json()["data"]
    assert (call["status"], call["attempts"]) == ("refused", [])


@pytest.mark.req("X-18")
async def test_a_text_that_is_not_stored_any_more_fails_the_turn_before_any_call_leaves(world: World, migrate_url: str) -> None:
    session = await world.session(await world.agent())
    assert (await world.turn(session, "x" * 60_000))["status"] == "completed"
    await spoil(migrate_url, "UPDATE ledger.blobs SET body = NULL, erased_at = now()")
    assert (await world.call("GET", f"/sessions/{session}/model-input", 409)).json()["code"] == "invalid-origins"
    turn = await world.turn(session, "and now?")
    assert (turn["status"], turn["error"]["code"], turn["calls"]) == ("failed", "upstream-error", [])
    assert "not stored" in turn["error"]["detail"]


@pytest.mark.parametrize(("length", "aside"), [(1_000, False), (1_000_000, True)])
@pytest.mark.parametrize("where", ["stored_contents", "inputs"])  # the bytes themselves, and the body that they are written into
async def test_many_bytes_are_held_against_their_digest_beside_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch, length: int, aside: bool, where: str
) -> None:
    beside: list[bool] = []

    def checked(content: bytes) -> str:
        beside.append(threading.current_thread() is not threading.main_thread())
        return blob_digest(content)

    monkeypatch.setattr(f"app.services.{where}.blob_digest", checked)
    session = await world.session(await world.agent())
    stored = await world.call("POST", f"/sessions/{session}/blobs", 201, content=PNG + bytes(length), headers={"content-type": "image/png"})
    assert (await world.turn(session, [{"type": "image", "blob": stored.json()["digest"]}]))["status"] == "completed"
    assert set(beside) == {aside}
