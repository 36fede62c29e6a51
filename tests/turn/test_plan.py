"""What a plan control asks for: each rule of a plan, and that whatever is sent comes to a plan or to a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.entries.messages import Answer, Status
from app.entries.parts import Reasoning, Text, ToolCall
from app.entries.plans import FEEDBACK_CHARS_MAX, PLAN_CONTROL, PROGRESS_CONTROL, Exposure, Plan, PlanStep
from app.entries.producers import BROKEN
from app.entries.settings import PlanChanged
from app.turn.controls import take_controls
from app.turn.plan import Change, change_plan

STEPS = [{"text": "look", "status": "active"}, {"text": "tell", "status": "pending"}]
CREATE = {"operation": "create", "objective": "Find out.", "steps": STEPS}
PLAN = Plan(1, "active", "Find out.", (PlanStep("look", "active"), PlanStep("tell")))


def change(asked: Any, plan: Plan | None = None, **more: Any) -> Change:
    return change_plan(plan, asked if isinstance(asked, str) else json.dumps(asked), **more)


@pytest.mark.req("X-66")
def test_a_plan_is_created_revised_superseded_completed_and_abandoned():
    assert change(CREATE) == Change(PLAN, "create")
    revised = change({"operation": "revise", "criteria": ["It is told."], "notes": ["Be quick."]}, PLAN).plan
    assert revised == Plan(2, "active", PLAN.objective, PLAN.steps, ("It is told.",), ("Be quick.",))
    again = change({"operation": "revise", "objective": "Find all."}, revised).plan
    assert again == Plan(3, "active", "Find all.", PLAN.steps, ("It is told.",), ("Be quick.",))
    other = change({"operation": "supersede", "objective": "Else.", "steps": [{"text": "do"}]}, revised).plan
    assert other == Plan(3, "active", "Else.", (PlanStep("do"),))
    done = change({"operation": "revise", "steps": [{"text": "do", "status": "done"}]}, other).plan
    assert done is not None
    assert (done.status, done.active, done.revision) == ("completed", False, 4)
    assert change(CREATE, done).plan == Plan(5, "active", PLAN.objective, PLAN.steps)
    assert change({"operation": "abandon"}, PLAN).plan == Plan(2, "abandoned", PLAN.objective, PLAN.steps)


@pytest.mark.req("X-66", "X-67")
@pytest.mark.parametrize(
    ("asked", "plan", "word"),
    [
        ("{", None, "JSON"),
        ("[]", None, "object"),
        ({"operation": "create", "goal": "x"}, None, "objective"),
        ({}, None, "operation"),
        ({"operation": "revise"}, None, "no active plan"),
        (CREATE, PLAN, "active plan"),
        ({"operation": "create", "objective": "x"}, None, "steps"),
        ({"operation": "supersede", "objective": "x"}, PLAN, "steps"),
        ({**CREATE, "objective": " "}, None, "objective"),
        ({**CREATE, "objective": "x" * 2001}, None, "2000"),
        ({**CREATE, "steps": []}, None, "steps"),
        ({**CREATE, "steps": [{"text": str(n)} for n in range(13)]}, None, "12"),
        ({**CREATE, "steps": [{"text": "a", "status": "active"}, {"text": "b", "status": "active"}]}, None, "one step"),
        ({**CREATE, "steps": [{"text": "a", "status": "started"}]}, None, "status"),
        ({**CREATE, "steps": [{"text": "x" * 1001}]}, None, "1000"),
        ({**CREATE, "steps": ["look"]}, None, "object"),
        ({**CREATE, "steps": [{"text": "look", "owner": "me"}]}, None, "object"),
        ({**CREATE, "criteria": ["c"] * 9}, None, "8"),
        ({**CREATE, "notes": ["n"] * 9}, None, "8"),
        ({**CREATE, "notes": [7]}, None, "notes"),
    ],
)
def test_a_rejected_change_keeps_the_last_valid_plan_and_says_what_to_do(asked: Any, plan: Plan | None, word: str):
    found = change(asked, plan)
    assert (found.accepted, found.plan) == (False, plan)
    assert word in (found.feedback or "")


@pytest.mark.req("X-67")
@settings(max_examples=500, deadline=None)
@given(
    st.text()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["operation", "objective", "steps", "criteria", "notes", "text", "status"]) | st.text(max_size=5), x)
        ),
    ),
    st.booleans(),
)
def test_whatever_is_sent_comes_to_a_plan_or_to_one_line(asked: Any, active: bool):
    found = change(asked, PLAN if active else None)
    if found.accepted:
        assert found.plan is not None
        assert Plan.from_json(found.plan.to_json()) == found.plan
    else:
        assert found.feedback is not None
        assert len(found.feedback) <= FEEDBACK_CHARS_MAX
        assert "\n" not in found.feedback


def answer(*parts: Any, stop_reason: str = "tool_calls") -> Answer:
    return Answer(parts, Status.COMPLETED, "m", stop_reason, "mcl_1")


def plan_call(asked: Any = CREATE) -> ToolCall:
    return ToolCall("p", PLAN_CONTROL, json.dumps(asked))


@pytest.mark.req("X-67", "X-68", "X-69")
def test_controls_are_taken_out_of_an_answer_and_what_is_beside_them_stays():
    ordinary, progress = ToolCall("t", "look", "{}"), ToolCall("q", PROGRESS_CONTROL, json.dumps({"text": "Looking\n it   up " + "x" * 99}))
    found = take_controls(answer(Reasoning("hm"), Text("so"), plan_call({"operation": "revise"}), ordinary, progress), "mcl_1", None, "ordinary")
    assert found.answer.parts == (Reasoning("hm"), Text("so"), ordinary)
    assert found.used == (PLAN_CONTROL, PROGRESS_CONTROL)
    assert [(one.accepted, one.plan, one.call_id) for one in found.changes] == [(False, None, "mcl_1")]
    assert found.changes[0].arguments == '{"operation": "revise"}'
    assert [len(line) for line in found.progress] == [48]
    assert found.progress[0].startswith("Looking it up")


@pytest.mark.parametrize("told", ["{", "[]", "{}", '{"text": 7}', '{"text": " \\n "}'])
def test_a_progress_control_that_tells_nothing_is_taken_out_and_shows_no_line(told: str):
    found = take_controls(answer(Text("so"), ToolCall("q", PROGRESS_CONTROL, told)), "mcl_1", None, "ordinary")
    assert (found.answer.parts, found.used, found.progress) == ((Text("so"),), (PROGRESS_CONTROL,), ())


@pytest.mark.req("X-67")
def test_two_changes_of_one_answer_are_applied_in_their_order():
    found = take_controls(answer(plan_call(), plan_call({"operation": "abandon"}), plan_call({"operation": "abandon"})), "mcl_1", None, "ordinary")
    assert [(one.operation, one.accepted) for one in found.changes] == [("create", True), ("abandon", True), ("abandon", False)]


@pytest.mark.req("S3-26", "S3-27")
@pytest.mark.parametrize(("exposure", "accepted"), [("ordinary", True), ("plan_repair", True), ("execution_only", False)])
def test_a_change_is_taken_only_where_the_control_was_shown(exposure: Exposure, accepted: bool):
    found = take_controls(answer(plan_call()), "mcl_1", None, exposure)
    assert (found.answer.parts, found.used, found.changes[0].accepted) == ((), (PLAN_CONTROL,), accepted)


@pytest.mark.req("X-74")
def test_a_truncated_answer_keeps_its_controls_and_changes_nothing():
    said = answer(plan_call(), stop_reason="length")
    assert take_controls(said, "mcl_1", None, "ordinary").answer is said


def test_a_change_is_stored_and_read_again():
    for body in (PlanChanged(PLAN, "create", True, None, "mcl_1", "{}"), PlanChanged(None, "", False, "No.", "mcl_1", "\ud800")):
        assert PlanChanged.decode(body.encode()) == body


@pytest.mark.req("X-23", "X-25")
def test_what_led_to_a_control_or_came_behind_one_is_marked_and_nothing_else_is():
    own = "openai-responses/main/m"
    before, led, behind = [Reasoning(text, "{}", own) for text in ("before", "led", "behind")]
    found = take_controls(answer(before, Text("so"), led, plan_call(), behind, ToolCall("c2", "lookup", "{}")), "mcl_1", None, "ordinary")
    thoughts = [part for part in found.answer.parts if isinstance(part, Reasoning)]
    assert [(part.text, part.producer) for part in thoughts] == [("before", own), ("led", f"{own}#{BROKEN}"), ("behind", f"{own}#{BROKEN}")]
    bound = Reasoning("hm", "{}", f"{own}#sha256:{'a' * 64}")
    (kept,) = take_controls(answer(bound, plan_call()), "mcl_1", None, "ordinary").answer.parts
    assert isinstance(kept, Reasoning)
    assert kept.producer == f"{own}#{BROKEN}"
