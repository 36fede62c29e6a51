"""Ids that the target takes: unchanged where they fit, else the same new one in every later request, for call and result."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compile import Compiled, compile_context
from app.entries.parts import ToolCall
from app.models.resolve import Target
from tests.strategies import CALL_IDS, Ledger, call, target, tokens

ANTHROPIC = target(call_id_pattern="[a-zA-Z0-9_-]+", call_id_chars_max=64)
MISTRAL = target(call_id_pattern="[a-zA-Z0-9]{9}", call_id_chars_max=9)


def compiled(ledger: Ledger, target: Target) -> Compiled:
    return compile_context(ledger.sources(target=target), tokens)


def pairs(found: Compiled) -> list[tuple[str, str | None]]:
    """For each answer with one call: the call's id and its result's."""
    messages = found.request.messages
    return [
        (part.tool_call_id, messages[position + 1].tool_call_id)
        for position, message in enumerate(messages)
        for part in message.parts
        if isinstance(part, ToolCall)
    ]


def asked(*ids: str) -> Ledger:
    ledger = Ledger()
    for tool_call_id in ids:
        ledger.answer(call(tool_call_id))
        ledger.result(tool_call_id)
    return ledger


def test_ids_that_fit_stay():
    found = compiled(asked("call_1", "toolu_2"), ANTHROPIC)
    assert pairs(found) == [("call_1", "call_1"), ("toolu_2", "toolu_2")]
    assert {str(row.disposition) for row in found.decisions if row.source["kind"] == "entry"} == {"included"}


def test_characters_are_fitted_without_collision():
    """`functions.Bash:0` with its marks replaced would be the other call's id."""
    found = compiled(asked("functions.Bash:0", "functions_Bash_0"), ANTHROPIC)
    (first, first_result), second = pairs(found)
    assert first == first_result
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", first)
    assert second == ("functions_Bash_0", "functions_Bash_0")
    rows = [(str(row.disposition), str(row.reason), row.also) for row in found.decisions if row.source["kind"] == "entry"]
    assert rows[:2] == [("transformed", "tool_call_id_fitted", ())] * 2


def test_nine_letters_and_digits():
    found = compiled(asked("call_QWERT1aaaabbbbccccdddd", "call_QWERT2eeeeffffgggghhhh"), MISTRAL)
    ids = [pair[0] for pair in pairs(found)]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[A-Za-z0-9]{9}", one) for one in ids)
    assert all(call_id == result_id for call_id, result_id in pairs(found))


@pytest.mark.req("S1-23")
def test_one_id_in_several_answers_is_told_apart():
    found = compiled(asked("SAME", "SAME", "SAME"), ANTHROPIC)
    ids = [pair[0] for pair in pairs(found)]
    assert ids[0] == "SAME"
    assert len(set(ids)) == 3
    assert all(call_id == result_id for call_id, result_id in pairs(found))
    assert [str(row.reason) for row in found.decisions if row.source.get("seq") == 3] == ["tool_call_id_repeated"]


def test_one_id_twice_in_an_answer_pairs_in_order():
    ledger = Ledger()
    ledger.answer(call("x", arguments="1"), call("x", arguments="2"))
    ledger.result("x", "one")
    ledger.result("x", "two")
    found = compiled(ledger, ANTHROPIC)
    answer, one, two = found.request.messages
    calls = [part.tool_call_id for part in answer.parts if isinstance(part, ToolCall)]
    assert len(set(calls)) == 2
    assert calls == [one.tool_call_id, two.tool_call_id]


def test_a_derived_id_never_meets_one_that_a_model_chose():
    first = Ledger()
    first.answer(call("x"), call("a.b"))
    derived = [part.tool_call_id for part in compiled(first, ANTHROPIC).request.messages[0].parts if isinstance(part, ToolCall)][1]
    chosen_before = Ledger()
    chosen_before.answer(call(derived), call("a.b"))
    ids = [part.tool_call_id for part in compiled(chosen_before, ANTHROPIC).request.messages[0].parts if isinstance(part, ToolCall)]
    assert ids[0] == derived != ids[1]
    first.result("x")
    first.result("a.b")
    first.answer(call(derived))
    found = pairs(compiled(first, ANTHROPIC))
    assert found[1][0] == derived
    assert found[2][0] != derived, "first come, first served"


@pytest.mark.parametrize("pattern", ["[a-z0-9]+", "[0-9]{9}", "[0-9]+"])
def test_unusual_patterns_are_met(pattern: str):
    ids = [pair[0] for pair in pairs(compiled(asked("A.b", "A.c"), target(call_id_pattern=pattern)))]
    assert len(set(ids)) == 2
    assert all(re.fullmatch(pattern, one) for one in ids)


def test_the_ledgers_id_stands_in_the_repairs_origin():
    ledger = Ledger()
    ledger.answer(call("a.b"))
    found = compiled(ledger, ANTHROPIC)
    assert found.request.messages[1].origin.to_json() == {"type": "tool-repair", "message_index": 0, "tool_call_id": "a.b"}
    assert found.request.messages[1].tool_call_id != "a.b"


@settings(max_examples=1_000, deadline=None)
@given(st.lists(st.sampled_from(CALL_IDS) | st.text(max_size=8), max_size=8), st.sampled_from([ANTHROPIC, MISTRAL, target()]))
def test_renames_are_injective_and_stable(ids: list[str], wanted: Target):
    found = pairs(compiled(asked(*ids), wanted))
    assert len({new for new, _ in found}) == len(ids)
    assert all(new == result for new, result in found)
    shorter = pairs(compiled(asked(*ids[:-1]), wanted))
    assert found[: len(shorter)] == shorter


def test_an_id_stays_where_the_rules_admit_none_that_can_be_derived():
    assert pairs(compiled(asked("a.b"), target(call_id_pattern="prefix_[0-9]"))) == [("a.b", "a.b")]
