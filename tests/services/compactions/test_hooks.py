"""Code of other packages beside a compaction: a veto before anything is written, word of what came of it, and nothing lost where it fails."""

import logging
import time
from dataclasses import fields
from typing import Any

import pytest

from app.config.settings import Settings
from app.services.compactions import hooks
from app.services.compactions.hooks import CompactionFacts, CompactionOutcome, Hooks, installed_hooks
from tests.api.conftest import running, talking
from tests.services.compactions.long_sessions import SHORT, compact, kinds, long_session
from tests.services.world import World

SECRET = "the words of a hook"


class Recording:
    def __init__(self, answer: Any = True) -> None:
        self.answer = answer
        self.asked: list[CompactionFacts] = []
        self.told: list[CompactionOutcome] = []

    def may_compact(self, facts: CompactionFacts) -> bool:
        self.asked.append(facts)
        return bool(self.answer)

    def compacted(self, outcome: CompactionOutcome) -> None:
        self.told.append(outcome)


class Failing:
    def may_compact(self, facts: CompactionFacts) -> bool:
        raise RuntimeError(SECRET)

    def compacted(self, outcome: CompactionOutcome) -> None:
        raise RuntimeError(SECRET)


class Slow(Recording):
    def may_compact(self, facts: CompactionFacts) -> bool:
        time.sleep(0.5)
        return False


def bring(monkeypatch: pytest.MonkeyPatch, *brought: object) -> None:
    """Installs packages that bring these."""

    class Entry:
        def __init__(self, name: str, value: object) -> None:
            self.name, self._value = name, value

        def load(self) -> object:
            return self._value

    def entry_points(group: str) -> list[Entry]:
        assert group == "context_ledger.compaction_hooks"
        return [Entry(str(number), value) for number, value in enumerate(brought)]

    monkeypatch.setattr(hooks, "entry_points", entry_points)


@pytest.mark.req("X-61")
async def test_a_veto_keeps_everything_as_it_is_and_consent_hears_the_outcome(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = Recording(False)
    bring(monkeypatch, hook)
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        session = await long_session(world, [SHORT])
        before = await world.ledger(session)
        found = await compact(world, session)
        assert (found["outcome"], found["checkpoint_id"]) == ("failed", None)
        assert await world.ledger(session) == before
        hook.answer = True
        found = await compact(world, session)
        assert found["outcome"] == "compacted"
        (told,) = hook.told
        assert (told.outcome, told.checkpoint_id, told.tokens_after) == ("compacted", found["checkpoint_id"], found["tokens_after"])
        assert told.facts == hook.asked[1]
        assert (told.facts.session_id, told.facts.covers_through_seq) == (session, found["covers_through_seq"])
        assert "question" not in repr(told)
        assert {field.name for field in fields(told.facts)} == {
            "session_id", "trigger", "driver", "covers_through_seq", "first_kept_seq", "turns", "tokens_before", "input_limit",
        }  # fmt: skip


@pytest.mark.req("X-61")
async def test_a_veto_in_a_turn_sends_what_fits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, Recording(False))
    async with running(settings) as app, talking(app) as client:
        world = World(client)
        session = await long_session(world, [SHORT], trigger_fraction=0.05)
        assert (await world.turn(session, "more"))["status"] == "completed"
        assert "compaction_requested" not in await kinds(world, session)


@pytest.mark.req("X-61")
async def test_a_hook_that_fails_counts_as_consent_and_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    facts = CompactionFacts("ses_1", "manual", "model", 3, 4, 1, 9_000, 10_000)
    with caplog.at_level(logging.WARNING):
        asked = Hooks([Failing(), Recording()])
        assert await asked.consent(facts)
        await asked.tell(CompactionOutcome(facts, "compacted", "chk_1", 100))
    assert "Failing failed (RuntimeError)" in caplog.text
    assert SECRET not in caplog.text
    assert not await Hooks([Failing(), Recording(False)]).consent(facts)


async def test_a_hook_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "HOOK_SECONDS_MAX", 0.05)
    assert await Hooks([Slow()]).consent(CompactionFacts("ses_1", "manual", "model", 3, 4, 1, 9_000, 10_000))


def test_what_is_no_hook_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Recording()
    bring(monkeypatch, good)
    assert installed_hooks() == (good,)
    bring(monkeypatch, object())
    with pytest.raises(ValueError, match="may_compact"):
        installed_hooks()
