"""Matchers: each of them holds and fails where it should, they combine, and what fails says what was there."""

import re

import pytest

from app.testing import (
    ANYTHING,
    Service,
    has_entries,
    has_event,
    has_events,
    has_result,
    has_state,
    has_status,
    has_text,
    has_tool_call,
)
from app.testing.matchers import fits
from tests.testing.conftest import TRIAGE, WORKED_EXAMPLE

HOLD = [
    has_text("Avoid it."),
    has_text(re.compile("^avoid", re.IGNORECASE)),
    has_text("amoxicillin", of="user"),
    has_tool_call("lookup"),
    has_tool_call("lookup", {"patient": "ada"}),
    has_tool_call("lookup", {"patient": re.compile("^a")}),
    has_tool_call("lookup", lambda arguments: len(arguments) == 1),
    has_result("lookup"),
    has_result("lookup", {"allergies": ["penicillin"]}, is_error=False),
    has_result("lookup", re.compile("penicillin")),
    has_state({"session": {"visits": 2, "notes": ANYTHING}}),
    has_status("completed"),
    has_event("context.compiled", {"message_count": 5}),
    has_event("turn.completed", {"turn": {"status": "completed"}}),
    has_events("turn.started", "turn.requires_action", "tool_result.committed", "turn.completed"),
    has_entries("user_message", "tool_result", "turn_settled"),
]

MISS = [
    (has_text("Take it."), 'expected: text "Take it." of the assistant\nthere was: seq '),
    (has_text(re.compile("^Take")), "text /^Take/ of the assistant\nthere was: seq "),
    (has_text("Take it."), " 'Avoid it.'"),
    (has_text("x", of="agent"), "there was: no agent message"),
    (has_tool_call("escalate"), 'a call of escalate with ANYTHING\nthere was: lookup({"patient": "ada"})'),
    (has_tool_call("lookup", {"patient": "grace"}), '{"patient": "grace"}\nthere was: lookup({"patient": "ada"})'),
    (has_tool_call("lookup", {"doctor": ANYTHING}), 'lookup({"patient": "ada"})'),
    (has_result("lookup", is_error=True), "expected: an error result of lookup"),
    (has_result("lookup", "nuts"), "penicillin"),
    (has_state({"session": {"visits": "2"}}), 'there was: {"session": {'),
    (has_status("failed", "max-steps"), "expected: status failed (max-steps)\nthere was: completed"),
    (has_event("context.compiled", {"message_count": 3}), "there was: context.compiled {"),
    (has_event("progress"), "there was: no such event; turn.started → call.started"),
    (has_events("turn.completed", "turn.started"), "events turn.completed → turn.started\nthere was: turn.started → "),
    (has_events("turn.started", exactly=True), "events exactly turn.started"),
    (has_entries("tool_result", "tool_result"), "entries tool_result → tool_result\nthere was: session_opened → "),
]


@pytest.fixture
async def run(service: Service):
    schema = {"session": {"type": "object", "properties": {"visits": {"type": "integer"}, "notes": {"type": "string"}}}}
    return await service.run({**TRIAGE, "state_schema": schema}, WORKED_EXAMPLE, state={"session": {"visits": 2, "notes": ""}})


@pytest.mark.req("X-89")
async def test_each_matcher_holds_where_it_should_and_says_what_was_there_where_not(run):
    run.check(*HOLD)
    for matcher in HOLD:
        assert run.has(matcher), matcher.wanted
        assert str((~matcher).fault(run)).startswith(f"expected: not ({matcher.wanted})\nthere was: ")
    for matcher, message in MISS:
        assert not run.has(matcher), matcher.wanted
        assert message in str(matcher.fault(run))
        assert run.has(~matcher)


async def test_matchers_combine(run):
    good, bad, worse = has_text("Avoid it."), has_text("Take it."), has_tool_call("escalate")
    assert run.has(good & ~bad)
    assert run.has(bad | good)
    assert not run.has(good & bad)
    assert not run.has(bad | worse)
    assert (good & worse).fault(run) == (
        'expected: text "Avoid it." of the assistant and a call of escalate with ANYTHING\nthere was: lookup({"patient": "ada"})'
    )
    with pytest.raises(AssertionError, match=r"(?s)text \"Take it.\".*a call of escalate") as error:
        run.check(good, bad, worse)
    assert 'Avoid it." of' not in str(error.value)


@pytest.mark.parametrize(
    ("wanted", "found", "fitting"),
    [
        ({}, {"a": 1}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"a": None}, {}, False),
        ({"a": ANYTHING}, {"a": None}, True),
        ([1, ANYTHING], [1, 2], True),
        ([1], [1, 2], False),
        ("a", ["a"], False),
        (1, True, False),
        (True, 1, False),
        (1, 1.0, True),
        (re.compile("b"), "abc", True),
        (re.compile("b"), 5, False),
        (lambda value: value > 3, 4, True),
    ],
)
def test_what_is_wanted_of_a_value(wanted, found, fitting):
    assert fits(wanted, found) is fitting
