"""Laws of a turn over 20,000 random lives, and over whatever hypothesis finds: always settled, nothing twice, everything answered."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.limits import COMPACTION_PIECES_MAX
from app.entries.compactions import Checkpoint, CompactionFailed, CompactionRequested
from app.entries.messages import Status
from app.entries.parts import ToolCall
from app.entries.trace import Interruption, ModelCallFinished, ModelCallStarted, TurnSettled
from app.turn.decide import next_move
from app.turn.moves import Done
from app.turn.reading import read_life
from tests.turn.lives import ALLOWED, POLICY, TOOLS
from tests.turn.world import World

SHARDS = 8
LIVES = 20_000


def bodies(world, body):
    return [body.decode(entry.payload) for entry in world.ledger.entries if entry.kind == body.kind]


def check(world: World) -> None:
    """What holds of every life that has ended."""
    entries = world.ledger.entries
    settled = bodies(world, TurnSettled)
    assert len(settled) == 1, "a turn settles once"
    last = max(entry.seq for entry in entries if entry.kind not in ("stop_requested", "interruption"))
    assert entries[last - 1].kind == "turn_settled", "and nothing of it comes afterwards"

    calls = {part.tool_call_id: (part, answer) for answer in world.answers() for part in answer.parts if isinstance(part, ToolCall)}
    results = Counter(result.tool_call_id for result in world.results())
    assert results == Counter(dict.fromkeys(calls, 1)), "each call has exactly one result"

    for tool_call_id, runs in world.tool_runs.items():
        policy = TOOLS[calls[tool_call_id][0].name]
        assert policy.executor != "client"
        assert runs <= (policy.starts_max if policy.repeatable else 1), "no tool twice"
    for tool_call_id in (*world.tool_runs, *world.handed_out):
        call, answer = calls[tool_call_id]
        assert TOOLS[call.name].declared, "what is not admitted reaches nobody"
        assert call.name in ALLOWED, "what is not admitted reaches nobody"
        assert answer.status is Status.COMPLETED, "an unfinished answer is not acted on"
        assert answer.stop_reason in ("finished", "tool_calls"), "a truncated answer is not acted on"
        assert call.name != "sign" or tool_call_id in world.approved, "what needs an approval runs with one"
    assert not world.denied & set(world.tool_runs), "what was denied never runs"

    steps = [call.step_index for call in bodies(world, ModelCallStarted)]
    assert steps == list(range(len(steps))), "steps are numbered without a gap"
    assert world.provider_calls <= len(steps) <= world.policy.max_steps, "provider calls are bounded"
    refused = {end.call_id for end in bodies(world, ModelCallFinished) if end.error is not None and end.error.code == "upstream-overflow"}
    refused -= {answer.call_id for answer in world.answers()}
    begun = bodies(world, ModelCallStarted)
    exposures = [call.exposure for call in begun if call.call_id not in refused]
    assert exposures.count("plan_repair") <= 1, "a plan is repaired once"
    assert exposures.count("execution_only") <= 1, "and the turn recovers once"
    check_compactions(world, [call for call in begun if call.call_id in refused])
    if settled[0].status in ("cancelled", "interrupted"):
        assert bodies(world, Interruption), "who cut the turn short is on record"
    assert (settled[0].error is None) == (settled[0].status in ("completed", "cancelled"))


def check_compactions(world: World, refused: list[ModelCallStarted]) -> None:
    """Each summary that was asked for has one end; how often one is asked for is bounded; the same step overflows twice at most."""
    asked = {entry.seq: CompactionRequested.decode(entry.payload or "") for entry in world.ledger.entries if entry.kind == "compaction_requested"}
    ends = [end.requested_seq for body in (Checkpoint, CompactionFailed) for end in bodies(world, body)]
    assert Counter(ends) == Counter(dict.fromkeys(asked, 1)), "each compaction has exactly one end"
    assert world.summaries <= len(asked)
    accepted = {end.requested_seq for end in bodies(world, Checkpoint)}
    attempts = Counter((one.step_index, one.trigger) for seq, one in asked.items() if not (one.piece and seq in accepted))
    for (_, trigger), times in attempts.items():
        assert times <= (1 if trigger == "overflow" else 2), "attempts are bounded"
    assert max(Counter((one.step_index, one.trigger) for one in asked.values()).values(), default=0) <= COMPACTION_PIECES_MAX
    for one in asked.values():
        assert one.trigger != "overflow" or one.step_index in {call.step_index for call in refused}
    steps = {call.step_index for call in refused}
    assert not any(step + 1 in steps and step + 2 in steps for step in steps), "a call is made once more, and not again"


@pytest.mark.req("S3-30", "T-10", "T-23", "T-27", "X-74", "X-78", "X-79", "X-92")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_twenty_thousand_lives(shard):
    ends: Counter[str] = Counter()
    made: Counter[str] = Counter()
    repeats = crashes = 0
    for number in range(shard, LIVES, SHARDS):
        world = World(random.Random(number).randrange)
        world.live()
        check(world)
        ends[bodies(world, TurnSettled)[0].status] += 1
        repeats += sum(runs > 1 for runs in world.tool_runs.values())
        crashes += world.crashes
        made += Counter(one.trigger for one in bodies(world, CompactionRequested))
    assert repeats > 5
    assert min(made["overflow"], made["automatic"]) > LIVES // SHARDS // 100
    assert crashes > LIVES // SHARDS // 2
    assert set(ends) == {"completed", "failed", "cancelled", "interrupted"}, "the lives are no mere formality"
    assert min(ends.values()) > LIVES // SHARDS // 100


@pytest.mark.req("S3-30", "X-74", "X-78", "X-79")
@settings(max_examples=1_000, deadline=None)
@given(st.binary(max_size=120))
def test_any_life(choices):
    numbers = iter(choices)
    world = World(lambda n: next(numbers, 0) % n)
    world.live()
    check(world)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_every_prefix_of_a_life_has_one_next_move_and_only_the_whole_is_done(seed):
    world = World(random.Random(seed).randrange)
    world.live()
    end = next(entry.seq for entry in world.ledger.entries if entry.kind == "turn_settled")
    for length in range(len(world.ledger.entries) + 1):
        entries = world.ledger.entries[:length]
        move = next_move(read_life(entries, world.policy))
        assert isinstance(move, Done) == (length >= end)
        assert move == next_move(read_life(entries, world.policy))


@pytest.mark.req("S3-30")
def test_a_model_that_never_stops_calling_is_called_a_bounded_number_of_times():
    class Greedy(World):
        def disturb(self) -> None:
            pass

        def parts(self, calls_max: int):
            self.tools_made += 1
            return [ToolCall(f"t{self.tools_made}", "look", "{}")]

    world = Greedy(lambda n: {17: 15, 8: 1}.get(n, 0))
    world.live()
    assert world.provider_calls == POLICY.max_steps
    assert bodies(world, TurnSettled)[0].error.code == "max-steps"
