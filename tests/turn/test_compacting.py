"""Compactions in the life of a turn: pressure before a step, a call that was too large, a summary whose end nobody saw."""

from dataclasses import replace

import pytest

from app.config.limits import COMPACTION_PIECES_MAX
from app.entries.compactions import CompactionFailed
from app.entries.messages import Message
from app.entries.parts import Text
from app.entries.trace import StopRequested, ToolStarted, TurnError
from app.turn.decide import next_move
from app.turn.moves import Call, Compact, GiveUp, Settle
from app.turn.policy import AgentPolicy, Policy
from app.turn.pressure import next_attempt
from app.turn.reading import read_life
from tests.turn.lives import NURSE, POLICY, TOOLS, Ledger, answer, answered, checkpoint, finished, requested, result, started, tool

TOO_LONG = TurnError("upstream-overflow", "The provider found the request too long.", 400)


def life(ledger, **more):
    return read_life(ledger.entries, POLICY, input_seq=1, **more)


def move(ledger, **more):
    return next_move(life(ledger, **more))


def attempt(ledger, step, *, fits, run=0):
    return next_attempt(life(ledger), Call(step, "input_received", None, run), fits=fits)


def begun():
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)))
    return ledger


def overflowed():
    ledger = begun()
    ledger.append(started(0), finished(0, "failed", None, TOO_LONG))
    return ledger


@pytest.mark.req("X-60")
def test_a_call_that_was_too_large_is_made_once_more_behind_a_checkpoint():
    ledger = overflowed()
    assert move(ledger) == Compact(0)
    ledger.append(requested(0, "overflow"))
    ledger.append(checkpoint(len(ledger.entries), "overflow"))
    assert move(ledger) == Call(1, "input_received", None)
    ledger.append(started(1), finished(1, "failed", None, TOO_LONG))
    assert move(ledger) == Settle("failed", TOO_LONG)


def pieces(ledger, number, trigger="automatic"):
    """So many pieces, each accepted."""
    for _ in range(number):
        ledger.append(requested(0, trigger, piece=True))
        ledger.append(checkpoint(len(ledger.entries), trigger))
    return ledger


@pytest.mark.req("X-60")
def test_a_call_that_was_too_large_waits_for_every_piece():
    ledger = pieces(overflowed(), 3, "overflow")
    assert move(ledger) == Compact(0)
    assert move(ledger, compactable=False) == Call(1, "input_received", None), "what can be summarised is"
    assert move(pieces(overflowed(), COMPACTION_PIECES_MAX, "overflow")) == Call(1, "input_received", None), "no more than so many"
    ledger.append(requested(0, "overflow"))
    assert move(ledger) == GiveUp(len(ledger.entries))
    ledger.append(checkpoint(len(ledger.entries), "overflow"))
    assert move(ledger) == Call(1, "input_received", None)
    ledger = pieces(overflowed(), 2, "overflow")
    ledger.append(requested(0, "overflow", piece=True))
    ledger.append(CompactionFailed(len(ledger.entries), "failed", "blank"))
    assert move(ledger) == Call(1, "input_received", None), "some of it is covered"


@pytest.mark.req("X-60", "S3-35")
def test_without_a_checkpoint_a_call_that_was_too_large_ends_the_turn_with_its_error():
    assert move(overflowed(), compactable=False) == Settle("failed", TOO_LONG)
    ledger = overflowed()
    ledger.append(requested(0, "overflow"))
    ledger.append(CompactionFailed(len(ledger.entries), "not_smaller", "not_smaller"))
    assert move(ledger) == Settle("failed", TOO_LONG)


@pytest.mark.req("X-60")
def test_an_overflow_is_terminal_after_tools_were_at_work_and_after_something_was_said():
    ask = tool("ask")
    ledger = answered(ask, stop_reason="tool_calls")
    ledger.append(result(ask.tool_call_id), started(1), finished(1, "failed", None, TOO_LONG))
    assert move(ledger) == Settle("failed", TOO_LONG)
    ledger = begun()
    ledger.append(started(0), answer(0, Text("so"), status="failed"), finished(0, "failed", None, TOO_LONG))
    assert move(ledger) == Settle("failed", TOO_LONG)


def test_an_overflow_in_the_last_step_is_terminal_and_a_stop_ends_the_turn_before_the_compaction():
    ledger = overflowed()
    assert next_move(read_life(ledger.entries, replace(POLICY, max_steps=1))) == Settle("failed", TOO_LONG)
    ledger.append(StopRequested("cancel"))
    assert move(ledger) == Settle("cancelled", cut="user")


