"""Inputs derived again: what differs is named, and an entity tag is the same everywhere."""

import os
import subprocess
import sys
from dataclasses import replace

import asyncpg
import pytest

from app.config.secret import Secret
from app.config.settings import Settings
from app.config.upstreams import ModelLimits
from app.context import compile as compiling
from tests.api.conftest import running, talking
from tests.services.world import World

TAG = """
from types import SimpleNamespace
from app.services.explain import InputQuery, etag_of
row = SimpleNamespace(head_seq=3, agent="a", agent_revision=1, model=None, running_turn=None, pending_turn=None)
print(etag_of(row, InputQuery(), "x"))
"""


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=Secret(database_url), log_level="warning", pool_size=5, drain_seconds=0.5)


def test_an_entity_tag_does_not_depend_on_the_process() -> None:
    tags = {
        subprocess.run([sys.executable, "-c", TAG], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2", "3")
    }
    assert len(tags) == 1
    assert tags.pop().startswith(b"3-")


@pytest.mark.req("S3-39", "X-40")
async def test_what_a_call_was_made_of_and_what_differs_are_named(settings: Settings, migrate_url: str) -> None:
    scripted = settings.upstreams["scripted"]
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        agent = await world.agent([{"text": "One."}, {"text": "Two."}], context=[{"renderer": "system", "text": "Say so."}, {"renderer": "history"}])
        session = await world.session(agent)
        await world.turn(session, "the first words")
        turn = await world.turn(session, "the second words")
        path = f"/sessions/{session}/calls/{turn['calls'][0]}/model-input"
        assert (await world.call("GET", path, 200)).json()["verified"] is True
        tag = (await world.call("GET", f"/sessions/{session}/model-input", 200)).headers["etag"]
        owner = await asyncpg.connect(migrate_url)
        try:
            await owner.execute("SET session_replication_role = replica")
            await owner.execute("UPDATE ledger.entries SET payload = replace(payload::text, 'first', 'other')::json WHERE seq = 2")
        finally:
            await owner.close()
        seen = (await world.call("GET", path, 200)).json()
        assert (seen["verified"], seen["mismatch"]) == (False, {"source": "entries", "seq": 2})
    counted = replace(scripted, models={"scripted": ModelLimits(9_000, 100, "cl100k_base")})
    other = replace(settings, upstreams={**settings.upstreams, "scripted": counted})
    async with running(other) as app, talking(app) as client:
        world = World(client)
        seen = (await world.call("GET", path, 200)).json()
        assert (seen["verified"], seen["mismatch"]) == (False, {"source": "target"})
        assert (await world.call("GET", f"/sessions/{session}/model-input", 200)).headers["etag"] != tag


@pytest.mark.req("S3-40")
async def test_another_compiler_verifies_nothing_and_another_document_is_named(settings: Settings, migrate_url: str) -> None:
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        session = await world.session(await world.agent(context=[{"renderer": "system", "text": "Say so."}, {"renderer": "history"}]))
        turn = await world.turn(session)
        path = f"/sessions/{session}/calls/{turn['calls'][0]}/model-input"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiling, "COMPILER_VERSION", "another")
            seen = (await world.call("GET", path, 200)).json()
        assert (seen["verified"], seen["reason"]) == ("unverifiable", "compiler_version")
        assert "mismatch" not in seen
    owner = await asyncpg.connect(migrate_url)
    try:
        await owner.execute("SET session_replication_role = replica")
        await owner.execute("UPDATE ledger.agent_revisions SET document = replace(document::text, 'Say so.', 'Say no.')::json")
    finally:
        await owner.close()
    async with running(settings) as app, talking(app) as client:
        seen = (await World(client).call("GET", path, 200)).json()
        assert (seen["verified"], seen["mismatch"]) == (False, {"source": "agent"})
