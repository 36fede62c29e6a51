"""Whatever is done to a session, in whatever order: every law of long sessions holds after every step (requirements S0-30…36, S1-12…15)."""

import asyncio
import os
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from app.config.settings import Settings
from tests.api.conftest import running, talking
from tests.judges.targets import MODELS
from tests.services.long_sessions.changing import SESSIONS_MAX, Changing
from tests.services.long_sessions.laws import Laws
from tests.services.long_sessions.providers import REASONS, Style, Voice, voiced
from tests.services.long_sessions.told import Told
from tests.services.world import World

STEPS = int(os.environ.get("CONTEXT_LEDGER_TEST_STEPS", "500"))
"""`make nightly` takes 10,000."""

NIGHTLY = STEPS > 500
STEPS_PER_SESSION = 50
HAPPENED = {
    "checkpoint",
    "rewound",
    "session_forked",
    "model_switched",
    "state_changed",
    "tool_result",
    "completed",
    "cancelled",
}
HAPPENED |= {"compaction_failed", "checkpoint_selected", "pruned", "cleared", "redaction", "failed"} if STEPS >= 10_000 else set()

DIALECTS = st.sampled_from(sorted(MODELS))
NUMBERS = st.integers(0, 1_000)
SIZES = st.sampled_from([1, 20, 100, 100, 400, 400, 900, 4_500])
ANSWERS = st.sampled_from([1, 20, 100, 400, 900])
KINDS = st.sampled_from(["text", "text", "think", "call", "calls", "error", "cut", "overflow"])
GENTLE = st.sampled_from(["text", "text", "call"])
STYLES: st.SearchStrategy[Style] = st.sampled_from(["facts"] * 8 + ["prose", "injection", *REASONS])


@dataclass
class Place:
    """A running service with the fakes behind it, and the loop that it runs in."""

    runner: asyncio.Runner
    world: World
    voice: Voice
    fakes: dict[str, Any]
    steps: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    """Kinds of entries that came of it all, and the outcomes of turns."""

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        self.runner.run(work)


