"""What waits for somebody, in which order that comes, and what is left of it when the turn is cut short."""

from dataclasses import replace

import pytest

from app.config.agent_limits import AGENT_CALLS_NESTED_MAX
from app.entries.messages import Message
from app.entries.parts import Text, ToolCall
from app.entries.trace import ApprovalDecided, ApprovalRequested, StopRequested, ToolStarted, TurnError
from app.turn.decide import next_move
from app.turn.moves import Await, Call, Close, Closed, Pending, Refuse, Return, Settle, Start
from app.turn.reading import read_life
from tests.turn.lives import NURSE, PLANNING, POLICY, Ledger, answer, answered, changed, finished, result, started, tool
from tests.turn.test_agent_moves import move


def called(*beside: ToolCall) -> Ledger:
    """A turn whose agent called another, beside calls of its own."""
    asks = tool("consult")
    ledger = answered(*beside, asks, stop_reason="tool_calls")
    enter(ledger, asks, 1)
    return ledger


def enter(ledger: Ledger, asks: ToolCall, run: int) -> None:
    ledger.append(ToolStarted(asks.tool_call_id, asks.name, *NURSE, "call", run), run=run - 1)
    ledger.append(Message((Text("x"),)), kind="agent_message", run=run)


def test_a_call_that_waits_for_an_approval_does_not_run_beside_one_that_may():
    pay, look = tool("pay"), tool("look")
    ledger = answered(pay, look, stop_reason="tool_calls")
    ledger.append(ApprovalRequested(pay.tool_call_id, "pay"))
    assert move(ledger) == Start((look,))
    ledger.append(result(look.tool_call_id))
    assert move(ledger) == Await((Pending(pay, "approval"),))


def test_a_hand_over_comes_when_all_beside_it_has_its_result():
    hands, ask = tool("hand_over"), tool("ask")
    ledger = answered(hands, ask, stop_reason="tool_calls")
    assert move(ledger) == Await((Pending(ask),))
    ledger.append(result(ask.tool_call_id))
    assert move(ledger) == Start((hands,))


def test_while_nobody_decided_on_a_hand_over_the_next_one_is_not_refused():
    first, second = tool("hand_over"), tool("hand_over", 1)
    ledger = answered(first, second, stop_reason="tool_calls")
    ledger.append(ApprovalRequested(first.tool_call_id, "hand_over"))
    assert move(ledger) == Await((Pending(first, "approval"),))


def test_who_was_asked_before_an_agent_was_called_is_waited_for_with_it():
    outer, inner = tool("ask"), tool("ask", 1)
    ledger = called(outer)
    ledger.append(started(1), answer(1, inner, stop_reason="tool_calls"), finished(1, stop_reason="tool_calls"), run=1)
    assert move(ledger) == Await((Pending(outer), Pending(inner)))


def test_why_a_call_was_denied_is_told():
    pay = tool("pay")
    ledger = answered(pay, stop_reason="tool_calls")
    ledger.append(ApprovalRequested(pay.tool_call_id, "pay"), ApprovalDecided(pay.tool_call_id, "deny", "Too dear."))
    found = move(ledger)
    assert isinstance(found, Close)
    assert found.code == "approval-denied"
    assert found.detail.endswith("Too dear.")


def test_agents_call_agents_as_deep_as_they_may_and_no_deeper():
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)))
    for depth in range(AGENT_CALLS_NESTED_MAX + 1):
        asks = tool("consult", depth)
        ledger.append(started(depth), answer(depth, asks, stop_reason="tool_calls"), finished(depth, stop_reason="tool_calls"), run=depth)
        found = next_move(read_life(ledger.entries, replace(POLICY, max_steps=99)))
        if depth < AGENT_CALLS_NESTED_MAX:
            assert found == Start((asks,), depth)
            enter(ledger, asks, depth + 1)
        else:
            assert isinstance(found, Refuse)
            assert (found.tool_call, found.code) == (asks, "nested-too-deep")


def test_an_agent_that_was_called_is_no_tool_whose_outcome_is_unknown():
    ledger = called()
    ledger.append(StopRequested("cancel"))
    found = move(ledger)
    assert isinstance(found, Close)
    assert (found.tool_calls, found.code) == ((tool("consult"),), "turn-cancelled")


