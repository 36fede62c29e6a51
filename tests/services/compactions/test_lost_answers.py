"""Compactions by hand beside others that write, and over a database whose answers get lost: what is told is what stands in the ledger."""

from typing import Any, cast

import pytest

from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.storage.types import Append, Appended
from tests.services.compactions.long_sessions import SHORT, compact, kinds, long_session, whole
from tests.services.turns.faulty import Real, around_appends, inside
from tests.services.turns.faulty import kinds as kinds_of


@pytest.mark.req("S3-34", "X-50")
@pytest.mark.parametrize(("end", "summary"), [("checkpoint", SHORT), ("compaction_failed", {"text": " "})], ids=["accepted", "refused"])
async def test_an_end_that_was_appended_unheard_is_told_as_it_stands(settings: Settings, end: str, summary: dict[str, Any]) -> None:
    async with inside(settings) as here:
        world, lost = here.world, list[str]()
        session = await long_session(world, [summary])

        async def unheard(append: Append, real: Real) -> Appended:
            done = await real()
            if end in kinds_of(append) and not lost:
                lost.append(end)
                raise Unavailable("unheard")
            return done

        around_appends(here.store.ledger, unheard)
        found = await compact(world, session)
        assert found["outcome"] == ("compacted" if end == "checkpoint" else "failed")
        assert (lost, (await kinds(world, session))[-2:]) == ([end], ["compaction_requested", end])
        if end == "checkpoint":
            assert (await world.ledger(session))[-1]["body"]["checkpoint_id"] == found["checkpoint_id"]
        assert (await world.call("GET", f"/sessions/{session}", 200)).json()["status"] == "idle"
        await whole(world, session)


@pytest.mark.req("X-50")
async def test_what_is_compacted_is_the_head_that_was_expected(settings: Settings) -> None:
    """Somebody writes between the look at the session's row and the one at its window."""
    async with inside(settings) as here:
        world = here.world
        session = await long_session(world)
        views = cast(Any, here.desk.views)
        look = views.session

        async def late(tenant: Any, session_id: str) -> Any:
            row = await look(tenant, session_id)
            views.session = look
            await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"seen": 1}})
            return row

        head = (await world.call("GET", f"/sessions/{session}", 200)).json()["head_seq"]
        views.session = late
        assert (await compact(world, session, 412, expected_head=head))["code"] == "head-mismatch"
        assert "compaction_requested" not in await kinds(world, session)
        assert (await compact(world, session, expected_head=head + 1))["outcome"] == "compacted"
