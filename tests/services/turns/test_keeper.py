"""What runs beside all turns: bounded statements, and a start after a failure."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from app.config.settings import Settings
from app.services import streams
from app.services.turns import keeper
from app.storage.types import IdempotencyWrite
from tests.services.turns.faulty import inside
from tests.services.world import said

SLOW = {"text": "some words " * 20, "chunk_chars": 11, "delay_ms": 30}


async def test_claims_and_events_go_in_bounded_statements(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "CLAIMS_PER_RENEWAL_MAX", 2)
    monkeypatch.setattr(streams, "FLUSH_ROWS_MAX", 2)
    async with inside(settings) as here:
        world, claims, deltas = here.world, here.store.claims, here.store.deltas
        renew, put, sizes = claims.renew, deltas.put, []

        async def renewed(holder: Any, held: Any, seconds: float) -> Any:
            sizes.append(len(held))
            return await renew(holder, held, seconds)

        async def written(rows: Any) -> Any:
            sizes.append(len(rows))
            return await put(rows)

        monkeypatch.setattr(claims, "renew", renewed)
        monkeypatch.setattr(deltas, "put", written)
        agent = await world.agent([SLOW])
        sessions = [await world.session(agent) for _ in range(5)]
        turns = [await world.turn(session, expect=202, background=True) for session in sessions]
        await here.keeper.renew()
        assert sizes.count(2) >= 2
        assert sum(sizes) >= 5
        for session, turn in zip(sessions, turns, strict=True):
            await world.until(session, turn["id"], "completed")
            assert said(await world.events(session, turn["id"])) == SLOW["text"]
        assert max(sizes) <= 2


async def test_a_purge_leaves_nothing_that_is_old_however_much_it_is(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "PURGE_ROWS_MAX", 1)
    async with inside(replace(settings, delta_retention_seconds=0, idempotency_seconds=0)) as here:
        world, tenant = here.world, UUID(int=0)
        session = await world.session(await world.agent([{"text": "one"}, {"text": "two"}]))
        for _ in range(2):
            await world.turn(session)
        for key in ("a", "b", "c"):
            await here.store.idempotency.remember(tenant, IdempotencyWrite("r", key, bytes(32), 200))
        await here.keeper.purge()
        assert await here.store.deltas.purge(0, 9) == 0
        assert [await here.store.idempotency.find(tenant, "r", key, bytes(32)) for key in ("a", "b", "c")] == [None] * 3
