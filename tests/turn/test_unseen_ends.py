"""Tools whose end nobody saw: what becomes of their calls, and what the model is told."""

import pytest

from app.entries.trace import StopRequested, ToolStarted
from app.turn.moves import Close, Start
from tests.turn.lives import answered, result, tool
from tests.turn.test_moves import move


@pytest.mark.req("X-78")
def test_a_started_tool_is_never_run_again_unless_repeatable():
    pay, look = tool("pay"), tool("look")
    ledger = answered(pay, stop_reason="tool_calls")
    ledger.append(ToolStarted(pay.tool_call_id))
    found = move(ledger)
    assert isinstance(found, Close)
    assert (found.tool_calls, found.code) == ((pay,), "outcome-unknown")
    ledger = answered(look, stop_reason="tool_calls")
    ledger.append(ToolStarted(look.tool_call_id))
    assert move(ledger) == Start((look,))
    ledger.append(ToolStarted(look.tool_call_id))
    assert isinstance(move(ledger), Close)


def test_of_a_tool_that_may_be_called_again_the_model_is_told_so():
    pay, look = tool("pay"), tool("look")
    ledger = answered(pay, look, stop_reason="tool_calls")
    ledger.append(ToolStarted(pay.tool_call_id), ToolStarted(look.tool_call_id), StopRequested("cancel"))
    first = move(ledger)
    assert isinstance(first, Close)
    assert (first.tool_calls, first.code) == ((pay,), "outcome-unknown")
    ledger.append(result(pay.tool_call_id))
    second = move(ledger)
    assert isinstance(second, Close)
    assert (second.tool_calls, second.code) == ((look,), "outcome-unknown-repeatable")
    assert "may be called again" in second.detail


def test_a_stop_says_of_a_started_tool_that_its_outcome_is_unknown():
    pay, ask = tool("pay"), tool("ask")
    ledger = answered(pay, ask, stop_reason="tool_calls")
    ledger.append(ToolStarted(pay.tool_call_id), StopRequested("cancel"))
    found = move(ledger)
    assert isinstance(found, Close)
    assert (found.tool_calls, found.code) == ((pay,), "outcome-unknown")
    ledger.append(result(pay.tool_call_id))
    found = move(ledger)
    assert isinstance(found, Close)
    assert (found.tool_calls, found.code) == ((ask,), "turn-cancelled")