@pytest.mark.req("S3-34")
def test_a_summary_whose_end_nobody_saw_is_given_up_before_anything_else():
    ledger = begun()
    ledger.append(requested(0))
    assert move(ledger) == GiveUp(2)
    assert move(ledger, cut="lease_lost") == GiveUp(2)
    ledger.append(CompactionFailed(2, "failed", "interrupted"))
    assert move(ledger) == Call(0, "input_received", 1)


@pytest.mark.req("X-48")
def test_a_preflight_makes_two_attempts_and_the_second_only_over_the_hard_limit():
    ledger = begun()
    assert attempt(ledger, 0, fits=True) == 1
    ledger.append(requested(0))
    ledger.append(CompactionFailed(2, "failed", "blank"))
    assert attempt(ledger, 0, fits=True) is None
    assert attempt(ledger, 0, fits=False) == 2
    ledger.append(requested(0, attempt=2))
    ledger.append(checkpoint(4))
    assert attempt(ledger, 0, fits=False) is None


@pytest.mark.req("X-48")
def test_a_piece_that_was_accepted_is_not_the_end_of_its_attempt():
    ledger = pieces(begun(), COMPACTION_PIECES_MAX - 1)
    assert attempt(ledger, 0, fits=False) == 1
    assert attempt(ledger, 0, fits=True) is None
    assert attempt(pieces(begun(), COMPACTION_PIECES_MAX), 0, fits=False) is None
    ledger = pieces(begun(), 3)
    ledger.append(requested(0, piece=True))
    ledger.append(CompactionFailed(len(ledger.entries), "failed", "blank"))
    assert attempt(ledger, 0, fits=False) == 2
    ledger = pieces(ledger, 2)
    assert attempt(ledger, 0, fits=False) == 2
    ledger.append(requested(0, attempt=2))
    ledger.append(checkpoint(len(ledger.entries)))
    assert attempt(ledger, 0, fits=False) is None


@pytest.mark.req("X-48")
@pytest.mark.parametrize("by", ["requested", "pressed"])
def test_after_two_pressed_steps_no_more_is_compacted_until_one_falls_below_the_mark(by):
    ledger = begun()
    for step in (0, 1):
        assert attempt(ledger, step, fits=False) == 1
        if by == "requested":
            ledger.append(requested(step))
            ledger.append(CompactionFailed(len(ledger.entries), "failed", "blank"))
        ledger.append(replace(started(step), pressed=by == "pressed"), finished(step))
    assert attempt(ledger, 2, fits=False) is None
    ledger.append(replace(started(2), pressed=True), finished(2))
    assert attempt(ledger, 3, fits=False) is None
    ledger.append(started(3), finished(3))
    assert attempt(ledger, 4, fits=False) == 1


@pytest.mark.req("X-48")
def test_pressed_steps_are_in_a_row_where_the_same_agent_made_them():
    """An agent that calls another one in every step, and one whose caller was pressed twice."""
    named = Policy(9, AgentPolicy(TOOLS, name="triage"), {NURSE: AgentPolicy(TOOLS, name="nurse")})
    ledger = begun()

    def tried(step, run):
        read = read_life(ledger.entries, named, input_seq=1)
        return next_attempt(read, Call(step, "input_received", None, run), fits=False)

    for round_number in range(2):
        outer, consult = 2 * round_number, tool("consult", round_number)
        assert tried(outer, 0) == 1
        ledger.append(
            replace(started(outer), pressed=True), answer(outer, consult, stop_reason="tool_calls"), finished(outer, "completed", "tool_calls")
        )
        ledger.append(ToolStarted(consult.tool_call_id, "consult", *NURSE, "call", round_number + 1))
        assert tried(outer + 1, round_number + 1) == 1, "nothing of the nurse was pressed"
        ledger.append(started(outer + 1), answer(outer + 1, Text("so")), finished(outer + 1), run=round_number + 1)
        ledger.append(result(consult.tool_call_id))
    assert tried(4, 0) is None
    ledger.append(replace(started(4), pressed=True), finished(4))
    assert tried(5, 0) is None


def test_what_an_overflow_was_answered_with_is_no_attempt_of_the_next_preflight():
    ledger = overflowed()
    ledger.append(requested(0, "overflow"))
    ledger.append(checkpoint(len(ledger.entries), "overflow"))
    assert attempt(ledger, 1, fits=False) == 1
