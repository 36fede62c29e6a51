"""Calls and results in pairs: what is dropped, what is repaired, and where."""

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import ToolRepair
from app.context.passes.pairing import REPAIR_TEXT
from app.context.report import source_map
from app.entries.messages import Status
from app.entries.parts import Text
from tests.strategies import Ledger, call, tokens


def compiled(ledger: Ledger) -> Compiled:
    return compile_context(ledger.sources(), tokens)


def shape(found: Compiled) -> list[str]:
    """Roles, results with the id they answer, repairs marked."""
    return [
        message.role if message.role != "tool" else f"{'repair' if isinstance(message.origin, ToolRepair) else 'result'} {message.tool_call_id}"
        for message in found.request.messages
    ]


def reasons(found: Compiled) -> dict[int, str]:
    return {row.source["seq"]: str(row.reason) for row in found.decisions if row.source["kind"] == "entry" and row.disposition == "excluded"}


@pytest.mark.req("X-21", "S2-16", "S2-26", "T-09")
def test_a_missing_result_is_repaired_after_the_others_and_before_the_next_message():
    ledger = Ledger()
    ledger.user("go")
    ledger.answer(call("a"), call("b"), call("c"))
    ledger.result("b")
    ledger.user("stop")
    found = compiled(ledger)
    assert shape(found) == ["user", "assistant", "result b", "repair a", "repair c", "user"]
    assert source_map(found)["sources"][3] == {"type": "tool-repair", "message_index": 1, "tool_call_id": "a"}
    repair = found.request.messages[3]
    assert repair.parts == (Text(REPAIR_TEXT),)
    assert repair.is_error
    assert repair.name == "lookup"
    rows = [row for row in found.decisions if row.source["kind"] == "tool_repair"]
    assert [(str(row.disposition), str(row.reason), row.by, row.tokens_after) for row in rows] == [
        ("included", "missing_tool_result", "pairing", len(REPAIR_TEXT))
    ] * 2
    assert [row.source["tool_call_id"] for row in rows] == ["a", "c"]
    assert found.message_count == 6, "counted after the last renderer: a repair is no prompt event of the render (T-02)"


@pytest.mark.req("X-21")
def test_open_calls_at_the_end_are_repaired_each():
    ledger = Ledger()
    ledger.answer(call("a"))
    ledger.answer(call("b"), call("c"))
    found = compiled(ledger)
    assert shape(found) == ["assistant", "repair a", "assistant", "repair b", "repair c"]
    assert [row.source["tool_call_id"] for row in found.decisions if row.source["kind"] == "tool_repair"] == ["a", "b", "c"]


@pytest.mark.req("S0-28", "S0-29", "S4-30", "T-09")
def test_a_result_without_its_call_before_it_is_dropped():
    ledger = Ledger()
    ledger.user("q")
    ledger.result("lost")
    ledger.answer(call("later"))
    ledger.result("later")
    ledger.result("never")
    found = compiled(ledger)
    assert shape(found) == ["user", "assistant", "result later"]
    assert reasons(found) == {2: "orphan_tool_result", 5: "orphan_tool_result"}


def test_a_result_that_stands_before_its_call_is_an_orphan():
    ledger = Ledger()
    ledger.result("a")
    ledger.answer(call("a"))
    found = compiled(ledger)
    assert shape(found) == ["assistant", "repair a"]
    assert reasons(found) == {1: "orphan_tool_result"}


def test_the_first_of_two_results_stands():
    ledger = Ledger()
    ledger.answer(call("a"))
    ledger.result("a", "first")
    ledger.result("a", "second")
    ledger.user("and?")
    ledger.result("a", "third")
    found = compiled(ledger)
    assert shape(found) == ["assistant", "result a", "user"]
    assert found.request.messages[1].parts == (Text("first"),)
    assert reasons(found) == {3: "duplicate_tool_result", 5: "duplicate_tool_result"}


@pytest.mark.req("S0-28", "S0-30")
def test_a_late_result_is_dropped_and_its_call_repaired():
    ledger = Ledger()
    ledger.answer(call("a"))
    ledger.user("meanwhile")
    ledger.result("a", "late")
    ledger.result("a", "later still")
    found = compiled(ledger)
    assert shape(found) == ["assistant", "repair a", "user"]
    assert reasons(found) == {3: "late_tool_result", 4: "duplicate_tool_result"}


@pytest.mark.req("S0-28")
def test_a_server_that_reuses_one_id_loses_nothing():
    ledger = Ledger()
    for number in range(3):
        ledger.answer(call("SAME", arguments=f'{{"i":{number}}}'))
        ledger.result("SAME", f"r{number}")
    found = compiled(ledger)
    assert [message.parts for message in found.request.messages if message.role == "tool"] == [(Text("r0"),), (Text("r1"),), (Text("r2"),)]
    assert reasons(found) == {}


@pytest.mark.req("S0-28", "T-09")
def test_a_result_of_a_failed_answer_goes_with_it():
    ledger = Ledger()
    ledger.user("q")
    ledger.answer(call("a"), status=Status.FAILED)
    ledger.result("a")
    found = compiled(ledger)
    assert shape(found) == ["user"]
    assert reasons(found) == {2: "failed_response", 3: "orphan_tool_result"}


def test_a_failed_answer_between_does_not_part_a_call_from_its_result():
    ledger = Ledger()
    ledger.answer(call("a"))
    ledger.answer("lost", status=Status.FAILED)
    ledger.result("a")
    assert shape(compiled(ledger)) == ["assistant", "result a"]