class Machine(RuleBasedStateMachine):
    """A session and its forks. After each step every law is asked of the session that it was done to; the others stand as they stood."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.doing = Changing(place.world, place.voice, Laws(place.world, place.voice, place.fakes))

    def do(self, told: Told, step: Coroutine[Any, Any, None], sampled: int = 0) -> None:
        self.place.run(self._done(told, step, sampled))
        self.place.steps += 1

    async def _done(self, told: Told, step: Coroutine[Any, Any, None], sampled: int) -> None:
        heads = {one.id: one.head for one in self.doing.sessions if one is not told}
        await step
        await self.doing.laws.all(told, sampled)
        for one in self.doing.sessions:
            if one.id in heads:
                view = await self.doing.laws.get(f"/sessions/{one.id}")
                self.doing.laws.session(one, view)

    def one(self, number: int) -> Told:
        return self.doing.sessions[number % len(self.doing.sessions)]

    @initialize(dialect=DIALECTS)
    def open(self, dialect: str) -> None:
        self.place.run(self.doing.open(dialect))

    @rule(n=NUMBERS, kind=KINDS, size=SIZES, answer=ANSWERS, style=STYLES)
    def turn(self, n: int, kind: str, size: int, answer: int, style: Style) -> None:
        told = self.one(n)
        self.do(told, self.doing.turn(told, kind, size, answer, style), n)

    @rule(n=NUMBERS, size=SIZES, answer=ANSWERS, style=STYLES)
    def talk(self, n: int, size: int, answer: int, style: Style) -> None:
        """Two turns of plain talk, so that sessions grow."""
        told = self.one(n)
        for _ in range(2):
            self.do(told, self.doing.turn(told, "text", min(size, 900), answer, style), n)

    @rule(n=NUMBERS, size=st.sampled_from([1, 20, 200]), flag=st.sampled_from(["hidden", "include_in_context"]))
    def flagged(self, n: int, size: int, flag: str) -> None:
        told = self.one(n)
        flags: dict[str, Any] = {flag: flag == "hidden"}
        self.do(told, self.doing.turn(told, "text", size, 20, "facts", **flags), n)

    @rule(n=NUMBERS, k=NUMBERS, start=st.booleans())
    def edit(self, n: int, k: int, start: bool) -> None:
        told = self.one(n)
        settled = [turn.id for turn in told.turns.values() if turn.settled is not None]
        follows = "start" if start or not settled else settled[k % len(settled)]
        self.do(told, self.doing.turn(told, "text", 50, 50, "facts", follows), n)

    @rule(n=NUMBERS, size=SIZES, kind=GENTLE, style=STYLES, only_one=st.booleans())
    def results(self, n: int, size: int, kind: str, style: Style, only_one: bool) -> None:
        told = next((one for one in self.doing.sessions if one.pending is not None), self.one(n))
        self.do(told, self.doing.results(told, size, kind, style, only_one), n)

    @rule(n=NUMBERS)
    def cancel(self, n: int) -> None:
        told = next((one for one in self.doing.sessions if one.pending is not None), self.one(n))
        self.do(told, self.doing.cancel(told), n)

    @rule(n=NUMBERS)
    def stop(self, n: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.stop(told, 20), n)

    @rule(n=NUMBERS, style=STYLES, keep=st.sampled_from([None, 1, 100, 1_000, 10_000]))
    def compact(self, n: int, style: Style, keep: int | None) -> None:
        told = self.one(n)
        self.do(told, self.doing.compact(told, style, keep), n)

    @rule(n=NUMBERS, rarely=st.integers(0, 3))
    def clear(self, n: int, rarely: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.turn(told, "call", 20, 20, "facts") if rarely else self.doing.clear(told), n)

    @precondition(lambda self: len(self.doing.sessions) < SESSIONS_MAX)
    @rule(n=NUMBERS, back=st.one_of(st.none(), st.integers(0, 40)))
    def fork(self, n: int, back: int | None) -> None:
        told = self.one(n)
        self.do(told, self.doing.fork(told, back), n)

    @rule(n=NUMBERS, dialect=DIALECTS, number=st.integers(0, 4))
    def switch(self, n: int, dialect: str, number: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.switch(told, dialect, number), n)

    @rule(n=NUMBERS, value=st.integers(0, 3))
    def note(self, n: int, value: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.note(told, value), n)

    @rule(n=NUMBERS, size=st.sampled_from([1, 100, 400]), answered=st.booleans())
    def append(self, n: int, size: int, answered: bool) -> None:
        told = self.one(n)
        self.do(told, self.doing.append(told, size, answered), n)

    @rule(n=NUMBERS, k=NUMBERS)
    def select(self, n: int, k: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.select(told, k), n)

    @rule(n=NUMBERS, k=NUMBERS)
    def rewind(self, n: int, k: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.rewind(told, k), n)

    @rule(n=NUMBERS, back=st.integers(0, 60), k=NUMBERS)
    def travel(self, n: int, back: int, k: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.travel(told, back, k), n)

    @rule(n=NUMBERS, k=NUMBERS, kind=KINDS, size=st.sampled_from([1, 100, 400]), style=STYLES, sibling=st.booleans())
    def again(self, n: int, k: int, kind: str, size: int, style: Style, sibling: bool) -> None:
        told = self.one(n)
        self.do(told, self.doing.again(told, k, kind, size, style, sibling), n)

    @rule(n=NUMBERS, k=NUMBERS, rarely=st.integers(0, 2))
    def redact(self, n: int, k: int, rarely: int) -> None:
        told = self.one(n)
        self.do(told, self.doing.turn(told, "text", 200, 200, "facts") if rarely else self.doing.redact(told, k), n)

    def teardown(self) -> None:
        for told in self.doing.sessions:
            self.place.run(self.doing.laws.ledger(told))
            own = [entry for seq, entry in told.entries.items() if seq > told.at_seq]
            self.place.seen.update(entry["kind"] for entry in own)
            self.place.seen.update(turn.status for turn in told.turns.values() if turn.first > told.at_seq)


@pytest.fixture
def place(settings: Settings) -> Iterator[Place]:
    voice = Voice()
    with asyncio.Runner() as runner:

        async def begin() -> tuple[AsyncExitStack, World, dict[str, Any]]:
            stack = AsyncExitStack()
            configured, fakes = await stack.enter_async_context(voiced(settings, voice))
            app = await stack.enter_async_context(running(configured))
            return stack, World(await stack.enter_async_context(talking(app))), fakes

        stack, world, fakes = runner.run(begin())
        try:
            yield Place(runner, world, voice, fakes)
        finally:
            runner.run(stack.aclose())


@pytest.mark.timeout(24 * 3600 if NIGHTLY else 300)
@pytest.mark.req(
    "S0-30", "S0-31", "S0-34", "S0-35", "S0-36", "S1-12", "S1-13", "S1-14", "S1-15", "S1-27", "S1-28", "S2-04", "X-11", "X-12", "X-13", "X-45"
)
def test_every_law_holds_after_every_step(place: Place) -> None:
    rounds = settings(
        max_examples=max(1, STEPS // STEPS_PER_SESSION),
        stateful_step_count=STEPS_PER_SESSION,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=tuple(Phase) if NIGHTLY else (Phase.generate,),  # to make a failing run shorter takes minutes
    )
    run_state_machine_as_test(cast(Any, lambda: Machine(place)), settings=rounds)
    assert place.steps >= STEPS // 2
    assert set(place.seen) >= HAPPENED, (HAPPENED - set(place.seen), place.seen)
