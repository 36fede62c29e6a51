"""What a called agent gives back, and whose agent a session goes on with."""

from typing import Any

import pytest

from app.config.agent_limits import AGENT_CALLS_OPEN_MAX
from app.entries.messages import Message
from app.entries.parts import Media, Part, Text
from app.entries.trace import ApprovalDecided, ApprovalRequested, ToolStarted
from app.turn.decide import next_move
from app.turn.moves import Move, Refuse, Return, Settle, Start
from app.turn.reading import read_life
from tests.turn.lives import NURSE, POLICY, Ledger, answer, answered, finished, result, started, tool


def move(ledger: Ledger, **more: Any) -> Move:
    return next_move(read_life(ledger.entries, POLICY, **more))


def consulted(*parts: Part, stop_reason: str = "finished") -> Ledger:
    """A turn whose agent called another, whose one answer is that."""
    asks = tool("consult")
    ledger = answered(asks, stop_reason="tool_calls")
    ledger.append(ToolStarted(asks.tool_call_id, "consult", *NURSE, "call", 1))
    ledger.append(Message((Text("x"),)), kind="agent_message", run=1)
    ledger.append(started(1), answer(1, *parts, stop_reason=stop_reason), finished(1, stop_reason=stop_reason), run=1)
    return ledger


def handed() -> Ledger:
    """A turn that was handed to another agent, which has answered."""
    hands = tool("hand_over")
    ledger = answered(hands, stop_reason="tool_calls")
    ledger.append(ToolStarted(hands.tool_call_id, "hand_over", *NURSE, "transfer", 1), result(hands.tool_call_id))
    ledger.append(started(1), answer(1, Text("hello")), finished(1), run=1)
    return ledger


def test_what_a_provider_put_with_a_text_is_not_part_of_the_result():
    found = move(consulted(Text("safe", opaque='{"citations":[]}', producer="p")))
    assert isinstance(found, Return)
    assert (found.parts, found.is_error) == ((Text("safe"),), False)


@pytest.mark.parametrize(
    ("parts", "stop_reason"), [((Media("image", url="https://a/b.png"),), "finished"), ((Text("no"),), "refused")], ids=["picture", "withheld"]
)
def test_a_result_always_says_something(parts, stop_reason):
    found = move(consulted(*parts, stop_reason=stop_reason))
    assert isinstance(found, Return)
    assert found.is_error
    assert all(part.text for part in found.parts)
    assert found.parts


def test_the_later_of_a_hand_over_and_an_adoption_holds():
    ledger = handed()
    assert move(ledger) == Settle("completed", adopts=NURSE)
    by_seq = {entry.kind: entry.seq for entry in ledger.entries}
    assert move(ledger, adopted_seq=by_seq["tool_started"] - 1) == Settle("completed", adopts=NURSE)
    assert move(ledger, adopted_seq=len(ledger.entries) + 1) == Settle("completed")


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_second_hand_over_waits_for_the_decision_on_the_first(decision):
    first, second = tool("hand_over"), tool("hand_over", 1)
    ledger = answered(first, second, stop_reason="tool_calls")
    ledger.append(ApprovalRequested(first.tool_call_id, "hand_over"), ApprovalDecided(first.tool_call_id, decision))
    if decision == "deny":
        ledger.append(result(first.tool_call_id))
        assert move(ledger) == Start((second,))
    else:
        found = move(ledger)
        assert isinstance(found, Refuse)
        assert (found.tool_call, found.code) == (second, "already-transferred")


@pytest.mark.parametrize("beside", [AGENT_CALLS_OPEN_MAX - 1, AGENT_CALLS_OPEN_MAX])
def test_an_agent_is_not_called_while_very_many_calls_are_open(beside):
    """All that is open is closed in one append when the turn is cut."""
    consult = tool("consult")
    ledger = answered(*[tool("ask", number) for number in range(beside)], consult, stop_reason="tool_calls")
    found = move(ledger)
    if beside < AGENT_CALLS_OPEN_MAX:
        assert found == Start((consult,))
    else:
        assert isinstance(found, Refuse)
        assert (found.tool_call, found.code) == (consult, "too-many-open")