def test_at_the_limit_of_steps_what_waits_outside_of_the_run_is_closed():
    ask = tool("ask")
    ledger = called(ask)
    found = next_move(read_life(ledger.entries, replace(POLICY, max_steps=1)))
    assert isinstance(found, Close)
    assert (found.closed, found.code) == ((Closed(ask), Closed(tool("consult"))), "max-steps")


def test_a_stop_behind_the_last_step_finds_work_that_was_not_done():
    ask = tool("ask")
    ledger = answered(ask, stop_reason="tool_calls")
    ledger.append(result(ask.tool_call_id), StopRequested("cancel"))
    assert next_move(read_life(ledger.entries, replace(POLICY, max_steps=1))) == Settle("cancelled", cut="user")


def test_a_stop_behind_a_failed_call_changes_nothing_of_its_turn_but_ends_that_of_a_caller():
    error = TurnError("upstream-error", "The model call failed.")
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)), started(0), answer(0, tool("ask"), status="failed"), finished(0, "failed", None, error))
    ledger.append(StopRequested("cancel"))
    found = move(ledger)
    assert isinstance(found, Close)
    assert found.code == "answer-unfinished"
    ledger.append(result(tool("ask").tool_call_id))
    assert move(ledger) == Settle("failed", error)
    ledger = called()
    ledger.append(started(1), finished(1, "failed", None, error), run=1)
    assert isinstance(move(ledger), Return)
    ledger.append(StopRequested("cancel"))
    assert isinstance(move(ledger), Close)


def test_the_agent_that_a_turn_was_handed_to_goes_on_from_the_hand_over():
    hands = tool("hand_over")
    ledger = answered(hands, stop_reason="tool_calls")
    ledger.append(ToolStarted(hands.tool_call_id, "hand_over", *NURSE, "transfer", 1), result(hands.tool_call_id))
    found = move(ledger)
    assert isinstance(found, Call)
    assert (found.run, found.reason) == (1, "tool_completed")


@pytest.mark.parametrize(
    ("accepted", "found"),
    [
        ((False,), ("plan_repair", "plan_rejected")),
        ((False, True), ("execution_only", "plan_updated")),
        ((True, False), ("execution_only", "plan_updated")),
        ((), ("execution_only", "execution_only_recovery")),
    ],
)
def test_an_answer_of_controls_is_followed_by_what_they_came_to(accepted: tuple[bool, ...], found: tuple[str, str]):
    """One accepted change is enough; a line of progress alone is nothing to mend."""
    ledger = Ledger()
    controls = ("update_plan",) * len(accepted) or ("report_progress",)
    ledger.append(Message((Text("hi"),)), started(0), finished(0, controls=controls), *[changed(0, one) for one in accepted])
    after = next_move(read_life(ledger.entries, PLANNING))
    assert isinstance(after, Call)
    assert (after.exposure, after.reason) == found


@pytest.mark.req("S3-28", "S3-30")
def test_a_plan_is_repaired_once_then_nothing_but_work_is_asked_for():
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)))
    found = []
    for number in range(3):
        after = next_move(read_life(ledger.entries, PLANNING))
        assert isinstance(after, Call)
        found.append((after.exposure, after.repairs_left, after.recoveries_left))
        ledger.append(started(number, after.exposure), finished(number, controls=("update_plan",)), changed(number, False))
    assert found == [("ordinary", 1, 1), ("plan_repair", 0, 1), ("execution_only", 0, 0)]
    end = next_move(read_life(ledger.entries, PLANNING))
    assert isinstance(end, Settle)
    assert end.error is not None
    assert (end.status, end.error.code) == ("failed", "control-only")


@pytest.mark.parametrize(("code", "reason"), [("shutdown", "terminated"), ("lost", "lease_lost")])
def test_a_call_that_was_cut_cuts_its_turn_for_the_same_reason(code: str, reason: str):
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)), started(0), finished(0, "interrupted", None, TurnError(code, "It ended.")))
    found = move(ledger)
    assert isinstance(found, Settle)
    assert (found.status, found.cut) == ("interrupted", reason)
