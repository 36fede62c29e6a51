"""Each rule of the one decision, by an example."""

from typing import Any

import pytest

from app.entries.messages import Message
from app.entries.parts import Blob, Media, Reasoning, Text
from app.entries.trace import Interruption, ModelCallFinished, ModelCallStarted, StopRequested, ToolRejected, ToolStarted, TurnError, TurnSettled
from app.turn.decide import next_move
from app.turn.moves import Await, Call, Close, Done, Mend, Move, Refuse, Settle, Start
from app.turn.policy import Policy
from app.turn.reading import read_life
from tests.turn.lives import POLICY, Ledger, answer, answered, finished, result, started, tool


def move(ledger: Ledger, policy: Policy = POLICY, **more: Any) -> Move:
    return next_move(read_life(ledger.entries, policy, **more))


def test_a_turn_begins_with_a_call():
    ledger = Ledger()
    ledger.append(Message((Text("hi"),)))
    assert move(ledger, input_seq=1) == Call(0, "input_received", 1)


def test_a_turn_without_a_message_of_its_own_begins_too():
    assert move(Ledger()) == Call(0, "input_received", None)
    assert move(Ledger(), input_seq=7) == Call(0, "input_received", 7)


def test_of_two_results_the_first_one_is_what_the_next_call_follows():
    ledger = answered(tool("ask"))
    ledger.append(result("t_ask_0"), result("t_ask_0"))
    assert move(ledger) == Call(1, "tool_completed", 5)


def test_text_settles_the_turn():
    assert move(answered(Text("hello"))) == Settle("completed")


@pytest.mark.req("T-28")
@pytest.mark.parametrize("parts", [(), (Reasoning("hm"),), (Text(" \n"),)])
def test_an_empty_answer_settles_at_once(parts):
    found = move(answered(*parts))
    assert isinstance(found, Settle)
    assert (found.status, found.error and found.error.code) == ("failed", "empty-answer")


@pytest.mark.parametrize("part", [Text("", Blob("sha256:0", "text/plain", 40_000)), Media("image", url="https://a/b.png")])
def test_long_text_and_media_are_an_answer(part):
    assert move(answered(part)) == Settle("completed")


@pytest.mark.req("T-23")
def test_client_calls_wait_together():
    first, second = tool("ask"), tool("ask", 1)
    found = move(answered(first, second, stop_reason="tool_calls"))
    assert isinstance(found, Await)
    assert [(p.tool_call_id, p.name, p.arguments, p.needs) for p in found.pending] == [
        (first.tool_call_id, "ask", "{}", "result"),
        (second.tool_call_id, "ask", "{}", "result"),
    ]


@pytest.mark.req("T-23")
def test_a_turn_waits_on_while_others_are_pending_and_goes_on_with_the_last_result():
    first, second = tool("ask"), tool("ask", 1)
    ledger = answered(first, second, stop_reason="tool_calls")
    ledger.append(result(second.tool_call_id))
    found = move(ledger)
    assert isinstance(found, Await)
    assert [p.tool_call_id for p in found.pending] == [first.tool_call_id]
    ledger.append(result(first.tool_call_id))
    ledger.append(Message((Text("and this"),)))
    assert move(ledger) == Call(1, "tool_completed", ledger.entries[-2].seq)


def test_the_services_own_tools_run_before_the_client_is_asked():
    ask, pay = tool("ask"), tool("pay")
    ledger = answered(ask, pay, stop_reason="tool_calls")
    assert move(ledger) == Start((pay,))
    ledger.append(ToolStarted(pay.tool_call_id, "pay"), result(pay.tool_call_id))
    assert isinstance(move(ledger), Await)


def test_calls_of_a_server_that_says_stop_are_acted_on():
    assert move(answered(tool("pay"), stop_reason="finished")) == Start((tool("pay"),))


@pytest.mark.req("S0-18")
@pytest.mark.parametrize(("name", "code"), [("nobody", "tool-not-declared"), ("masked", "tool-masked"), ("narrowed", "tool-not-allowed")])
def test_a_call_that_is_not_admitted_is_refused(name, code):
    call = tool(name)
    found = move(answered(tool("ask"), call, stop_reason="tool_calls"))
    assert isinstance(found, Refuse)
    assert (found.tool_call, found.code) == (call, code)
    assert found.detail
    assert name not in found.detail


def test_a_rejection_without_its_result_gets_it():
    call = tool("masked")
    ledger = answered(call, stop_reason="tool_calls")
    ledger.append(ToolRejected(call.tool_call_id, "masked", "tool-masked"))
    found = move(ledger)
    assert isinstance(found, Close)
    assert (found.tool_calls, found.code) == ((call,), "tool-masked")


@pytest.mark.req("X-74")
@pytest.mark.parametrize("stop_reason", ["length", "refused", "window_full"])
def test_a_truncated_answer_executes_no_call(stop_reason):
    calls = (tool("pay"), tool("ask"), tool("nobody"))
    ledger = answered(Text("so"), *calls, stop_reason=stop_reason)
    found = move(ledger)
    assert isinstance(found, Close)
    assert found.tool_calls == calls
    ledger.append(*[result(call.tool_call_id) for call in calls])
    expected = Settle("completed") if stop_reason == "refused" else Call(1, "tool_completed", ledger.entries[-1].seq)
    assert move(ledger) == expected


@pytest.mark.req("X-74")
def test_the_calls_of_a_failed_answer_are_closed_and_the_turn_fails_with_the_calls_error():
    call, error = tool("pay"), TurnError("stream-truncated", "The stream ended early.", 200)
    ledger = Ledger()
    ledger.append(started(0))
    ledger.append(answer(0, call, status="failed", stop_reason=None), finished(0, "failed", None, error))
    found = move(ledger)
    assert isinstance(found, Close)
    assert found.code == "answer-unfinished"
    ledger.append(result(call.tool_call_id))
    assert move(ledger) == Settle("failed", error)


def test_a_refused_preflight_settles_the_turn_with_or_without_a_start():
    error = TurnError("context-over-budget", "Too large.")
    ledger = Ledger()
    ledger.append(ModelCallFinished("mcl_0", "refused", error=error))
    assert move(ledger) == Settle("failed", error)
    ledger = Ledger()
    ledger.append(started(0), ModelCallFinished("mcl_0", "refused", error=error))
    assert move(ledger) == Settle("failed", error)


@pytest.mark.req("T-27", "S3-30")
def test_steps_are_bounded():
    ledger = Ledger()
    for number in range(POLICY.max_steps):
        assert move(ledger) == Call(number, "tool_completed" if number else "input_received", ledger.entries[-1].seq if number else None)
        call = tool("ask", number)
        ledger.append(started(number), answer(number, call, stop_reason="tool_calls"), finished(number), result(call.tool_call_id))
    found = move(ledger)
    assert isinstance(found, Settle)
    assert found.error is not None
    assert (found.status, found.error.code) == ("failed", "max-steps")


@pytest.mark.req("X-79")
def test_an_unfinished_call_is_mended_and_the_turn_interrupted():
    ledger = Ledger()
    ledger.append(started(0))
    found = move(ledger)
    assert isinstance(found, Mend)
    assert (found.call_id, found.status) == ("mcl_0", "interrupted")
    assert found.error is not None
    call = tool("pay")
    ledger.append(answer(0, Text("par"), call, status="interrupted", stop_reason=None), finished(0, "interrupted", None, found.error))
    closing = move(ledger)
    assert isinstance(closing, Close)
    assert closing.code == "turn-interrupted"
    ledger.append(result(call.tool_call_id))
    settled = move(ledger)
    assert isinstance(settled, Settle)
    assert (settled.status, settled.error and settled.error.code, settled.cut) == ("interrupted", "lease-lost", "lease_lost")


@pytest.mark.req("T-10")
@pytest.mark.parametrize(
    ("reason", "status", "code", "cut"),
    [
        ("cancel", "cancelled", None, "user"),
        ("stop", "cancelled", None, "user"),
        ("disconnect", "cancelled", None, "user"),
        ("interrupt", "cancelled", None, "superseded"),
        ("shutdown", "interrupted", "shutdown", "terminated"),
    ],
)
def test_a_stop_mends_closes_and_settles(reason, status, code, cut):
    ledger = Ledger()
    ledger.append(started(0), StopRequested(reason))
    mend = move(ledger)
    assert isinstance(mend, Mend)
    assert (mend.call_id, mend.status, mend.error and mend.error.code) == ("mcl_0", status, code)
    call = tool("ask")
    ledger.append(answer(0, call, status=status, stop_reason=None), finished(0, status, None))
    closing = move(ledger)
    assert isinstance(closing, Close)
    assert closing.code == f"turn-{status}"
    ledger.append(result(call.tool_call_id))
    settled = move(ledger)
    assert isinstance(settled, Settle)
    assert (settled.status, settled.error and settled.error.code, settled.cut) == (status, code, cut)


def test_a_stop_before_the_first_call_makes_none():
    ledger = Ledger()
    ledger.append(StopRequested("cancel"))
    assert move(ledger) == Settle("cancelled", None, "user")


def test_a_waiting_turn_can_be_cancelled():
    ledger = answered(tool("ask"), stop_reason="tool_calls")
    ledger.append(StopRequested("cancel"))
    found = move(ledger)
    assert isinstance(found, Close)
    assert found.tool_calls == (tool("ask"),)


@pytest.mark.req("X-79")
def test_an_interruption_on_record_is_not_written_twice():
    ledger = Ledger()
    ledger.append(Interruption("lease_lost"))
    assert move(ledger) == Settle("interrupted", TurnError("lease-lost", "The process that ran the turn was lost; what it had received is kept."))


def test_a_cut_that_stands_in_no_entry_counts():
    settled = move(Ledger(), cut="terminated")
    assert isinstance(settled, Settle)
    assert (settled.status, settled.cut) == ("interrupted", "terminated")


def test_what_the_user_asked_first_decides():
    ledger = Ledger()
    ledger.append(StopRequested("cancel"))
    ledger.append(Interruption("lease_lost"))
    assert move(ledger) == Settle("cancelled")


def test_a_stop_after_a_whole_answer_changes_nothing():
    ledger = answered(Text("hello"))
    ledger.append(StopRequested("cancel"))
    assert move(ledger) == Settle("completed")


def test_a_failure_before_a_stop_stays_a_failure():
    error = TurnError("upstream-error", "500", 500)
    ledger = Ledger()
    ledger.append(started(0), finished(0, "failed", None, error), StopRequested("cancel"))
    assert move(ledger) == Settle("failed", error)


def test_compaction_calls_are_mended_but_are_no_steps():
    ledger = Ledger()
    ledger.append(ModelCallStarted("mcl_c", 0, "scripted", "openai-chat", "m", purpose="compaction"))
    assert isinstance(move(ledger), Mend)
    ledger.append(ModelCallFinished("mcl_c", "completed"))
    assert move(ledger) == Call(0, "input_received", None)


def test_a_settled_turn_is_done():
    ledger = answered(Text("hello"))
    ledger.append(TurnSettled("completed"))
    assert move(ledger) == Done("completed")


def test_erased_entries_are_passed_over():
    ledger = answered(Text("hello"))
    ledger.entries[0] = ledger.entries[0]._replace(payload=None)
    assert move(ledger) == Settle("completed")
